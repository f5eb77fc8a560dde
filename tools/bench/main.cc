// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "oob.h"
#include "options.h"
#include "run.h"

namespace mroce::bench {
namespace {

constexpr double kQuantiles[] = {0.5, 0.9, 0.99, 0.999};
constexpr const char* kQuantileNames[] = {"p50", "p90", "p99", "p999"};

void PrintJson(const Options& o, Result& r, double bits) {
  nlohmann::json j = {
      {"op", OpName(o.op)},       {"size", o.size},          {"qps", o.qps},         {"depth", o.depth},
      {"messages", r.messages},   {"seconds", r.seconds},    {"goodput_bps", bits},
  };
  nlohmann::json& l = j["latency_us"];
  for (size_t i = 0; i < std::size(kQuantiles); i++)
    l[kQuantileNames[i]] = static_cast<double>(r.latency.Quantile(kQuantiles[i])) / 1e3;
  l["max"] = static_cast<double>(r.latency.Quantile(1)) / 1e3;
  l["mean"] = r.latency.Mean() / 1e3;
  if (o.interval > 0) {
    j["interval"] = o.interval;
    j["bytes_per_interval"] = r.rates;
  }
  fmt::print("{}\n", j.dump());
}

void PrintText(const Options& o, Result& r, double bits) {
  fmt::print("{} {} bytes, {} QPs, depth {}: {} messages in {:.6f} s, {:.4f} Gb/s, latency in us:", OpName(o.op),
             o.size, o.qps, o.depth, r.messages, r.seconds, bits / 1e9);
  for (size_t i = 0; i < std::size(kQuantiles); i++)
    fmt::print(" {} {:.1f}", kQuantileNames[i], static_cast<double>(r.latency.Quantile(kQuantiles[i])) / 1e3);
  fmt::print(" max {:.1f}\n", static_cast<double>(r.latency.Quantile(1)) / 1e3);
}

void Client(const Options& o) {
  Channel channel = Channel::Connect(o.host, o.port, o.connect_timeout);
  const std::string text = EncodeTraffic(o);
  channel.Send(FrameType::kTraffic, {text.begin(), text.end()});
  Flow flow(o, std::move(channel));
  Result r = Request(o, flow);
  const double bits = 8.0 * o.size * static_cast<double>(r.messages) / r.seconds;
  if (o.json)
    PrintJson(o, r, bits);
  else
    PrintText(o, r, bits);
}

void Server(Options o) {
  Channel channel = Channel::Listen(o.port, o.connect_timeout);
  const Frame f = channel.Expect(FrameType::kTraffic, o.connect_timeout);
  DecodeTraffic({f.body.begin(), f.body.end()}, &o);
  Flow flow(o, std::move(channel));
  Answer(o, flow);
}

}  // namespace
}  // namespace mroce::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  mroce::bench::Options o;
  try {
    if (!mroce::bench::ParseOptions(argc, argv, &o)) return 0;
    if (o.listen)
      mroce::bench::Server(o);
    else
      mroce::bench::Client(o);
    return 0;
  } catch (const mroce::VerifyError& e) {
    fmt::print(stderr, "metaroce-bench: {}\n", e.what());
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "metaroce-bench: {}\n", e.what());
    return 2;
  }
}
