// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The distance that a WRITE carries makes it wait for whatever it overlaps. */
#include "sim_test.h"

namespace {

struct Queue {
	mroce_stream s{};
	std::vector<mroce_txmsg> q = std::vector<mroce_txmsg>(256);
	std::set<u32> waits_for;

	Queue()
	{
		s.sq = q.data();
		s.sq_stride = sizeof(mroce_txmsg);
		s.sq_mask = 255;
	}
	u32 add(u64 addr, u32 len, u8 op = MROCE_OP_WRITE, u8 flags = 0)
	{
		mroce_txmsg *m = mroce_stream_msg(&s, s.sq_seen);

		*m = {};
		m->op = op;
		m->flags = flags;
		m->raddr = addr;
		m->len = len;
		m->msn = s.next_msn;
		if (!(flags & MROCE_MSG_LOCAL))
			s.next_msn++;
		mroce_overlap_mark(&s, s.sq_seen++);
		return m->dep;
	}
};

TEST(overlap, distances)
{
	Queue q;

	EXPECT_EQ(q.add(1000, 100), 0u);
	EXPECT_EQ(q.add(1100, 100), 0u) << "adjacent";
	EXPECT_EQ(q.add(1099, 2), 1u) << "the nearest counts";
	EXPECT_EQ(q.add(1000, 10), 3u);
	EXPECT_EQ(q.add(1000, 0), 0u) << "empty";
	EXPECT_EQ(q.add(1000, 100, MROCE_OP_READ), 0u);
	EXPECT_EQ(q.add(0, 0, MROCE_OP_WRITE, MROCE_MSG_LOCAL), 0u);
	EXPECT_EQ(q.add(1005, 1), 3u) << "local requests have no number";
	q.s.sq_tail = q.s.sq_seen;
	EXPECT_EQ(q.add(1000, 100), 0u) << "all done";
}

/* Whatever it overlaps among the unfinished ones, it waits for: distance <= true one. */
TEST(overlap, never_too_far)
{
	for (u64 seed = 1; seed <= 30; seed++) {
		std::mt19937_64 rng(seed);
		Queue q;

		for (u32 i = 0; i < 1000; i++) {
			u64 lo = rng() % 3000;
			u32 len = rng() % 64;
			u32 dep = q.add(lo, len);
			u32 me = q.s.sq_seen - 1;

			for (u32 k = q.s.sq_tail; k != me && len; k++) {
				mroce_txmsg *e = mroce_stream_msg(&q.s, k);

				if (e->len && e->raddr < lo + len && lo < e->raddr + e->len) {
					ASSERT_GT(dep, 0u);
					ASSERT_LE(dep, me - k);
				}
			}
			while (q.s.sq_seen - q.s.sq_tail > rng() % 200)
				q.s.sq_tail++;
		}
	}
}

} /* namespace */
