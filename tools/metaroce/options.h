// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Command line of metaroce.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "words.h"

namespace mroce::cli {

enum class Command : uint8_t { kShow, kConnShow, kPathShow, kPlaneShow, kPlaneAdd, kPlaneDel, kSet, kMonitor, kTop };

struct Options {
  Command command = Command::kShow;
  bool json = false;
  std::string dev;  // show, set, plane
  std::string netdev;  // plane add, plane del
  Filter filter;    // conn show, path show
  std::vector<Setting> settings;
  uint64_t count = 0;     // monitor: events, 0: without end
  bool once = false;      // top
  double interval = 1;    // top: seconds
};

// Exits with status 2 if it is wrong. Return: false: help was asked for.
bool ParseOptions(int argc, char** argv, Options* o);

}  // namespace mroce::cli
