// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Tables of the negative tests.
#pragma once

#include <span>

#include "loopback.h"
#include "options.h"

namespace mroce::verify {

struct NegativeEnv {
  Device* first;
  Device* second;  // may be the same
  const Options& options;
};

struct NegativeTest {
  const char* name;
  void (*run)(NegativeEnv&);  // throws Problem
};

// Thrown by a test that does not apply to the device.
struct NotApplicable {
  std::string reason;
};

std::span<const NegativeTest> WireTests();  // errors found on the way or at the peer
std::span<const NegativeTest> PostTests();  // errors found when creating, modifying, posting
std::span<const NegativeTest> QueueTests();  // queues that overflow, shrink, are lied about, are reset under use

}  // namespace mroce::verify
