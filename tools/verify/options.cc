// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>

namespace mroce::verify {

namespace {

constexpr const char* kFooter = R"(
Examples:
  host A:  metaroce-verify -d mr0 --listen
  host B:  metaroce-verify -d mr0 A --bytes 2G --qps 4 --both
  host B:  metaroce-verify -d mr0 A --ud
  alone:   metaroce-verify -d mr0 negative
           metaroce-verify -d mr0 scribble --seconds 30
Traffic options are given to the client; the server is told. Exit status: 0 all
verified, 1 something was wrong, 2 it could not be tried. See metaroce-verify(1).)";

void AddWhere(CLI::App* app, Options* o) {
  app->add_option("-d,--device", o->device, "RDMA device (rdma link, ibv_devices); default: the first");
  app->add_option("-i,--ib-port", o->ib_port, "port of the device")->capture_default_str();
  app->add_option("--gid-index", o->gid_index, "GID to use; default: a RoCE v2 one, IPv4 preferred");
  app->add_flag("--ipv6", o->ipv6, "prefer an IPv6 GID");
  app->add_option("host", o->host, "server to connect to over TCP")->group("Where");
  app->add_flag("--listen", o->listen, "be the server, for one client");
  app->add_option("-p,--port", o->port, "TCP port of the exchange")->capture_default_str();
  app->add_option("--connect-timeout", o->connect_timeout, "seconds to wait for the other side")
      ->capture_default_str();
}

void AddQp(CLI::App* app, Options* o) {
  auto* g = app->add_option_group("QP attributes");
  g->add_option("--timeout", o->timeout, "4.096 us x 2^N, 0 for ever")->capture_default_str()->check(CLI::Range(0, 31));
  g->add_option("--retry", o->retry, "transport retries")->capture_default_str()->check(CLI::Range(0, 7));
  g->add_option("--rnr-retry", o->rnr_retry, "receiver-not-ready retries, 7 for ever")->capture_default_str()->check(CLI::Range(0, 7));
  g->add_option("--min-rnr-timer", o->min_rnr_timer, "code of the RNR delay")->capture_default_str()->check(CLI::Range(0, 31));
  g->add_option("--mtu", o->mtu, "path MTU; default: the smaller active one")->check(CLI::IsMember({256, 512, 1024, 2048, 4096}));
  g->add_option("--tclass", o->tclass, "traffic class")->check(CLI::Range(0, 255));
  g->add_option("--sl", o->sl, "service level")->check(CLI::Range(0, 15));
  g->add_option("--rd-atomic", o->rd_atomic, "outstanding READs and atomics, limited by the devices")->capture_default_str()->check(CLI::Range(1, 255));
}

void AddTraffic(CLI::App* app, Options* o) {
  auto* g = app->add_option_group("Traffic");
  g->add_option("--ops", o->ops, "mix of write, write_imm, send, send_imm, read, fetch_add, cmp_swap, overlap")->capture_default_str();
  g->add_option("--sizes", o->plan.sizes, "mixed | N | LO:HI (suffixes K, M, G)")->capture_default_str();
  g->add_option("--bytes", o->bytes, "volume of each direction (default 256M)");
  g->add_option("--seconds", o->seconds, "run by time instead")->check(CLI::Range(0.0, 1e6));
  g->add_option("--qps", o->qps, "number of QPs")->capture_default_str()->check(CLI::Range(1, 4096));
  g->add_option("--depth", o->depth, "work requests per queue")->capture_default_str()->check(CLI::Range(8, 8192));
  g->add_flag("--both", o->both, "both sides request");
  g->add_option("--sge", o->plan.max_pieces, "largest number of SGEs")->capture_default_str()->check(CLI::Range(1, 8));
  g->add_option("--memory", o->memory, "registered memory per side")->capture_default_str();
  g->add_option("--seed", o->plan.seed, "seed of plan and contents")->capture_default_str();
  g->add_flag("--ud", o->ud, "unreliable datagrams: loss is counted, corruption fails");
}

void AddLocal(CLI::App* app, Options* o) {
  auto* g = app->add_option_group("This side");
  g->add_option("--signal-every", o->signal_every, "unsignalled runs of up to N-1 requests")->capture_default_str()->check(CLI::Range(1, 4096));
  g->add_option("--inline", o->max_inline, "inline bytes asked for")->capture_default_str();
  g->add_option("--late-recv", o->late_receive, "post receives N us after promising them (provokes RNR)");
  g->add_option("--cqs", o->cqs, "shared | split (send, receive) | per-qp")->capture_default_str()->check(CLI::IsMember({"shared", "split", "per-qp"}));
  g->add_flag("--events", o->events, "sleep on a completion channel instead of polling");
  g->add_flag("--extended", o->extended, "post through ibv_wr_* of ibv_create_qp_ex");
  g->add_flag("!--no-flush-check", o->flush_check, "do not expect flushed receives at the end");
  g->add_option("--settle", o->settle, "ms to watch for surplus completions at the end")->capture_default_str();
  g->add_option("--stall", o->stall, "seconds without progress that are a failure")->capture_default_str();
  g->add_flag("--progress", o->progress, "a line per second on stderr");
  g->add_flag("-j,--json", o->json, "the summary as JSON");
}

}  // namespace

Mode ParseOptions(int argc, char** argv, Options* o) {
  CLI::App app{"metaroce-verify moves data between two hosts with plain verbs and checks every byte, "
               "every completion and their order."};
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  AddWhere(&app, o);
  AddQp(&app, o);
  AddTraffic(&app, o);
  AddLocal(&app, o);
  auto* negative = app.add_subcommand("negative", "provoke errors on one device, check the statuses (TAP)");
  negative->add_option("--device2", o->device2, "device of the other end (default: the same)");
  negative->add_option("--only", o->only, "run only tests whose name contains this");
  negative->add_option("--skip", o->skip, "comma-separated names to skip, printed as SKIP");
  negative->add_flag("--list", o->list, "print the names");
  negative->add_option("--dead-peer-timeout", o->dead_peer_timeout, "timeout code used against a dead peer")->capture_default_str()->check(CLI::Range(1, 20));
  auto* scribble = app.add_subcommand("scribble", "write garbage into the rings shared with the kernel");
  scribble->add_option("--seconds", o->scribble_seconds, "how long")->capture_default_str()->check(CLI::Range(0.1, 1e6));
  for (CLI::App* sub : {negative, scribble}) sub->fallthrough();  // -d may stand behind as well
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
    if (*negative) return Mode::kNegative;
    if (*scribble) return Mode::kScribble;
    if (o->listen == !o->host.empty())
      throw CLI::ValidationError("say either --listen (server) or the server's HOST (client)");
    if (!o->bytes.empty() && o->seconds > 0)
      throw CLI::ValidationError("--bytes and --seconds exclude each other");
    o->plan.ops = ParseOps(o->ops);
    o->total = o->seconds > 0 ? 0 : ParseBytes(o->bytes.empty() ? "256M" : o->bytes);
    if (o->seconds <= 0 && !o->total) throw CLI::ValidationError("--bytes 0 moves nothing");
    DeriveRings(o);
  } catch (const CLI::ParseError& e) {
    const int status = app.exit(e);
    if (status) std::exit(2);
    return Mode::kHelp;
  } catch (const std::invalid_argument& e) {
    fmt::print(stderr, "metaroce-verify: {}\n", e.what());
    std::exit(2);
  }
  return Mode::kTransfer;
}

void DeriveRings(Options* o) {
  const uint64_t memory = ParseBytes(o->memory);
  // Each side holds one ring per QP and flow it takes part in.
  const uint64_t rings = uint64_t{o->qps} * (o->both ? 2 : 1);
  o->plan.ring = std::min<uint64_t>(memory / rings, 1u << 30) / 4096 * 4096;
  if (o->plan.ring < 64u << 10)
    throw std::invalid_argument(
        fmt::format("--memory {} leaves less than 64K for each of {} QPs: give more", o->memory, o->qps));
  o->plan.max_size = static_cast<uint32_t>(std::min<uint64_t>(8u << 20, o->plan.ring / 4));
  Plan check(o->plan, 0, 0);  // throws when the sizes do not fit
}

std::string EncodeTraffic(const Options& o) {
  return fmt::format(
      "version=1\nseed={}\nops={}\nsizes={}\nmax_size={}\nsge={}\nring={}\ntotal={}\nseconds={}\n"
      "qps={}\ndepth={}\nboth={}\nud={}\n",
      o.plan.seed, OpsText(o.plan.ops), o.plan.sizes, o.plan.max_size, o.plan.max_pieces,
      o.plan.ring, o.total, o.seconds, o.qps, o.depth, int{o.both}, int{o.ud});
}

void DecodeTraffic(const std::string& text, Options* o) {
  std::map<std::string, std::string> values;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) throw std::runtime_error("the client's greeting is garbled");
    values[line.substr(0, equals)] = line.substr(equals + 1);
  }
  const auto get = [&](const char* key) {
    const auto found = values.find(key);
    if (found == values.end())
      throw std::runtime_error(fmt::format("the client did not say '{}': use the same version on both hosts", key));
    return found->second;
  };
  const auto number = [&](const char* key, uint64_t lo, uint64_t hi) {
    const uint64_t v = ParseBytes(get(key));
    if (v < lo || v > hi) throw std::runtime_error(fmt::format("the client's {}={} is out of range", key, v));
    return v;
  };
  number("version", 1, 1);
  o->plan.seed = number("seed", 0, UINT64_MAX);
  o->plan.ops = ParseOps(get("ops"));
  o->plan.sizes = get("sizes");
  o->plan.max_size = static_cast<uint32_t>(number("max_size", 0, 1u << 30));
  o->plan.max_pieces = static_cast<uint32_t>(number("sge", 1, kMaxPieces));
  o->plan.ring = number("ring", 4096, 1u << 30);
  o->total = number("total", 0, UINT64_MAX);
  o->seconds = std::stod(get("seconds"));
  o->qps = static_cast<uint32_t>(number("qps", 1, 4096));
  o->depth = static_cast<uint32_t>(number("depth", 8, 8192));
  o->both = number("both", 0, 1);
  o->ud = number("ud", 0, 1);
}

}  // namespace mroce::verify
