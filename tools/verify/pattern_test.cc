// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "pattern.h"

#include <gtest/gtest.h>

#include <vector>

#include "rng.h"

namespace mroce::verify {
namespace {

TEST(Pattern, FillInPartsEqualsFillAtOnce) {
  const Pattern p(7, 0, 3, 42);
  std::vector<uint8_t> whole(1000), parts(1000);
  p.Fill(whole.data(), 0, whole.size());
  Rng rng(1);
  for (size_t at = 0; at < parts.size();) {
    const size_t n = std::min<size_t>(parts.size() - at, rng.Between(1, 37));
    p.Fill(parts.data() + at, at, n);
    at += n;
  }
  EXPECT_EQ(whole, parts);
  for (size_t i = 0; i < whole.size(); i++) ASSERT_EQ(whole[i], p.Byte(i)) << i;
}

TEST(Pattern, CheckAcceptsAnyCutAtAnyAlignment) {
  const Pattern p(7, 1, 3, 42);
  std::vector<uint8_t> memory(300);
  for (size_t shift = 0; shift < 9; shift++)
    for (size_t from = 0; from < 17; from++)
      for (size_t n : {0, 1, 2, 7, 8, 9, 15, 16, 17, 64, 200}) {
        p.Fill(memory.data() + shift, from, n);
        EXPECT_FALSE(p.Check(memory.data() + shift, from, n)) << shift << ' ' << from << ' ' << n;
      }
}

TEST(Pattern, CheckFindsEverySingleBitFlip) {
  const Pattern p(1, 0, 0, 0);
  for (size_t n : {1, 7, 8, 9, 31}) {
    std::vector<uint8_t> memory(n);
    p.Fill(memory.data(), 3, n);
    for (size_t bit = 0; bit < n * 8; bit++) {
      memory[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      const auto bad = p.Check(memory.data(), 3, n);
      ASSERT_TRUE(bad);
      EXPECT_EQ(bad->offset, 3 + bit / 8);
      EXPECT_EQ(bad->wrong, 1u);
      memory[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    }
  }
}

TEST(Pattern, CheckFindsShiftsAndOtherMessages) {
  std::vector<uint8_t> memory(4096);
  const Pattern p(1, 0, 0, 5);
  p.Fill(memory.data(), 8, memory.size());
  EXPECT_TRUE(p.Check(memory.data(), 0, memory.size()));
  for (const Pattern& other : {Pattern(2, 0, 0, 5), Pattern(1, 1, 0, 5), Pattern(1, 0, 1, 5),
                               Pattern(1, 0, 0, 6), Pattern(1, 0, 0, 5, 1)}) {
    other.Fill(memory.data(), 0, memory.size());
    EXPECT_TRUE(p.Check(memory.data(), 0, memory.size()));
  }
}

TEST(Pattern, PoisonIsToldApartFromWrongData) {
  std::vector<uint8_t> memory(100);
  Poison(memory.data(), memory.size());
  EXPECT_FALSE(CheckPoison(memory.data(), memory.size()));
  const auto bad = Pattern(1, 0, 0, 0).Check(memory.data(), 0, memory.size());
  ASSERT_TRUE(bad);
  EXPECT_TRUE(bad->all_poison);
  memory[99] = 0;
  ASSERT_TRUE(CheckPoison(memory.data(), memory.size()));
  EXPECT_EQ(CheckPoison(memory.data(), memory.size())->offset, 99u);
}

}  // namespace
}  // namespace mroce::verify
