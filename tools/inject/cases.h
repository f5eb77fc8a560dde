// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What is injected, and which counter of the target must tell of it.
#pragma once

#include <span>

#include "bench.h"

namespace mroce::inject {

struct Case {
  const char* name;
  const char* counter;  // rises by at least the number of frames that the case sent
  void (*run)(Bench&);
};

// From somebody who knows no connection, or who does a live one no harm: all streams work afterwards.
std::span<const Case> HarmlessCases();
// From somebody who continues the sender's numbers: the stream, or the connection, is lost, no more.
std::span<const Case> ForgedCases();
// Streams that the forged cases use up.
inline constexpr uint32_t kStreams = 16;

}  // namespace mroce::inject
