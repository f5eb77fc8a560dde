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

static void copy_line(u64 *dst, const u8 *src)
{
	int i;

	for (i = 0; i < LINE_WORDS - 1; i++)
		WRITE_ONCE(dst[i], get_unaligned((const u64 *)(src + 8 * i)));
	/* the flag of a line protocol lies here: after all of the line */
	smp_store_release(&dst[i], get_unaligned((const u64 *)(src + 8 * i)));
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
		smp_store_release(dst++, get_unaligned((const u64 *)src));
	for (; len >= MROCE_LINE; len -= MROCE_LINE, src += MROCE_LINE, dst += LINE_WORDS)
		copy_line(dst, src);
	for (; len >= 8; len -= 8, src += 8)
		/* seen before the next word */
		smp_store_release(dst++, get_unaligned((const u64 *)src));
	copy_bytes((u8 *)dst, src, len);
}
