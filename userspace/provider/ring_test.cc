// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include "test_support.h"

using mroce_test::MemoryRing;

namespace {

mroce_ring_info good_info()
{
	mroce_ring_info info{};
	info.entries = 8;
	info.entry_size = 64;
	info.mmap_size = MROCE_RING_HEADER_SIZE + 8 * 64;
	return info;
}

TEST(RingInfo, GoodOneIsTaken)
{
	mroce_ring_info info = good_info();
	EXPECT_TRUE(mroce_ring_info_ok(&info, 64));
}

TEST(RingInfo, EntriesMustBeAPowerOfTwo)
{
	for (uint32_t n : {0u, 3u, 6u, 7u}) {
		mroce_ring_info info = good_info();
		info.entries = n;
		EXPECT_FALSE(mroce_ring_info_ok(&info, 64)) << n;
	}
}

TEST(RingInfo, MappingMustHoldTheSlots)
{
	mroce_ring_info info = good_info();
	info.mmap_size--;
	EXPECT_FALSE(mroce_ring_info_ok(&info, 64));
}

TEST(RingInfo, SizeIsComputedWithoutWrapping)
{
	mroce_ring_info info = good_info();
	info.entries = 1u << 31;
	info.entry_size = 64; // 2^37 bytes, 0 in 32 bits
	EXPECT_FALSE(mroce_ring_info_ok(&info, 64));
}

TEST(RingInfo, SlotMustBeLargeEnoughAndAligned)
{
	mroce_ring_info info = good_info();
	EXPECT_FALSE(mroce_ring_info_ok(&info, 65));
	info.entry_size = 60;
	EXPECT_FALSE(mroce_ring_info_ok(&info, 32));
}

// Index 2^32 - 3: the lap over zero must change nothing.
class RingWrap : public testing::TestWithParam<uint32_t> {};

TEST_P(RingWrap, ProducerFillsExactlyAllEntries)
{
	MemoryRing m(4, 16);
	m.start_at(GetParam());
	uint32_t idx = m.ring.pos;
	for (int i = 0; i < 4; i++) {
		ASSERT_TRUE(mroce_ring_has_room(&m.ring, idx)) << i;
		mroce_ring_publish(&m.ring, ++idx);
	}
	EXPECT_FALSE(mroce_ring_has_room(&m.ring, idx));
	EXPECT_EQ(m.ring.hdr->producer, GetParam() + 4);
	m.ring.hdr->consumer++;
	EXPECT_TRUE(mroce_ring_has_room(&m.ring, idx));
	EXPECT_FALSE(mroce_ring_has_room(&m.ring, idx + 1));
}

TEST_P(RingWrap, ConsumerSeesEachEntryOnceInOrder)
{
	MemoryRing m(4, 16);
	m.start_at(GetParam());
	EXPECT_EQ(mroce_ring_peek(&m.ring), nullptr);
	for (uint32_t i = 0; i < 4; i++)
		*m.slot<uint32_t>(GetParam() + i) = i;
	m.ring.hdr->producer += 4;
	for (uint32_t i = 0; i < 4; i++) {
		auto *slot = static_cast<uint32_t *>(mroce_ring_peek(&m.ring));
		ASSERT_NE(slot, nullptr);
		EXPECT_EQ(*slot, i);
		m.ring.pos++;
		mroce_ring_release(&m.ring);
	}
	EXPECT_EQ(mroce_ring_peek(&m.ring), nullptr);
	EXPECT_EQ(m.ring.hdr->consumer, GetParam() + 4);
}

INSTANTIATE_TEST_SUITE_P(Starts, RingWrap,
			 testing::Values(0u, 5u, UINT32_MAX - 2));

TEST(Ring, SlotsAreApartAndMasked)
{
	MemoryRing m(4, 48);
	EXPECT_EQ(mroce_ring_slot(&m.ring, 1),
		  static_cast<uint8_t *>(mroce_ring_slot(&m.ring, 0)) + 48);
	EXPECT_EQ(mroce_ring_slot(&m.ring, 7), mroce_ring_slot(&m.ring, 3));
	EXPECT_EQ(static_cast<uint8_t *>(mroce_ring_slot(&m.ring, 0)),
		  reinterpret_cast<uint8_t *>(m.ring.hdr) +
			  MROCE_RING_HEADER_SIZE);
}

TEST(Ring, DoorbellIsWantedByTheFlagAlone)
{
	MemoryRing m(4, 16);
	EXPECT_FALSE(mroce_ring_wants_doorbell(&m.ring));
	m.ring.hdr->flags = ~uint32_t{MROCE_RING_F_NEED_DOORBELL};
	EXPECT_FALSE(mroce_ring_wants_doorbell(&m.ring));
	m.ring.hdr->flags = MROCE_RING_F_NEED_DOORBELL;
	EXPECT_TRUE(mroce_ring_wants_doorbell(&m.ring));
}

TEST(Ring, ReloadFollowsTheKernelsReset)
{
	MemoryRing m(4, 16);
	m.start_at(9);
	mroce_ring_publish(&m.ring, 12);
	m.ring.hdr->producer = m.ring.hdr->consumer = 0;
	mroce_ring_reload(&m.ring);
	EXPECT_EQ(m.ring.pos, 0u);
	EXPECT_TRUE(mroce_ring_has_room(&m.ring, 3));
	EXPECT_FALSE(mroce_ring_has_room(&m.ring, 4));
}

// The two sides write different cache lines.
TEST(Ring, IndicesDoNotShareACacheLine)
{
	EXPECT_GE(offsetof(mroce_ring_header, consumer) -
			  offsetof(mroce_ring_header, producer), 128u);
}

} // namespace
