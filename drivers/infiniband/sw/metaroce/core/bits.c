// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sets of paths. */
#include "internal.h"

bool mroce_bit_next(const u64 *array, u32 bits, u32 from, u32 *bit)
{
	u32 words = bits / 64, word = from / 64, i;
	u64 first = ~0ULL << (from % 64);

	/* the word of @from is looked at twice: its upper part first, its lower part last */
	for (i = 0; i <= words; i++, word = (word + 1) % words) {
		u64 v = array[word];

		if (!i)
			v &= first;
		else if (i == words)
			v &= ~first;
		if (v) {
			*bit = word * 64 + __ffs64(v);
			return true;
		}
	}
	return false;
}
