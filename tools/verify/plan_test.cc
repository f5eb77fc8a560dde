// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "plan.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace mroce::verify {
namespace {

PlanConfig AllOps() {
  PlanConfig c;
  c.seed = 99;
  c.ops = ParseOps("write,write_imm,send,send_imm,read,fetch_add,cmp_swap,overlap");
  return c;
}

void ExpectSane(const Layout& l, const PlanConfig& c, uint64_t* end) {
  ASSERT_GE(l.position, *end) << "slots overlap";
  ASSERT_LE(l.position % c.ring + l.size, c.ring) << "a slot wraps";
  ASSERT_EQ(l.position % 64, 0u);
  uint32_t at = 0;
  for (uint32_t i = 0; i < l.count; i++) {
    ASSERT_GE(l.piece[i].offset, at + kGuard);
    ASSERT_GT(l.piece[i].length, 0u);
    at = l.piece[i].offset + l.piece[i].length;
  }
  ASSERT_GE(l.size, at + kGuard);
  *end = l.position + l.size;
}

TEST(Plan, BothSidesDeriveTheSame) {
  Plan a(AllOps(), 0, 2), b(AllOps(), 0, 2), other(AllOps(), 0, 3);
  bool differs = false;
  for (int i = 0; i < 2000; i++) {
    const Message x = a.Next(), y = b.Next(), z = other.Next();
    ASSERT_EQ(x.op, y.op);
    ASSERT_EQ(x.length, y.length);
    ASSERT_EQ(x.imm, y.imm);
    ASSERT_EQ(x.operand, y.operand);
    ASSERT_EQ(x.remote.position, y.remote.position);
    ASSERT_EQ(x.local.position, y.local.position);
    ASSERT_EQ(x.remote.piece[0].offset, y.remote.piece[0].offset);
    differs |= x.length != z.length;
  }
  EXPECT_TRUE(differs);
}

TEST(Plan, SlotsHaveGuardsAndNeverOverlapOrWrap) {
  const PlanConfig c = AllOps();
  Plan plan(c, 1, 0);
  uint64_t local_end = 0, remote_end = 0;
  for (int i = 0; i < 20000; i++) {
    const Message m = plan.Next();
    ASSERT_EQ(m.number, static_cast<uint64_t>(i));
    ExpectSane(m.local, c, &local_end);
    ExpectSane(m.remote, c, &remote_end);
    if (m.op != Op::kOverlap) {
      ASSERT_EQ(m.local.Bytes(), m.length);
    }
    ASSERT_GE(m.remote.Bytes(), m.length);
    ASSERT_LE(m.remote.Bytes(), m.length + kMaxSlack);
    if (m.op != Op::kSend && m.op != Op::kSendImm) {
      ASSERT_LE(m.remote.count, 1u);
    }
    if (IsAtomic(m.op)) {
      ASSERT_EQ(m.remote.piece[0].offset % 8, 0u);
    }
    ASSERT_LE(m.local.count, m.op == Op::kOverlap ? kMaxPieces : c.max_pieces);
  }
}

TEST(Plan, OverlapPartsLieInTheTarget) {
  PlanConfig c = AllOps();
  c.ops = {Op::kOverlap};
  Plan plan(c, 0, 0);
  for (int i = 0; i < 2000; i++) {
    const Message m = plan.Next();
    ASSERT_EQ(m.WorkRequests(), m.local.count);
    ASSERT_GE(m.local.count, 2u);
    ASSERT_EQ(m.local.piece[0].length, m.length);
    for (uint32_t p = 0; p < m.local.count; p++)
      ASSERT_LE(m.part_at[p] + m.local.piece[p].length, m.length);
  }
}

TEST(Plan, MixedSizesCoverTheEdges) {
  PlanConfig c = AllOps();
  c.ops = {Op::kWrite};
  Plan plan(c, 0, 0);
  std::set<uint32_t> seen;
  uint32_t largest = 0, odd = 0;
  for (int i = 0; i < 20000; i++) {
    const uint32_t n = plan.Next().length;
    seen.insert(n);
    largest = std::max(largest, n);
    odd += n & 1;
  }
  for (uint32_t want : {0u, 1u, 2u, 127u, 1023u, 1024u, 1025u, 1408u, 4095u, 4096u, 4097u, 8192u})
    EXPECT_TRUE(seen.count(want)) << want;
  EXPECT_GT(largest, 7u << 20);
  EXPECT_LE(largest, 8u << 20);
  EXPECT_GT(odd, 5000u);
}

TEST(Plan, FixedAndRangedSizes) {
  PlanConfig c = AllOps();
  c.ops = {Op::kSend};
  c.sizes = "64K";
  EXPECT_EQ(Plan(c, 0, 0).Next().length, 65536u);
  c.sizes = "10:12";
  Plan plan(c, 0, 0);
  std::set<uint32_t> seen;
  for (int i = 0; i < 200; i++) seen.insert(plan.Next().length);
  EXPECT_EQ(seen, (std::set<uint32_t>{10, 11, 12}));
}

TEST(Plan, RefusesWhatCannotWork) {
  PlanConfig c = AllOps();
  c.ring = 64u << 10;
  EXPECT_THROW(Plan(c, 0, 0), std::invalid_argument);
  c = AllOps();
  c.sizes = "32M";
  EXPECT_THROW(Plan(c, 0, 0), std::invalid_argument);
  c = AllOps();
  c.max_pieces = kMaxPieces + 1;
  EXPECT_THROW(Plan(c, 0, 0), std::invalid_argument);
}

TEST(Parse, Sizes) {
  EXPECT_EQ(ParseBytes("0"), 0u);
  EXPECT_EQ(ParseBytes("3k"), 3072u);
  EXPECT_EQ(ParseBytes("2G"), 2ull << 30);
  for (const char* bad : {"", "x", "-1", "1T", "1.5M", "99999999999999999999", "17179869184G", " 1"})
    EXPECT_THROW(ParseBytes(bad), std::invalid_argument) << bad;
  for (const char* bad : {"5:4", ":", "1:", "2G", "Mixed"})
    EXPECT_THROW(ParseSizes(bad), std::invalid_argument) << bad;
}

TEST(Parse, Ops) {
  EXPECT_EQ(OpsText(ParseOps("read,write_imm,read")), "read,write_imm,read");
  for (const char* bad : {"", "writ", "write,,read", "write read"})
    EXPECT_THROW(ParseOps(bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace mroce::verify
