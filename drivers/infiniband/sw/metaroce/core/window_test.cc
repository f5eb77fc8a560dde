// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Connection packet numbers: given out, claimed once, void when refused; across the wrap. */
#include "sim_test.h"

namespace {

using namespace sim;

struct Conn {
	mroce_conn c{};
	std::vector<u64> mem = std::vector<u64>((mroce_conn_mem() + 7) / 8);
	std::vector<u64> txmem =
		std::vector<u64>(mroce_txmem_size(MROCE_WINDOW, MROCE_INIT_PATHS) / 8 + 1);
	mroce_core_ops ops{};

	explicit Conn(u32 cpn = 0)
	{
		mroce_conn_cfg cfg;

		mroce_cfg_default(&cfg);
		mroce_conn_init(&c, mem.data(), txmem.data(), &ops, &cfg, 1, 1);
		c.cpn_base = c.cpn_next = c.rx_base = cpn;
	}
};

TEST(window, room_and_release_out_of_order)
{
	for (u32 first : { 0u, 0xfffffff0u }) {
		Conn x(first);
		std::vector<u32> slots;

		ASSERT_EQ(mroce_tx_room(&x.c), (u32)MROCE_WINDOW);
		for (u32 i = 0; i < MROCE_WINDOW; i++) {
			slots.push_back(mroce_tx_alloc(&x.c));
			EXPECT_EQ(mroce_rec(&x.c, slots[i])->cpn, first + i);
		}
		EXPECT_EQ(mroce_tx_room(&x.c), 0u);
		for (u32 i = MROCE_WINDOW - 1; i; i--)
			mroce_tx_release(&x.c, slots[i]);
		EXPECT_EQ(mroce_tx_room(&x.c), 0u) << "the oldest is still there";
		mroce_tx_release(&x.c, slots[0]);
		EXPECT_EQ(mroce_tx_room(&x.c), (u32)MROCE_WINDOW);
		EXPECT_EQ(x.c.cpn_base, first + MROCE_WINDOW);
	}
}

TEST(window, claim_once)
{
	for (u32 first : { 0u, 0xfffff800u }) {
		Conn x(first);

		for (u32 i = 1; i < MROCE_MAX_WINDOW; i++) {
			ASSERT_EQ(mroce_rx_probe_cpn(&x.c, first + i), MROCE_CLAIM_NEW);
			mroce_rx_claim_cpn(&x.c, first + i, false);
			ASSERT_EQ(mroce_rx_probe_cpn(&x.c, first + i), MROCE_CLAIM_DUP);
		}
		EXPECT_EQ(x.c.rx_base, first);
		EXPECT_EQ(mroce_rx_probe_cpn(&x.c, first + MROCE_MAX_WINDOW), MROCE_CLAIM_BEYOND);
		EXPECT_EQ(mroce_rx_probe_cpn(&x.c, first - 1), MROCE_CLAIM_DUP);
		mroce_rx_claim_cpn(&x.c, first, false);
		EXPECT_EQ(x.c.rx_base, first + MROCE_MAX_WINDOW);
		EXPECT_EQ(mroce_rx_probe_cpn(&x.c, first + MROCE_MAX_WINDOW), MROCE_CLAIM_NEW);
	}
}

/* Every copy of a refused number is told so, as long as the sender may send one. */
TEST(window, refused_stays_refused)
{
	for (u32 first : { 0u, 0xfffff000u }) {
		Conn x(first);

		mroce_rx_claim_cpn(&x.c, first, true);
		for (u32 i = 1; i <= MROCE_MAX_WINDOW; i++) {
			EXPECT_EQ(mroce_rx_probe_cpn(&x.c, first), MROCE_CLAIM_REFUSED);
			EXPECT_EQ(mroce_rx_probe_cpn(&x.c, first + i), MROCE_CLAIM_NEW);
			if (i < MROCE_MAX_WINDOW)
				mroce_rx_claim_cpn(&x.c, first + i, false);
		}
		/* the bit is used again a window later */
		for (u32 i = MROCE_MAX_WINDOW; i <= 2 * MROCE_MAX_WINDOW; i++)
			mroce_rx_claim_cpn(&x.c, first + i, false);
		EXPECT_EQ(mroce_rx_probe_cpn(&x.c, first + 2 * MROCE_MAX_WINDOW), MROCE_CLAIM_DUP);
	}
}

/* The pieces list: parked in order, taken from the front and the middle. */
TEST(window, pieces)
{
	Conn x;
	mroce_stream s{};
	std::vector<u32> slots;

	mroce_stream_init(&s, &x.c, 1, 2, 3, 4);
	for (u32 i = 0; i < 4; i++) {
		u32 slot = mroce_tx_alloc(&x.c);

		mroce_rec(&x.c, slot)->stream = &s;
		mroce_rec(&x.c, slot)->offset = i;
		mroce_tx_park(&x.c, slot);
	}
	EXPECT_EQ(mroce_tx_room(&x.c), (u32)MROCE_WINDOW);
	EXPECT_EQ(x.c.pieces_used, 4u);

	u32 second = x.c.pieces[s.refused].next, third = x.c.pieces[second].next;

	mroce_piece_free(&x.c, &s, third, second);
	mroce_piece_free(&x.c, &s, s.refused, MROCE_NONE);
	EXPECT_EQ(s.refused, second);
	EXPECT_EQ(x.c.pieces[second].offset, 1u);
	EXPECT_EQ(x.c.pieces[s.refused_tail].offset, 3u);
	mroce_piece_free(&x.c, &s, s.refused_tail, second);
	EXPECT_EQ(s.refused_tail, second);
	mroce_tx_void_stream(&x.c, &s);
	EXPECT_EQ(x.c.pieces_used, 0u);
	EXPECT_EQ(s.refused, MROCE_NONE);
}

TEST(serial, wraps)
{
	EXPECT_TRUE(mroce_before32(0xffffffffu, 0));
	EXPECT_FALSE(mroce_before32(0, 0xffffffffu));
	EXPECT_EQ(mroce_diff32(5, 0xfffffffbu), 10);
	EXPECT_EQ(mroce_diff24(2, 0xfffffe), 4);
	EXPECT_EQ(mroce_diff24(0xfffffe, 2), -4);
	for (u32 near : { 0u, 0x7fffffu, 0xffffffu, 0x1000000u, 0xfffffff0u })
		for (s32 d : { -5000, -1, 0, 1, 5000 })
			EXPECT_EQ(mroce_expand24((near + d) & 0xffffff, near), near + d);
}

} /* namespace */
