// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "format.h"

namespace mroce::cli {
namespace {

// Of one connection, or summed over a device's, in the time between two snapshots.
struct Change {
  double tx = 0, rx = 0;  // bytes of payload
  double packets = 0, resent = 0;
  double received = 0, marked = 0;  // packets

  void Add(const Change& o) {
    tx += o.tx;
    rx += o.rx;
    packets += o.packets;
    resent += o.resent;
    received += o.received;
    marked += o.marked;
  }
};

struct Row {
  const Json* json;
  Change change;
};

struct PathRow {
  const Json* json;
  double packets, resent, marked;
};

// How much a counter grew. One that fell belongs to something new of the same name.
double Grown(const Json& before, const Json& now, const char* key) {
  const uint64_t a = Number(before, key), b = Number(now, key);
  return b >= a ? static_cast<double>(b - a) : 0;
}

Change ConnChange(const Json& was, const Json& is) {
  const Json a = was.value("counters", Json::object()), b = is.value("counters", Json::object());
  Change c;
  c.tx = Grown(a, b, "tx_bytes");
  c.rx = Grown(a, b, "rx_bytes");
  c.packets = Grown(a, b, "tx_pkts");
  for (const char* key : {"retx_gap", "retx_probe", "retx_refused", "retx_failover"}) c.resent += Grown(a, b, key);
  c.received = Grown(a, b, "rx_pkts");
  c.marked = Grown(a, b, "rx_ce");
  return c;
}

std::string PathKey(const Json& p) { return fmt::format("{}/{}", Text(p, "cid"), Number(p, "id")); }

std::vector<Row> Rows(const Snapshot& before, const Snapshot& now) {
  std::map<std::string, const Json*> was;
  for (const Json& c : before.conns) was[Text(c, "cid")] = &c;
  std::vector<Row> rows;
  for (const Json& c : now.conns) {
    const auto it = was.find(Text(c, "cid"));
    rows.push_back({&c, it == was.end() ? Change{} : ConnChange(*it->second, c)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.change.tx + a.change.rx > b.change.tx + b.change.rx;
  });
  return rows;
}

std::vector<PathRow> PathRows(const Snapshot& before, const Snapshot& now) {
  std::map<std::string, const Json*> was;
  for (const Json& p : before.paths) was[PathKey(p)] = &p;
  std::vector<PathRow> rows;
  for (const Json& p : now.paths) {
    const auto it = was.find(PathKey(p));
    if (it == was.end())
      rows.push_back({&p, 0, 0, 0});
    else
      rows.push_back({&p, Grown(*it->second, p, "tx_packets"), Grown(*it->second, p, "retx_packets"),
                      Grown(*it->second, p, "marks")});
  }
  const auto worse = [](const PathRow& a, const PathRow& b) {
    const bool la = Text(*a.json, "state") != "ACTIVE", lb = Text(*b.json, "state") != "ACTIVE";
    return la != lb ? la : a.resent != b.resent ? a.resent > b.resent : a.packets > b.packets;
  };
  std::stable_sort(rows.begin(), rows.end(), worse);
  return rows;
}

double Seconds(const Snapshot& before, const Snapshot& now) {
  return now.at > before.at ? now.at - before.at : 1;
}

}  // namespace

std::vector<std::string> FrameText(const Snapshot& before, const Snapshot& now) {
  const std::vector<Row> rows = Rows(before, now);
  const double s = Seconds(before, now);
  std::map<std::string, Change> sums;
  for (const Row& r : rows) sums[Text(*r.json, "dev_name")].Add(r.change);

  std::vector<std::string> out;
  out.push_back(fmt::format("{:<12} {:<12} {:>6} {:>6} {:>11} {:>11} {:>7} {:>7}", "DEVICE", "NETDEV", "CONNS", "QPS",
                            "SENT", "RECEIVED", "RESENT", "MARKED"));
  for (const Json& d : now.devs) {
    const Change& c = sums[Text(d, "name")];
    out.push_back(fmt::format("{:<12} {:<12} {:>6} {:>6} {:>11} {:>11} {:>7} {:>7}", Text(d, "name"),
                              Text(d, "ifname"), Number(d, "conns"), Number(d, "qps"), BitRate(8 * c.tx / s),
                              BitRate(8 * c.rx / s), Percent(c.resent, c.packets), Percent(c.marked, c.received)));
  }
  out.emplace_back();
  out.push_back(fmt::format("{:<12} {:<10} {:<10} {:<20} {:>11} {:>11} {:>8} {:>9} {:>13} {:>7} {:>7}", "DEVICE", "CID",
                            "STATE", "PEER", "SENT", "RECEIVED", "BASE", "PATHS", "FLIGHT/WINDOW", "RESENT", "MARKED"));
  for (const Row& r : rows) {
    const Json& c = *r.json;
    out.push_back(fmt::format(
        "{:<12} {:<10} {:<10} {:<20} {:>11} {:>11} {:>8} {:>9} {:>13} {:>7} {:>7}", Text(c, "dev_name"),
        Text(c, "cid"), Text(c, "state"), Text(c, "daddr"), BitRate(8 * r.change.tx / s),
        BitRate(8 * r.change.rx / s), c.contains("base_rtt") ? Time(Number(c, "base_rtt")) : "-",
        fmt::format("{}/{}", Number(c, "active_paths"), Number(c, "paths")),
        fmt::format("{}/{}", Number(c, "in_flight"), Number(c, "window")),
        Percent(r.change.resent, r.change.packets), Percent(r.change.marked, r.change.received)));
  }
  out.emplace_back();
  out.push_back(fmt::format("{:<12} {:<10} {:>4} {:>5} {:<8} {:>8} {:>5} {:>6} {:>10} {:>7} {:>7}", "DEVICE", "CID",
                            "PATH", "SPORT", "STATE", "SRTT", "CWND", "FLIGHT", "PACKETS/S", "RESENT", "MARKED"));
  for (const PathRow& r : PathRows(before, now)) {
    const Json& p = *r.json;
    out.push_back(fmt::format("{:<12} {:<10} {:>4} {:>5} {:<8} {:>8} {:>5} {:>6} {:>10.0f} {:>7} {:>7}",
                              Text(p, "dev_name"), Text(p, "cid"), Number(p, "id"), Number(p, "sport"),
                              Text(p, "state"), Time(Number(p, "srtt")), Number(p, "cwnd"), Number(p, "in_flight"),
                              r.packets / s, Percent(r.resent, r.packets), Percent(r.marked, r.packets)));
  }
  return out;
}

Json FrameJson(const Snapshot& before, const Snapshot& now) {
  const double s = Seconds(before, now);
  Json out = {{"seconds", s}, {"devs", now.devs}, {"conns", Json::array()}, {"paths", Json::array()}};
  for (const Row& r : Rows(before, now)) {
    Json c = *r.json;
    c["sent_bps"] = 8 * r.change.tx / s;
    c["received_bps"] = 8 * r.change.rx / s;
    c["resent_packets"] = r.change.resent;
    c["marked_packets"] = r.change.marked;
    out["conns"].push_back(std::move(c));
  }
  for (const PathRow& r : PathRows(before, now)) {
    Json p = *r.json;
    p["packets_per_second"] = r.packets / s;
    out["paths"].push_back(std::move(p));
  }
  return out;
}

}  // namespace mroce::cli
