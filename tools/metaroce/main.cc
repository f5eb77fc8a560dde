// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "format.h"
#include "netlink.h"
#include "options.h"
#include "top.h"

namespace mroce::cli {
namespace {

void Print(const Options& o, const std::vector<Json>& all, std::string (*text)(const Json&),
           const std::string& head = "") {
  if (o.json) {
    fmt::print("{}\n", Json(all).dump());
    return;
  }
  if (!head.empty() && !all.empty()) fmt::print("{}\n", head);
  for (const Json& j : all) fmt::print("{}\n", text(j));
}

void Monitor(Netlink& nl, const Options& o) {
  nl.Subscribe();
  uint64_t seen = 0;
  while (!o.count || seen < o.count) {
    bool lost;
    for (Json& e : nl.Events(&lost)) {
      if (o.count && seen == o.count) break;
      seen++;
      const auto now = std::chrono::system_clock::now();
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
      if (o.json) {
        e["time"] = static_cast<double>(ms) / 1e3;
        fmt::print("{}\n", e.dump());
      } else {
        fmt::print("{:%H:%M:%S}.{:03} {}\n", fmt::localtime(std::chrono::system_clock::to_time_t(now)), ms % 1000,
                   EventText(e));
      }
    }
    if (lost) fmt::print(stderr, "metaroce: events were lost: they came faster than they are read\n");
    // whoever reads from a pipe sees each at once
    std::fflush(stdout);
  }
}

void Run(const Options& o) {
  Netlink nl;
  switch (o.command) {
    case Command::kShow:
      Print(o, o.dev.empty() ? nl.Devices() : std::vector<Json>{nl.Device(o.dev)}, DeviceText);
      break;
    case Command::kConnShow:
      Print(o, nl.Conns(o.filter), ConnText);
      break;
    case Command::kPathShow:
      Print(o, nl.Paths(o.filter), PathText, PathHead());
      break;
    case Command::kPlaneShow:
      Print(o, nl.Planes(o.dev), PlaneText);
      break;
    case Command::kPlaneAdd:
      nl.AddPlane(o.dev, o.netdev);
      break;
    case Command::kPlaneDel:
      nl.DelPlane(o.dev, o.netdev);
      break;
    case Command::kSet:
      nl.Set(o.dev, o.settings);
      break;
    case Command::kMonitor:
      Monitor(nl, o);
      break;
    case Command::kTop:
      Top(nl, o);
      break;
  }
}

}  // namespace
}  // namespace mroce::cli

int main(int argc, char** argv) {
  mroce::cli::Options o;
  try {
    if (!mroce::cli::ParseOptions(argc, argv, &o)) return 0;
    mroce::cli::Run(o);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "metaroce: {}\n", e.what());
    return 1;
  }
}
