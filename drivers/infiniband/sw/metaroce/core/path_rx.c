// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The receiving side of a path: which of the last 256 sequences have arrived.
 *
 *	highest   highest-1   ...   highest-255
 *	bit 0     bit 1             bit 255
 *
 * Seeing a sequence moves the window; owning it sets its bit. A refused packet is
 * seen and not owned. MR-5.2-*
 */
#include "internal.h"

static void shift(u64 *bitmap, u32 by)
{
	u32 words = by / 64, bits = by % 64;
	int i;

	for (i = MROCE_BITMAP_WORDS - 1; i >= 0; i--) {
		u64 v = 0;

		if (i >= (int)words) {
			v = bitmap[i - words] << bits;
			if (bits && i > (int)words)
				v |= bitmap[i - words - 1] >> (64 - bits);
		}
		bitmap[i] = v;
	}
}

enum mroce_arrival mroce_rxpath_see(struct mroce_rxpath *p, u32 pseq, u64 now)
{
	s32 d;

	if (!p->seen) {
		p->seen = true;
		p->highest = pseq;
		p->highest_at = now;
		return MROCE_ARRIVAL_NEW;
	}
	d = mroce_diff32(pseq, p->highest);
	if (d > 0) {
		if (d >= MROCE_BITMAP_BITS)
			memset(p->bitmap, 0, sizeof(p->bitmap));
		else
			shift(p->bitmap, d);
		p->highest = pseq;
		p->highest_at = now;
		return MROCE_ARRIVAL_NEW;
	}
	d = -d;
	if (d >= MROCE_BITMAP_BITS)
		return MROCE_ARRIVAL_OLD;
	return p->bitmap[d / 64] >> (d % 64) & 1 ? MROCE_ARRIVAL_DUP : MROCE_ARRIVAL_NEW;
}

void mroce_rxpath_own(struct mroce_rxpath *p, u32 pseq)
{
	u32 d = p->highest - pseq;

	if (d < MROCE_BITMAP_BITS)
		p->bitmap[d / 64] |= 1ULL << (d % 64);
}
