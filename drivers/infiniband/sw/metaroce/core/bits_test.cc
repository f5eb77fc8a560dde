// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "sim_test.h"

namespace {

/* Against the obvious way, for all starts and sets of few bits. */
TEST(bits, next_goes_round)
{
	std::mt19937_64 rng(1);

	for (int round = 0; round < 2000; round++) {
		u64 set[3] = {};
		u32 from = rng() % 192, got = 0;
		int want = -1;

		for (u64 n = rng() % 4; n; n--) {
			u32 bit = rng() % 192;

			set[bit / 64] |= 1ULL << (bit % 64);
		}
		for (u32 i = 0; i < 192 && want < 0; i++) {
			u32 bit = (from + i) % 192;

			if (set[bit / 64] >> (bit % 64) & 1)
				want = bit;
		}
		ASSERT_EQ(mroce_bit_next(set, 192, from, &got), want >= 0);
		if (want >= 0) {
			ASSERT_EQ((int)got, want) << "from " << from;
		}
	}
}

} /* namespace */
