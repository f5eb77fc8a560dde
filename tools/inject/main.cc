// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// metaroce-inject: puts bad packets on the wire between two devices of this machine, and checks that a
// named counter tells of each and that no byte of the target's memory changes. Prints TAP.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "cases.h"
#include "oob.h"

namespace mroce::inject {
namespace {

using verify::Problem;

struct Tap {
  int number = 0, failed = 0;
  void Result(const std::string& name, const std::string& problem) {
    fmt::print("{} {} - {}\n", problem.empty() ? "ok" : "not ok", ++number, name);
    if (!problem.empty()) fmt::print("# {}\n", problem);
    failed += !problem.empty();
  }
};

void AwaitCounter(Bench& bench, const Case& c, uint64_t before) {
  const uint64_t wanted = before + std::max<uint32_t>(bench.sent(), 1);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  uint64_t now;
  while ((now = bench.Counter(c.counter)) < wanted) {
    if (std::chrono::steady_clock::now() > until)
      throw Problem{fmt::format("{} rose by {}, must by {}", c.counter, now - before, wanted - before)};
    usleep(20000);
  }
}

void Run(Bench& bench, const Case& c, Tap* tap) {
  try {
    const uint64_t before = bench.Counter(c.counter);
    bench.ResetSent();
    c.run(bench);
    AwaitCounter(bench, c, before);
    bench.CheckMemory();
    tap->Result(fmt::format("{} ({})", c.name, c.counter), "");
  } catch (const Problem& p) {
    tap->Result(fmt::format("{} ({})", c.name, c.counter), p.text);
  }
}

int Main(int argc, char** argv) {
  CLI::App app{"metaroce-inject puts bad packets on the wire between two RDMA devices of this machine and checks "
               "that a counter tells of each and that no memory changes. Needs root."};
  std::string sender, target, netns, netdev, only;
  app.add_option("-d,--device", sender, "device whose packets are imitated")->required();
  app.add_option("-t,--target", target, "device that they are sent to")->required();
  app.add_option("-n,--netdev", netdev, "network device of the sender")->required();
  app.add_option("--netns", netns, "network namespace of the sender (ip-netns(8)); default: this one");
  app.add_option("--only", only, "run only cases whose name contains this");
  CLI11_PARSE(app, argc, argv);

  const auto wanted = [&](const Case& c) { return std::string(c.name).find(only) != std::string::npos; };
  Tap tap;
  Bench bench(sender, target, netns, netdev, kStreams);
  tap.Result("connected, and the sender's packets are seen", "");
  for (const Case& c : HarmlessCases())
    if (wanted(c)) Run(bench, c, &tap);
  std::string problem;
  try {
    bench.WriteAll();
  } catch (const Problem& p) {
    problem = p.text;
  }
  tap.Result("every stream still works", problem);
  for (const Case& c : ForgedCases())
    if (wanted(c)) Run(bench, c, &tap);
  fmt::print("1..{}\n", tap.number);
  return tap.failed ? 1 : 0;
}

}  // namespace
}  // namespace mroce::inject

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return mroce::inject::Main(argc, argv);
  } catch (const mroce::verify::Problem& p) {
    fmt::print(stderr, "metaroce-inject: {}\n", p.text);
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "metaroce-inject: {}\n", e.what());
    return 2;
  }
}
