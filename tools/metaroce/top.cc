// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "top.h"

#include <curses.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <thread>

#include "frame.h"

namespace mroce::cli {
namespace {

Snapshot Take(Netlink& nl) {
  Snapshot s;
  s.at = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  s.devs = nl.Devices();
  s.conns = nl.Conns({});
  s.paths = nl.Paths({});
  return s;
}

// The screen, given back at the end, whatever ends it.
class Screen {
 public:
  Screen() {
    std::setlocale(LC_ALL, "");
    if (!newterm(nullptr, stdout, stdin)) throw Failure("this terminal cannot show it: try top --once");
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
  }
  ~Screen() { endwin(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Draw(const std::vector<std::string>& lines, size_t first) {
    erase();
    for (int y = 0; y < LINES && first + y < lines.size(); y++) mvaddnstr(y, 0, lines[first + y].c_str(), COLS);
    refresh();
  }
};

void Once(Netlink& nl, const Options& o) {
  const Snapshot before = Take(nl);
  std::this_thread::sleep_for(std::chrono::duration<double>(o.interval));
  const Snapshot now = Take(nl);
  if (o.json) {
    fmt::print("{}\n", FrameJson(before, now).dump());
    return;
  }
  for (const std::string& line : FrameText(before, now)) fmt::print("{}\n", line);
}

}  // namespace

void Top(Netlink& nl, const Options& o) {
  if (o.once) return Once(nl, o);
  if (!isatty(STDOUT_FILENO)) throw Failure("this is no terminal: try top --once");
  Snapshot before = Take(nl), now = before;
  Screen screen;
  size_t first = 0;
  for (;;) {
    const std::vector<std::string> lines = FrameText(before, now);
    first = std::min(first, lines.empty() ? 0 : lines.size() - 1);
    screen.Draw(lines, first);
    timeout(static_cast<int>(o.interval * 1000));
    switch (getch()) {
      case 'q':
        return;
      case KEY_DOWN:
        first++;
        continue;
      case KEY_UP:
        first -= first > 0;
        continue;
      case KEY_NPAGE:
        first += LINES;
        continue;
      case KEY_PPAGE:
        first -= std::min<size_t>(first, LINES);
        continue;
      case ERR:
        break;
      default:
        continue;
    }
    before = std::move(now);
    now = Take(nl);
  }
}

}  // namespace mroce::cli
