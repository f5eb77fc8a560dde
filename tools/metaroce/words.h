// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a user writes behind a command, in the manner of ip(8): pairs of words.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace mroce::cli {

struct WordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// [dev NAME] [cid N]
struct Filter {
  std::string dev;   // empty: all
  uint32_t cid = 0;  // 0: all
};
// Throws WordError.
Filter ParseFilter(const std::vector<std::string>& words);

// dev NAME netdev NAME, or NAME netdev NAME. Throws WordError.
struct Plane {
  std::string dev, netdev;
};
Plane ParsePlane(const std::vector<std::string>& words);

struct Setting {
  uint16_t attr;  // MROCE_A_PARAMS_*
  uint32_t value;
};
// NAME VALUE [NAME VALUE]... Times may have a unit (us, ms, s), and are microseconds without one.
// Throws WordError.
std::vector<Setting> ParseSettings(const std::vector<std::string>& words);

}  // namespace mroce::cli
