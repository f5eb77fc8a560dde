// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a run prints.
#pragma once

#include <chrono>
#include <string>

#include "requester.h"

namespace mroce::verify {

struct Summary {
  Counts sent;      // as requester
  Counts received;  // verified as responder
  uint64_t signalled = 0;
  uint64_t events = 0;
  uint64_t lost = 0;        // UD only
  uint64_t duplicates = 0;  // UD only
  double seconds = 0;
  std::string error;  // empty: all verified
};

void PrintSummary(const Options& o, const std::string& device, const Summary& s);

// A line per second on stderr.
class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled), next_(Clock::now() + std::chrono::seconds(1)) {}
  void Update(uint64_t bytes, uint64_t messages, uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_;
  Clock::time_point next_;
  uint64_t last_bytes_ = 0;
};

// TAP producer.
class Tap {
 public:
  void Plan(size_t tests);
  void Result(const std::string& name, const std::string& problem);  // empty: ok
  void Skip(const std::string& name, const std::string& reason);
  bool AllPassed() const { return !failed_; }

 private:
  size_t number_ = 0;
  size_t failed_ = 0;
};

}  // namespace mroce::verify
