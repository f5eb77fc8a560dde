// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace mroce::cli {
namespace {

constexpr const char* kFooter = R"(
Examples:
  metaroce show
  metaroce conn show dev mr0
  metaroce path show cid 0x5eed1234
  metaroce plane add mr0 netdev eth1
  metaroce set dev mr0 probe-floor 1ms max-paths 64
  metaroce -j monitor

See metaroce(8). Exit status: 0 done, 1 the kernel refused, 2 wrong words.)";

}  // namespace

bool ParseOptions(int argc, char** argv, Options* o) {
  CLI::App app{"metaroce shows and sets metaroce devices, their connections and paths."};
  std::vector<std::string> words;
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("-j,--json", o->json, "JSON instead of text");

  CLI::App* show = app.add_subcommand("show", "devices and their parameters");
  show->add_option("dev", o->dev, "this one only");

  CLI::App* conn = app.add_subcommand("conn", "connections")->require_subcommand(1);
  CLI::App* conn_show = conn->add_subcommand("show", "[dev NAME] [cid N]");
  conn_show->add_option("filter", words, "dev NAME, cid N");

  CLI::App* path = app.add_subcommand("path", "paths")->require_subcommand(1);
  CLI::App* path_show = path->add_subcommand("show", "[dev NAME] [cid N]");
  path_show->add_option("filter", words, "dev NAME, cid N");

  CLI::App* plane = app.add_subcommand("plane", "netdevs of a device")->require_subcommand(1);
  CLI::App* plane_show = plane->add_subcommand("show", "[dev NAME]");
  plane_show->add_option("filter", words, "dev NAME");
  CLI::App* plane_add = plane->add_subcommand("add", "NAME netdev NETDEV: one more for this device");
  plane_add->add_option("words", words, "NAME netdev NETDEV")->required();
  CLI::App* plane_del = plane->add_subcommand("del", "NAME netdev NETDEV: one less");
  plane_del->add_option("words", words, "NAME netdev NETDEV")->required();

  CLI::App* set = app.add_subcommand("set", "dev NAME PARAMETER VALUE ...");
  set->add_option("words", words, "dev NAME PARAMETER VALUE ...")->required();

  CLI::App* monitor = app.add_subcommand("monitor", "events as they happen");
  monitor->add_option("-n,--count", o->count, "end after so many");

  CLI::App* top = app.add_subcommand("top", "a live view; q ends it");
  top->add_flag("--once", o->once, "one frame to the standard output");
  top->add_option("-d,--interval", o->interval, "seconds between frames")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();

  // what is required of the children would be missed before a flag that comes after them
  for (CLI::App* a : {conn, path, plane}) a->fallthrough();
  try {
    app.parse(argc, argv);
    if (*conn_show || *path_show) {
      o->filter = ParseFilter(words);
      o->command = *conn_show ? Command::kConnShow : Command::kPathShow;
    } else if (*plane_show) {
      const Filter f = ParseFilter(words);
      if (f.cid) throw WordError("planes are a device's: [dev NAME]");
      o->dev = f.dev;
      o->command = Command::kPlaneShow;
    } else if (*plane_add || *plane_del) {
      const Plane p = ParsePlane(words);
      o->dev = p.dev;
      o->netdev = p.netdev;
      o->command = *plane_add ? Command::kPlaneAdd : Command::kPlaneDel;
    } else if (*set) {
      if (words.size() < 2 || words[0] != "dev") throw WordError("set dev NAME PARAMETER VALUE ...");
      o->command = Command::kSet;
      o->dev = words[1];
      o->settings = ParseSettings({words.begin() + 2, words.end()});
    } else if (*monitor) {
      o->command = Command::kMonitor;
    } else if (*top) {
      o->command = Command::kTop;
    }
  } catch (const WordError& e) {
    app.exit(CLI::ValidationError(e.what()));
    std::exit(2);
  } catch (const CLI::ParseError& e) {
    if (app.exit(e)) std::exit(2);
    return false;
  }
  return true;
}

}  // namespace mroce::cli
