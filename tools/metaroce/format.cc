// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "format.h"

#include <fmt/format.h>

namespace mroce::cli {
namespace {

constexpr size_t kWidth = 100;  // of a list of counters

std::string Scaled(double value, double base, const char* const* units, size_t n) {
  size_t i = 0;
  while (value >= base && i + 1 < n) {
    value /= base;
    i++;
  }
  // three figures
  const int digits = i == 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, units[i]);
}

std::string Counters(const Json& counters) {
  std::string out, line;
  for (const auto& [name, value] : counters.items()) {
    const std::string word = fmt::format("{} {}", name, value.get<uint64_t>());
    if (!line.empty() && line.size() + word.size() > kWidth) {
      out += "\n    " + line;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + "\n    " + line;
}

}  // namespace

std::string BitRate(double bits_per_second) {
  static constexpr const char* kUnits[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
  return Scaled(bits_per_second, 1000, kUnits, std::size(kUnits));
}

std::string Bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return Scaled(static_cast<double>(bytes), 1024, kUnits, std::size(kUnits));
}

std::string Time(uint64_t us) {
  if (us < 1000) return fmt::format("{}us", us);
  if (us < 1000000) return fmt::format("{:.4g}ms", static_cast<double>(us) / 1e3);
  return fmt::format("{:.6g}s", static_cast<double>(us) / 1e6);
}

std::string Percent(double part, double whole) {
  if (whole <= 0) return "-";
  const double p = 100 * part / whole;
  return fmt::format("{:.{}f}%", p, p > 0 && p < 1 ? 2 : 1);
}

uint64_t Number(const Json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_number() ? it->get<uint64_t>() : 0;
}

std::string Text(const Json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end()) return "-";
  return it->is_string() ? it->get<std::string>() : it->dump();
}

std::string DeviceText(const Json& dev) {
  std::string out = fmt::format("{}: netdev {} id {} epoch {} connections {} qps {}", Text(dev, "name"),
                                Text(dev, "ifname"), Text(dev, "id"), Text(dev, "epoch"), Number(dev, "conns"),
                                Number(dev, "qps"));
  if (Number(dev, "events_dropped")) out += fmt::format(" events-dropped {}", Number(dev, "events_dropped"));
  std::string params;
  const Json& set = dev.value("params", Json::object());
  for (const Param* p = Params(); p->name; p++) {
    if (!set.contains(p->key)) continue;
    const uint64_t value = Number(set, p->key);
    params += fmt::format(" {} {}", p->name, p->is_time ? Time(value) : fmt::format("{}", value));
  }
  return params.empty() ? out : out + "\n   " + params;
}

std::string ConnText(const Json& conn) {
  std::string out = fmt::format("{} cid {} {} {} -> {}", Text(conn, "dev_name"), Text(conn, "cid"),
                                Text(conn, "state"), Text(conn, "saddr"), Text(conn, "daddr"));
  if (conn.contains("peer_cid")) out += fmt::format(" peer-cid {}", Text(conn, "peer_cid"));
  if (conn.contains("tclass")) out += fmt::format(" tclass {:#04x}", Number(conn, "tclass"));
  if (conn.contains("self")) out += " self";
  for (const Json& pair : conn.value("also", Json::array()))
    out += fmt::format("\n    also {} -> {}", Text(pair, "saddr"), Text(pair, "daddr"));
  // events end here
  if (!conn.contains("payload")) return out;
  out += fmt::format("\n    streams {} paths {}/{} payload {} window {} in-flight {} resend {}", Number(conn, "streams"),
                     Number(conn, "active_paths"), Number(conn, "paths"), Number(conn, "payload"),
                     Number(conn, "window"), Number(conn, "in_flight"), Number(conn, "resend"));
  out += fmt::format("\n    rate {} base-rtt {} memory {} scheduler {} cc {}",
                     conn.contains("rate") ? BitRate(8.0 * static_cast<double>(Number(conn, "rate"))) : "-",
                     conn.contains("base_rtt") ? Time(Number(conn, "base_rtt")) : "-", Bytes(Number(conn, "memory")),
                     Text(conn, "scheduler"), Text(conn, "cc"));
  if (conn.contains("peer_dev_id"))
    out += fmt::format("\n    peer-dev-id {} peer-epoch {}", Text(conn, "peer_dev_id"), Text(conn, "peer_epoch"));
  return out + Counters(conn.value("counters", Json::object()));
}

std::string PlaneText(const Json& plane) {
  return fmt::format("{} plane {} netdev {} {}", Text(plane, "dev_name"), Number(plane, "index"), Text(plane, "ifname"),
                     plane.contains("up") ? "UP" : "DOWN");
}

std::string PathHead() {
  return fmt::format("{:<12} {:<10} {:>4} {:>5} {:>5} {:<8} {:>9} {:>9} {:>9} {:>5} {:>6} {:>7} {:>10} {:>9} {:>9}", "DEVICE",
                     "CID", "PATH", "PLANE", "SPORT", "STATE", "SRTT", "RTTVAR", "BASE", "CWND", "FLIGHT", "MARKED", "TX", "RETX",
                     "CE");
}

std::string PathText(const Json& p) {
  return fmt::format("{:<12} {:<10} {:>4} {:>5} {:>5} {:<8} {:>9} {:>9} {:>9} {:>5} {:>6} {:>7} {:>10} {:>9} {:>9}",
                     Text(p, "dev_name"), Text(p, "cid"), Number(p, "id"), Number(p, "plane"), Number(p, "sport"), Text(p, "state"),
                     Time(Number(p, "srtt")), Time(Number(p, "rttvar")),
                     p.contains("base_rtt") ? Time(Number(p, "base_rtt")) : "-", Number(p, "cwnd"),
                     Number(p, "in_flight"), Percent(static_cast<double>(Number(p, "ecn_fraction")), 1024),
                     Number(p, "tx_packets"), Number(p, "retx_packets"), Number(p, "marks"));
}

std::string EventText(const Json& event) {
  if (!event.contains("old_state")) return "conn " + ConnText(event);
  return fmt::format("path {} cid {} path {} to {} sport {}: {} -> {}", Text(event, "dev_name"), Text(event, "cid"),
                     Number(event, "id"), Text(event, "daddr"), Number(event, "sport"), Text(event, "old_state"),
                     Text(event, "state"));
}

}  // namespace mroce::cli
