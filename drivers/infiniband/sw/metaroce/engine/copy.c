// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The placement copier. Programs poll memory that is being written (W1): within an
 * aligned line of 128 bytes, bytes must become visible in ascending order. memcpy() may be
 * "rep movsb", whose stores may be seen in any order, or copy backwards. So: 8-byte stores,
 * ascending, each a single access; where stores of one CPU may be reordered, the last word of a
 * line is a release. MR-7.3-05
 */
#include <asm/barrier.h>

#include "internal.h"

#define LINE_WORDS	(MROCE_LINE / 8)

static void copy_bytes(u8 *dst, const u8 *src, size_t len)
{
	while (len--) {
		/* each byte must be seen before the next one */
		smp_store_release(dst, *src);
		dst++;
		src++;
	}
}

static u64 word(const u8 *src, int i)
{
	return get_unaligned((const u64 *)(src + 8 * i));
}

static_assert(LINE_WORDS == 16);

/* Unrolled: one turn of the loop, and its branches, per line instead of per word. */
static void copy_line(u64 *dst, const u8 *src)
{
	WRITE_ONCE(dst[0], word(src, 0));
	WRITE_ONCE(dst[1], word(src, 1));
	WRITE_ONCE(dst[2], word(src, 2));
	WRITE_ONCE(dst[3], word(src, 3));
	WRITE_ONCE(dst[4], word(src, 4));
	WRITE_ONCE(dst[5], word(src, 5));
	WRITE_ONCE(dst[6], word(src, 6));
	WRITE_ONCE(dst[7], word(src, 7));
	WRITE_ONCE(dst[8], word(src, 8));
	WRITE_ONCE(dst[9], word(src, 9));
	WRITE_ONCE(dst[10], word(src, 10));
	WRITE_ONCE(dst[11], word(src, 11));
	WRITE_ONCE(dst[12], word(src, 12));
	WRITE_ONCE(dst[13], word(src, 13));
	WRITE_ONCE(dst[14], word(src, 14));
	/* the flag of a line protocol lies here: after all of the line */
	smp_store_release(&dst[15], word(src, 15));
}

void mroce_copy_ascending(void *to, const void *from, size_t len)
{
	size_t head = -(uintptr_t)to & 7;
	const u8 *src = from;
	u64 *dst;

	head = min(head, len);
	copy_bytes(to, src, head);
	dst = to + head;
	src += head;
	len -= head;
	/* words up to the next line: few, so each may be a release */
	for (; len >= 8 && (uintptr_t)dst % MROCE_LINE; len -= 8, src += 8)
		/* seen before the next word */
		smp_store_release(dst++, word(src, 0));
	for (; len >= MROCE_LINE; len -= MROCE_LINE, src += MROCE_LINE, dst += LINE_WORDS)
		copy_line(dst, src);
	for (; len >= 8; len -= 8, src += 8)
		/* seen before the next word */
		smp_store_release(dst++, word(src, 0));
	copy_bytes((u8 *)dst, src, len);
}
