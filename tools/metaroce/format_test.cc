// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "format.h"

#include <gtest/gtest.h>

#include "frame.h"

namespace mroce::cli {
namespace {

TEST(Format, Numbers) {
  EXPECT_EQ(BitRate(0), "0 b/s");
  EXPECT_EQ(BitRate(999), "999 b/s");
  EXPECT_EQ(BitRate(9.87e9), "9.87 Gb/s");
  EXPECT_EQ(BitRate(123e9), "123 Gb/s");
  EXPECT_EQ(Time(999), "999us");
  EXPECT_EQ(Time(25000), "25ms");
  EXPECT_EQ(Time(1500), "1.5ms");
  EXPECT_EQ(Time(2500000), "2.5s");
  EXPECT_EQ(Bytes(1024 * 1536), "1.50 MiB");
  EXPECT_EQ(Percent(1, 0), "-");
  EXPECT_EQ(Percent(1, 1000), "0.10%");
  EXPECT_EQ(Percent(1, 2), "50.0%");
}

TEST(Format, Connection) {
  const Json c = {{"dev_name", "mr0"},  {"cid", "0x00000001"}, {"state", "CONNECTING"}, {"saddr", "10.0.0.1"},
                  {"daddr", "10.0.0.2"}, {"tclass", 8}};
  EXPECT_EQ(ConnText(c), "mr0 cid 0x00000001 CONNECTING 10.0.0.1 -> 10.0.0.2 tclass 0x08");
  EXPECT_EQ(EventText(c), "conn " + ConnText(c));
}

TEST(Format, PathEvent) {
  const Json e = {{"dev_name", "mr0"}, {"cid", "0x00000001"}, {"id", 3},          {"daddr", "10.0.0.2"},
                  {"sport", 50000},    {"old_state", "ACTIVE"}, {"state", "SUSPECT"}};
  EXPECT_EQ(EventText(e), "path mr0 cid 0x00000001 path 3 to 10.0.0.2 sport 50000: ACTIVE -> SUSPECT");
}

TEST(Format, MissingIsADash) {
  EXPECT_NE(DeviceText(Json::object()).find("netdev -"), std::string::npos);
  EXPECT_NE(PathText(Json::object()).find(" -"), std::string::npos);
}

Json Conn(const char* cid, uint64_t sent, uint64_t packets, uint64_t resent) {
  return {{"dev_name", "mr0"},
          {"cid", cid},
          {"state", "UP"},
          {"counters", {{"tx_bytes", sent}, {"tx_pkts", packets}, {"retx_gap", resent}}}};
}

// The first line with @text in it.
std::string Line(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& l : lines)
    if (l.find(text) != std::string::npos) return l;
  return "";
}

TEST(Frame, RatesAreOfTheTimeBetween) {
  Snapshot before, now;
  before.at = 10;
  now.at = 12;
  before.conns = {Conn("0x1", 1000000, 100, 0)};
  // the second is new: it has no rate yet
  now.conns = {Conn("0x2", 1u << 30, 1000, 0), Conn("0x1", 3500000, 200, 1)};
  now.devs = {{{"name", "mr0"}, {"ifname", "eth0"}, {"conns", 2}}};
  const auto lines = FrameText(before, now);
  EXPECT_NE(Line(lines, "0x1").find("10.0 Mb/s"), std::string::npos) << Line(lines, "0x1");
  EXPECT_NE(Line(lines, "0x1").find("1.0%"), std::string::npos);
  EXPECT_NE(Line(lines, "0x2").find(" 0 b/s"), std::string::npos);
  EXPECT_NE(Line(lines, "eth0").find("10.0 Mb/s"), std::string::npos);
  const Json j = FrameJson(before, now);
  EXPECT_EQ(j["conns"][0]["cid"], "0x1") << "the fastest first";
  EXPECT_EQ(j["conns"][0]["sent_bps"], 1e7);
  EXPECT_EQ(j["conns"][1]["sent_bps"], 0);
}

TEST(Frame, ACounterThatFellStartsAgain) {
  Snapshot before, now;
  now.at = 1;
  before.conns = {Conn("0x1", 1000, 10, 0)};
  now.conns = {Conn("0x1", 10, 1, 0)};
  EXPECT_EQ(FrameJson(before, now)["conns"][0]["sent_bps"], 0);
}

TEST(Frame, PathsWithTroubleComeFirst) {
  Snapshot s;
  for (int i = 0; i < 3; i++)
    s.paths.push_back({{"cid", "0x1"}, {"id", i}, {"state", i == 2 ? "SUSPECT" : "ACTIVE"}, {"tx_packets", 5}});
  Snapshot now = s;
  now.at = 2;
  now.paths[1]["tx_packets"] = 25;
  const Json j = FrameJson(s, now)["paths"];
  EXPECT_EQ(j[0]["id"], 2);
  EXPECT_EQ(j[1]["id"], 1);
  EXPECT_EQ(j[1]["packets_per_second"], 10);
}

}  // namespace
}  // namespace mroce::cli
