// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "words.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "attrs.h"

namespace mroce::cli {
namespace {

// All of @text as an unsigned number, decimal or 0x...; throws WordError. @rest: what follows it.
uint32_t ParseNumber(const std::string& text, std::string* rest = nullptr) {
  const bool hex = text.rfind("0x", 0) == 0;
  const char* first = text.data() + (hex ? 2 : 0);
  const char* last = text.data() + text.size();
  uint32_t value = 0;
  const auto [end, err] = std::from_chars(first, last, value, hex ? 16 : 10);
  if (err != std::errc() || (end != last && !rest)) throw WordError(fmt::format("'{}' is no number that fits", text));
  if (rest) rest->assign(end, last);
  return value;
}

uint32_t ParseTime(const std::string& text) {
  std::string unit;
  const uint64_t value = ParseNumber(text, &unit);
  uint64_t us = value;
  if (unit == "ms")
    us = value * 1000;
  else if (unit == "s")
    us = value * 1000000;
  else if (!unit.empty() && unit != "us")
    throw WordError(fmt::format("'{}': times are in us, ms or s", text));
  if (us > UINT32_MAX) throw WordError(fmt::format("'{}' is too long", text));
  return static_cast<uint32_t>(us);
}

}  // namespace

Filter ParseFilter(const std::vector<std::string>& words) {
  Filter f;
  for (size_t i = 0; i < words.size(); i += 2) {
    if (words[i] != "dev" && words[i] != "cid")
      throw WordError(fmt::format("'{}': [dev NAME] [cid N] is known here", words[i]));
    if (i + 1 == words.size()) throw WordError(fmt::format("'{}' of what?", words[i]));
    if (words[i] == "dev")
      f.dev = words[i + 1];
    else
      f.cid = ParseNumber(words[i + 1]);
    if (words[i] == "cid" && !f.cid) throw WordError("no connection has the id 0");
  }
  return f;
}

Plane ParsePlane(const std::vector<std::string>& words) {
  // as in "rdma link add NAME ... netdev NETDEV"; "dev" may stand before the name, as elsewhere
  const size_t at = !words.empty() && words[0] == "dev" ? 1 : 0;
  if (words.size() != at + 3 || words[at + 1] != "netdev") throw WordError("[dev] NAME netdev NETDEV is wanted here");
  return {words[at], words[at + 2]};
}

std::vector<Setting> ParseSettings(const std::vector<std::string>& words) {
  std::vector<Setting> out;
  for (size_t i = 0; i < words.size(); i += 2) {
    const Param* p = FindParam(words[i]);
    if (!p) throw WordError(fmt::format("'{}' is no parameter; there are {}", words[i], ParamNames()));
    if (i + 1 == words.size()) throw WordError(fmt::format("a value for {} is missing", words[i]));
    out.push_back({p->attr, p->is_time ? ParseTime(words[i + 1]) : ParseNumber(words[i + 1])});
  }
  if (out.empty()) throw WordError(fmt::format("which parameter? There are {}", ParamNames()));
  return out;
}

}  // namespace mroce::cli
