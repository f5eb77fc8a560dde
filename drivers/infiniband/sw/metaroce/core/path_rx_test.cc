// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The bitmap of a path against a set of numbers. */
#include "sim_test.h"

namespace {

bool bit(const mroce_rxpath &p, u32 d)
{
	return p.bitmap[d / 64] >> (d % 64) & 1;
}

TEST(path_rx, against_a_set)
{
	for (u64 seed = 1; seed <= 6; seed++) {
		std::mt19937_64 rng(seed);
		mroce_rxpath p{};
		std::set<u32> owned;
		u32 high = seed % 2 ? 0xffffff80u : 1;

		ASSERT_EQ(mroce_rxpath_see(&p, high, 5), MROCE_ARRIVAL_NEW);
		for (u32 i = 0; i < 2000; i++) {
			u32 step = rng() % 64 ? rng() % 3 : rng() % 600;
			u32 seq = rng() % 3 ? high + step : high - rng() % 300;
			bool ahead = mroce_before32(high, seq);
			enum mroce_arrival want =
				ahead ? MROCE_ARRIVAL_NEW :
				high - seq >= MROCE_BITMAP_BITS ? MROCE_ARRIVAL_OLD :
				owned.count(seq) ? MROCE_ARRIVAL_DUP : MROCE_ARRIVAL_NEW;

			ASSERT_EQ(mroce_rxpath_see(&p, seq, i), want) << "seed " << seed;
			if (ahead) {
				high = seq;
				ASSERT_EQ(p.highest_at, i);
			}
			ASSERT_EQ(p.highest, high);
			/* a third is seen and not owned: refused */
			if (want == MROCE_ARRIVAL_NEW && rng() % 3) {
				mroce_rxpath_own(&p, seq);
				owned.insert(seq);
			}
			u32 wrong = 0;

			for (u32 d = 0; d < MROCE_BITMAP_BITS && i % 8 == 0; d++)
				wrong += bit(p, d) != !!owned.count(high - d);
			ASSERT_EQ(wrong, 0u) << "seed " << seed;
		}
	}
}

} /* namespace */
