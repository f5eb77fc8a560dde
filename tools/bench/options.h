// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Command line of metaroce-bench.
#pragma once

#include <cstdint>
#include <string>

namespace mroce::bench {

enum class Op : uint8_t { kWrite, kRead, kSend };

struct Options {
  // where
  std::string device;
  std::string host;
  bool listen = false;
  uint16_t port = 17763;
  uint32_t ib_port = 1;
  int gid_index = -1;
  bool ipv6 = false;
  uint32_t connect_timeout = 20;  // seconds
  // traffic; decided by the client and told to the server
  Op op = Op::kWrite;
  uint32_t size = 1u << 20;
  uint32_t qps = 1;
  uint32_t depth = 16;      // messages under way per QP
  uint64_t memory = 64u << 20;  // registered, at most
  uint32_t timeout = 14;    // of the QPs: 4.096 us x 2^N, 0 for ever
  uint32_t tclass = 0;      // traffic class
  // how long
  double warmup = 0.1;      // seconds
  double seconds = 1;
  uint64_t messages = 0;    // instead of seconds, 0: by time
  double interval = 0;      // seconds between readings of the rate, 0: none
  double at = 0;            // seconds of the monotonic clock at which to begin, 0: at once
  bool json = false;
};

// Exits with a helpful message (status 2) when the command line is wrong. Return: false for --help.
bool ParseOptions(int argc, char** argv, Options* options);

const char* OpName(Op op);

// What the client tells the server, and back. DecodeTraffic() throws SetupError.
std::string EncodeTraffic(const Options& o);
void DecodeTraffic(const std::string& text, Options* o);

}  // namespace mroce::bench
