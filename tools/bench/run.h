// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The traffic, and what was seen of it.
#pragma once

#include <cstdint>
#include <vector>

#include "flow.h"
#include "options.h"
#include "stats.h"

namespace mroce::bench {

struct Result {
  uint64_t messages = 0;
  double seconds = 0;
  Latencies latency;             // from posting to polling the completion, ns
  std::vector<uint64_t> rates;   // bytes in each --interval
};

// The client: keeps Options::depth messages under way on each QP. Throws VerifyError.
Result Request(const Options& o, Flow& flow);
// The server: answers until the client says goodbye.
void Answer(const Options& o, Flow& flow);

}  // namespace mroce::bench
