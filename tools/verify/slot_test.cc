// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "slot.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace mroce::verify {
namespace {

constexpr Identity kId{5, 0, 1};

// What a faultless device does to the two slots.
void Execute(const Message& m, const uint8_t* local, uint8_t* remote, uint8_t* local_out) {
  if (m.op == Op::kOverlap) {
    for (uint32_t i = 0; i < m.local.count; i++)
      std::memcpy(remote + m.remote.piece[0].offset + m.part_at[i],
                  local + m.local.piece[i].offset, m.local.piece[i].length);
    return;
  }
  const bool back = m.op == Op::kRead || IsAtomic(m.op);
  std::vector<uint8_t> data;
  const Layout& from = back ? m.remote : m.local;
  const uint8_t* source = back ? remote : local;
  for (uint32_t i = 0; i < from.count; i++)
    data.insert(data.end(), source + from.piece[i].offset,
                source + from.piece[i].offset + from.piece[i].length);
  const Layout& to = back ? m.local : m.remote;
  uint8_t* target = back ? local_out : remote;
  size_t done = 0;
  for (uint32_t i = 0; i < to.count && done < m.length; i++) {
    const size_t n = std::min<size_t>(to.piece[i].length, m.length - done);
    std::memcpy(target + to.piece[i].offset, data.data() + done, n);
    done += n;
  }
  if (IsAtomic(m.op)) {
    const uint64_t after = AtomicAfter(m, kId);
    std::memcpy(remote + m.remote.piece[0].offset, &after, 8);
  }
}

class SlotTest : public testing::TestWithParam<const char*> {
 protected:
  SlotTest() {
    PlanConfig c;
    c.ops = ParseOps(GetParam());
    c.max_size = 256u << 10;
    c.ring = 1u << 20;
    plan_ = std::make_unique<Plan>(c, 0, 1);
  }
  void Prepare(const Message& m) {
    local_.assign(m.local.size, 0x11);
    remote_.assign(m.remote.size, 0x22);
    PrepareLocal(local_.data(), m, kId);
    PrepareRemote(remote_.data(), m, kId);
  }
  std::unique_ptr<Plan> plan_;
  std::vector<uint8_t> local_, remote_;
};

TEST_P(SlotTest, FaultlessTransferPasses) {
  for (int i = 0; i < 300; i++) {
    const Message m = plan_->Next();
    Prepare(m);
    Execute(m, local_.data(), remote_.data(), local_.data());
    const auto remote = CheckRemote(remote_.data(), m, kId);
    const auto local = CheckLocal(local_.data(), m, kId);
    ASSERT_FALSE(remote) << *remote;
    ASSERT_FALSE(local) << *local;
  }
}

TEST_P(SlotTest, OneWrongByteAtTheTargetIsFound) {
  Rng rng(3);
  for (int i = 0; i < 300; i++) {
    const Message m = plan_->Next();
    if (m.remote.Bytes() > 64u << 10 && !m.length) continue;
    Prepare(m);
    Execute(m, local_.data(), remote_.data(), local_.data());
    // Any byte of the slot: content, slack, guard.
    remote_[rng.Below(m.remote.size)] ^= 1;
    ASSERT_TRUE(CheckRemote(remote_.data(), m, kId));
  }
}

TEST_P(SlotTest, MissingTransferIsFound) {
  for (int i = 0; i < 300; i++) {
    const Message m = plan_->Next();
    Prepare(m);
    const bool back = m.op == Op::kRead || IsAtomic(m.op);
    // One or two bytes may equal what lay there before.
    if (m.length < 3 || (m.op == Op::kCmpSwap && !m.swap_matches)) continue;
    ASSERT_TRUE(back ? CheckLocal(local_.data(), m, kId) : CheckRemote(remote_.data(), m, kId));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, SlotTest,
                         testing::Values("write", "write_imm", "send", "send_imm", "read",
                                         "fetch_add", "cmp_swap", "overlap"));

TEST(Slot, UntouchedSlotPassesAndAGuardByteIsFound) {
  PlanConfig c;
  c.ops = ParseOps("send");
  c.sizes = "100K";
  c.ring = 1u << 20;
  const Message m = Plan(c, 0, 0).Next();
  std::vector<uint8_t> slot(m.remote.size);
  PoisonSlot(slot.data(), m.remote);
  EXPECT_FALSE(CheckUntouched(slot.data(), m.remote));
  slot.back() ^= 1;
  EXPECT_TRUE(CheckUntouched(slot.data(), m.remote));
  slot.back() ^= 1;
  slot.front() ^= 1;
  EXPECT_TRUE(CheckUntouched(slot.data(), m.remote));
}

TEST(Slot, OverlapInTheWrongOrderIsFound) {
  PlanConfig c;
  c.ops = ParseOps("overlap");
  c.sizes = "1000";
  c.ring = 1u << 20;
  const Message m = Plan(c, 0, 0).Next();
  std::vector<uint8_t> local(m.local.size), remote(m.remote.size);
  PrepareLocal(local.data(), m, kId);
  PrepareRemote(remote.data(), m, kId);
  for (uint32_t i = m.local.count; i-- > 0;)
    std::memcpy(remote.data() + m.remote.piece[0].offset + m.part_at[i],
                local.data() + m.local.piece[i].offset, m.local.piece[i].length);
  EXPECT_TRUE(CheckRemote(remote.data(), m, kId));
}

}  // namespace
}  // namespace mroce::verify
