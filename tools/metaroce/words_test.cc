// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "words.h"

#include <gtest/gtest.h>
#include <rdma/metaroce_netlink.h>

namespace mroce::cli {
namespace {

TEST(Filter, NothingIsAll) {
  const Filter f = ParseFilter({});
  EXPECT_TRUE(f.dev.empty());
  EXPECT_EQ(f.cid, 0u);
}

TEST(Filter, PairsInAnyOrder) {
  const Filter f = ParseFilter({"cid", "0xfe01", "dev", "mr0"});
  EXPECT_EQ(f.dev, "mr0");
  EXPECT_EQ(f.cid, 0xfe01u);
  EXPECT_EQ(ParseFilter({"cid", "4294967295"}).cid, UINT32_MAX);
}

TEST(Filter, WrongWords) {
  EXPECT_THROW(ParseFilter({"mr0"}), WordError);
  EXPECT_THROW(ParseFilter({"dev"}), WordError);
  EXPECT_THROW(ParseFilter({"cid", "0"}), WordError);
  EXPECT_THROW(ParseFilter({"cid", "4294967296"}), WordError);
  EXPECT_THROW(ParseFilter({"cid", "12x"}), WordError);
  EXPECT_THROW(ParseFilter({"cid", "-1"}), WordError);
  EXPECT_THROW(ParseFilter({"cid", "0x"}), WordError);
  EXPECT_THROW(ParseFilter({"cid", ""}), WordError);
}

TEST(Settings, TimesHaveUnits) {
  const auto s = ParseSettings({"probe-floor", "2ms", "delay-target", "1s", "max-burst", "8"});
  ASSERT_EQ(s.size(), 3u);
  EXPECT_EQ(s[0].attr, MROCE_A_PARAMS_PROBE_FLOOR);
  EXPECT_EQ(s[0].value, 2000u);
  EXPECT_EQ(s[1].attr, MROCE_A_PARAMS_DELAY_TARGET);
  EXPECT_EQ(s[1].value, 1000000u);
  EXPECT_EQ(s[2].attr, MROCE_A_PARAMS_MAX_BURST);
  EXPECT_EQ(s[2].value, 8u);
  EXPECT_EQ(ParseSettings({"probe-floor", "7us"})[0].value, 7u);
  EXPECT_EQ(ParseSettings({"probe-floor", "7"})[0].value, 7u);
}

TEST(Settings, WrongWords) {
  EXPECT_THROW(ParseSettings({}), WordError);
  EXPECT_THROW(ParseSettings({"nosuch", "1"}), WordError);
  EXPECT_THROW(ParseSettings({"max-burst"}), WordError);
  EXPECT_THROW(ParseSettings({"max-burst", "8us"}), WordError);
  EXPECT_THROW(ParseSettings({"probe-floor", "5000s"}), WordError);
  EXPECT_THROW(ParseSettings({"probe-floor", "5min"}), WordError);
  EXPECT_THROW(ParseSettings({"probe-floor", "ms"}), WordError);
}

}  // namespace
}  // namespace mroce::cli
