// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stats.h"

#include <gtest/gtest.h>

namespace mroce::bench {
namespace {

TEST(Latencies, EmptyIsZero) {
  Latencies l;
  EXPECT_EQ(l.count(), 0u);
  EXPECT_EQ(l.Quantile(0.5), 0u);
  EXPECT_EQ(l.Mean(), 0);
}

TEST(Latencies, NearestRank) {
  Latencies l;
  for (uint64_t i = 1000; i >= 1; i--) l.Add(i);
  EXPECT_EQ(l.Quantile(0.5), 500u);
  EXPECT_EQ(l.Quantile(0.99), 990u);
  EXPECT_EQ(l.Quantile(0.999), 999u);
  EXPECT_EQ(l.Quantile(1), 1000u);
  EXPECT_EQ(l.Quantile(1e-9), 1u);
  EXPECT_DOUBLE_EQ(l.Mean(), 500.5);
}

TEST(Latencies, SortsAgainAfterAdding) {
  Latencies l;
  l.Add(5);
  EXPECT_EQ(l.Quantile(1), 5u);
  l.Add(3);
  EXPECT_EQ(l.Quantile(0.5), 3u);
  EXPECT_EQ(l.Quantile(1), 5u);
}

}  // namespace
}  // namespace mroce::bench
