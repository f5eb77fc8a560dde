// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "oob.h"

namespace mroce::bench {

namespace {

constexpr uint32_t kVersion = 2;
constexpr uint32_t kMaxSize = 1u << 30;
constexpr uint32_t kMaxQps = 16384;
constexpr uint32_t kMaxDepth = 8192;

constexpr const char* kFooter = R"(
Examples:
  host A:  metaroce-bench -d mr0 --listen
  host B:  metaroce-bench -d mr0 A --size 1M --seconds 10
  host B:  metaroce-bench -d mr0 A --size 64K --depth 1 --messages 10000

It sleeps on completion events and reads the monotonic clock, so it works in virtual time,
too, where programs that poll would stop it. Contents are not looked at: metaroce-verify
does. Exit status: 0 done, 1 a request failed, 2 it could not be tried.)";

const std::map<std::string, Op> kOps = {{"write", Op::kWrite}, {"read", Op::kRead}, {"send", Op::kSend}};

}  // namespace

const char* OpName(Op op) {
  for (const auto& [name, value] : kOps)
    if (value == op) return name.c_str();
  return "?";
}

bool ParseOptions(int argc, char** argv, Options* o) {
  CLI::App app{"metaroce-bench measures goodput and latency between two hosts with plain verbs."};
  app.footer(kFooter);
  app.get_formatter()->column_width(30);
  app.add_option("host", o->host, "server to connect to over TCP");
  app.add_flag("--listen", o->listen, "be the server, for one client");
  app.add_option("-d,--device", o->device, "RDMA device; default: the first");
  app.add_option("-i,--ib-port", o->ib_port, "port of the device")->capture_default_str();
  app.add_option("--gid-index", o->gid_index, "GID to use; default: a RoCE v2 one, IPv4 preferred");
  app.add_flag("--ipv6", o->ipv6, "prefer an IPv6 GID");
  app.add_option("-p,--port", o->port, "TCP port of the exchange")->capture_default_str();
  app.add_option("--connect-timeout", o->connect_timeout, "seconds to wait for the other side")
      ->capture_default_str();
  app.add_option("--op", o->op, "write, read or send")->transform(CLI::CheckedTransformer(kOps));
  app.add_option("--size", o->size, "bytes of a message (suffixes K, M)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1u, kMaxSize))
      ->capture_default_str();
  app.add_option("--qps", o->qps, "number of QPs")->check(CLI::Range(1u, kMaxQps))->capture_default_str();
  app.add_option("--depth", o->depth, "messages under way per QP")
      ->check(CLI::Range(1u, kMaxDepth))
      ->capture_default_str();
  app.add_option("--memory", o->memory, "bytes that are used in turn; fewer than are under way overlap")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 36))
      ->capture_default_str();
  app.add_option("--timeout", o->timeout, "of the QPs: 4.096 us x 2^N, 0 for ever")
      ->check(CLI::Range(0, 31))
      ->capture_default_str();
  app.add_option("--tclass", o->tclass, "traffic class of the QPs, the DSCP times 4")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();
  app.add_option("--warmup", o->warmup, "seconds that do not count")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "seconds that count")->check(CLI::Range(1e-6, 1e6))->capture_default_str();
  app.add_option("--messages", o->messages, "measure so many messages instead");
  app.add_option("--interval", o->interval, "seconds between readings of the rate (in the JSON)")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--at", o->at, "begin when the monotonic clock shows so many seconds")
      ->check(CLI::Range(0.0, 1e12));
  app.add_flag("-j,--json", o->json, "the result as JSON");
  try {
    app.parse(argc, argv);
    if (o->listen == !o->host.empty())
      throw CLI::ValidationError("say either --listen (server) or the server's HOST (client)");
  } catch (const CLI::ParseError& e) {
    if (app.exit(e)) std::exit(2);
    return false;
  }
  return true;
}

std::string EncodeTraffic(const Options& o) {
  std::ostringstream out;
  out << kVersion << ' ' << static_cast<int>(o.op) << ' ' << o.size << ' ' << o.qps << ' ' << o.depth << ' '
      << o.timeout << ' ' << o.memory << ' ' << o.tclass;
  return out.str();
}

void DecodeTraffic(const std::string& text, Options* o) {
  std::istringstream in(text);
  uint32_t version = 0, op = 0;
  in >> version >> op >> o->size >> o->qps >> o->depth >> o->timeout >> o->memory >> o->tclass;
  if (!in || version != kVersion)
    throw SetupError("the client speaks another version: use the same one on both hosts");
  if (op > static_cast<uint32_t>(Op::kSend) || !o->size || o->size > kMaxSize || !o->qps || o->qps > kMaxQps ||
      !o->depth || o->depth > kMaxDepth || o->timeout > 31 || !o->memory || o->memory > uint64_t{1} << 36 || o->tclass > 255)
    throw SetupError("the client asks for something out of range");
  o->op = static_cast<Op>(op);
}

}  // namespace mroce::bench
