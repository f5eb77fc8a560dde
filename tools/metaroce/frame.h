// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What `metaroce top` shows: two snapshots make the lines of a frame.
#pragma once

#include <string>
#include <vector>

#include "attrs.h"

namespace mroce::cli {

struct Snapshot {
  double at = 0;  // seconds, of a monotonic clock
  std::vector<Json> devs, conns, paths;
};

// Devices, then connections, the fastest first, then paths, those with trouble first. Rates and
// shares are of the time between the two; a connection that is not in @before has none yet.
std::vector<std::string> FrameText(const Snapshot& before, const Snapshot& now);
Json FrameJson(const Snapshot& before, const Snapshot& now);

}  // namespace mroce::cli
