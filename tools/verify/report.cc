// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "report.h"

#include <fmt/format.h>

#include <cstdio>

namespace mroce::verify {

namespace {

std::string JsonString(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", c);
    else out += c;
  }
  return out + '"';
}

std::string PerOp(const Counts& c) {
  std::string out;
  for (size_t i = 0; i < kOpCount; i++)
    if (c.per_op[i])
      out += fmt::format("{}\"{}\":{}", out.empty() ? "" : ",", OpName(static_cast<Op>(i)), c.per_op[i]);
  return "{" + out + "}";
}

std::string Side(const Counts& c) {
  return fmt::format("{{\"messages\":{},\"bytes\":{},\"ops\":{}}}", c.messages, c.bytes, PerOp(c));
}

}  // namespace

void PrintSummary(const Options& o, const std::string& device, const Summary& s) {
  const uint64_t bytes = s.sent.bytes + s.received.bytes;
  const double gbps = s.seconds > 0 ? static_cast<double>(bytes) * 8 / s.seconds / 1e9 : 0;
  const bool ok = s.error.empty();
  if (o.json) {
    fmt::print("{{\"verified\":{},\"error\":{},\"device\":{},\"mode\":\"{}\",\"role\":\"{}\",\"qps\":{},\"seed\":{},"
               "\"seconds\":{:.6f},\"gbps\":{:.4f},\"requested\":{},\"responded\":{},\"signalled\":{},\"events\":{},"
               "\"lost\":{},\"duplicates\":{}}}\n",
               ok, ok ? "null" : JsonString(s.error), JsonString(device), o.ud ? "ud" : "rc",
               o.listen ? "server" : "client", o.qps, o.plan.seed, s.seconds, gbps, Side(s.sent), Side(s.received),
               s.signalled, s.events, s.lost, s.duplicates);
  } else if (ok) {
    const std::string extra = o.ud ? fmt::format(", {} lost, {} duplicated", s.lost, s.duplicates) : "";
    fmt::print("metaroce-verify: OK {} {}: requested {} messages {} bytes, responded to {} messages {} bytes{}, "
               "{:.2f} s, {:.3f} Gb/s, seed {}\n",
               device, o.listen ? "server" : "client", s.sent.messages, s.sent.bytes, s.received.messages,
               s.received.bytes, extra, s.seconds, gbps, o.plan.seed);
  }
  std::fflush(stdout);
  if (!ok) fmt::print(stderr, "metaroce-verify: FAILED {}: {}\n", device, s.error);
}

void Progress::Update(uint64_t bytes, uint64_t messages, uint64_t total) {
  if (!enabled_ || Clock::now() < next_) return;
  next_ += std::chrono::seconds(1);
  const std::string share =
      total ? fmt::format(" of {} MiB ({:.0f} %)", total >> 20,
                          100.0 * static_cast<double>(bytes) / static_cast<double>(total))
            : " MiB";
  fmt::print(stderr, "{} messages, {}{}, {:.3f} Gb/s\n", messages, bytes >> 20, share,
             static_cast<double>(bytes - last_bytes_) * 8 / 1e9);
  last_bytes_ = bytes;
}

void Tap::Plan(size_t tests) { fmt::print("TAP version 13\n1..{}\n", tests); }
void Tap::Result(const std::string& name, const std::string& problem) {
  fmt::print("{} {} - {}\n", problem.empty() ? "ok" : "not ok", ++number_, name);
  if (!problem.empty()) {
    fmt::print("# {}\n", problem);
    failed_++;
  }
  std::fflush(stdout);
}
void Tap::Skip(const std::string& name, const std::string& reason) {
  fmt::print("ok {} - {} # SKIP {}\n", ++number_, name, reason);
  std::fflush(stdout);
}

}  // namespace mroce::verify
