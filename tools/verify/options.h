// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Command line of metaroce-verify.
#pragma once

#include <cstdint>
#include <string>

#include "plan.h"

namespace mroce::verify {

struct Options {
  // where
  std::string device;
  std::string host;
  bool listen = false;
  uint16_t port = 17762;
  uint32_t ib_port = 1;
  int gid_index = -1;
  bool ipv6 = false;
  uint32_t connect_timeout = 20;  // seconds
  // QP attributes
  uint32_t timeout = 14;
  uint32_t retry = 7;
  uint32_t rnr_retry = 7;
  uint32_t min_rnr_timer = 12;
  uint32_t mtu = 0;  // 0: what both ports have active
  uint32_t tclass = 0;
  uint32_t sl = 0;
  uint32_t rd_atomic = 16;
  // traffic; decided by the client and told to the server
  PlanConfig plan;
  std::string ops = "write,write_imm,send,send_imm,read";
  std::string memory = "256M";
  std::string bytes;  // empty: 256M unless --seconds is given
  double seconds = 0;
  uint32_t qps = 2;
  uint32_t depth = 64;
  bool both = false;
  bool ud = false;
  uint64_t total = 0;  // of each flow, in bytes; 0: by time
  // how each side works
  uint32_t signal_every = 1;
  uint32_t max_inline = 256;
  uint32_t late_receive = 0;  // microseconds
  std::string cqs = "shared";
  bool events = false;
  bool extended = false;
  bool flush_check = true;
  uint32_t settle = 200;  // ms
  uint32_t stall = 60;    // s
  bool progress = false;
  bool json = false;
  // negative
  std::string device2;
  std::string only;
  std::string skip;
  bool list = false;
  uint32_t dead_peer_timeout = 10;
  // scribble
  double scribble_seconds = 10;
};

enum class Mode { kTransfer, kNegative, kScribble, kHelp };

// Exits with a helpful message (status 2) when the command line is wrong.
Mode ParseOptions(int argc, char** argv, Options* options);

// What the client tells the server, as key=value lines.
std::string EncodeTraffic(const Options& o);
// Throws std::runtime_error when the text is not understood.
void DecodeTraffic(const std::string& text, Options* o);
// Splits --memory over rings and limits "mixed" sizes to what fits.
void DeriveRings(Options* o);

}  // namespace mroce::verify
