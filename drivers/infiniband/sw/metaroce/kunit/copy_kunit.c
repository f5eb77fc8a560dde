// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The placement copier: right bytes, no others, and in ascending order. MR-7.3-05 */
#include <linux/random.h>

#include "../engine/internal.h"
#include "kunit.h"

#define COPY_MAX	1536
#define COPY_SPAN	(COPY_MAX + 4 * MROCE_LINE)
#define COPY_CANARY	0xa5

/* Lengths around all that the copier treats differently: words, lines, and a packet's. */
static const u16 copy_lens[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 23, 24, 25, 63, 64, 65,
	119, 120, 121, 127, 128, 129, 135, 136, 137, 143, 144, 255, 256, 257, 271, 272, 1408, 1448,
};

struct copy_bufs {
	u8 *src;
	u8 *dst;
	u8 *want;
};

static struct copy_bufs copy_bufs(struct kunit *test)
{
	struct copy_bufs b = {
		.src = kunit_kmalloc(test, COPY_SPAN, GFP_KERNEL),
		.dst = kunit_kmalloc(test, COPY_SPAN, GFP_KERNEL),
		.want = kunit_kmalloc(test, COPY_SPAN, GFP_KERNEL),
	};

	KUNIT_ASSERT_NOT_NULL(test, b.src);
	KUNIT_ASSERT_NOT_NULL(test, b.dst);
	KUNIT_ASSERT_NOT_NULL(test, b.want);
	get_random_bytes(b.src, COPY_SPAN);
	return b;
}

/* Every place of the target in its line, every place of the source in a word. */
static void copy_bytes(struct kunit *test)
{
	struct copy_bufs b = copy_bufs(test);
	u8 *dst = PTR_ALIGN(b.dst + MROCE_LINE, MROCE_LINE);
	u32 to, from, i;

	for (to = 0; to < MROCE_LINE; to++) {
		for (from = 0; from < 8; from++) {
			for (i = 0; i < ARRAY_SIZE(copy_lens); i++) {
				u16 len = copy_lens[i];

				memset(b.dst, COPY_CANARY, COPY_SPAN);
				memset(b.want, COPY_CANARY, COPY_SPAN);
				memcpy(b.want + (dst - b.dst) + to, b.src + from, len);
				mroce_copy_ascending(dst + to, b.src + from, len);
				if (memcmp(b.dst, b.want, COPY_SPAN)) {
					KUNIT_FAIL(test, "to %u, from %u, %u bytes", to, from, len);
					return;
				}
			}
		}
	}
}

/* Onto its own source, a word or a byte further down: right only if nothing is stored early. */
static void copy_ascends(struct kunit *test)
{
	struct copy_bufs b = copy_bufs(test);
	u8 *mem = PTR_ALIGN(b.dst + MROCE_LINE, MROCE_LINE);
	u32 to, i;

	for (to = 0; to < MROCE_LINE; to++) {
		for (i = 0; i < ARRAY_SIZE(copy_lens); i++) {
			u16 len = copy_lens[i];

			memcpy(mem + to, b.src, len + 8);
			mroce_copy_ascending(mem + to, mem + to + 8, len);
			if (memcmp(mem + to, b.src + 8, len)) {
				KUNIT_FAIL(test, "at %u, %u bytes", to, len);
				return;
			}
		}
	}
}

/* Both end where their page does, and what is behind it faults. */
static void copy_stays_inside(struct kunit *test)
{
	u8 *src = mroce_kunit_vmalloc(test, PAGE_SIZE);
	u8 *dst = mroce_kunit_vmalloc(test, PAGE_SIZE);
	u32 i;

	get_random_bytes(src, PAGE_SIZE);
	for (i = 0; i < ARRAY_SIZE(copy_lens); i++) {
		u16 len = copy_lens[i];

		memset(dst, COPY_CANARY, PAGE_SIZE);
		mroce_copy_ascending(dst + PAGE_SIZE - len, src + PAGE_SIZE - len, len);
		KUNIT_EXPECT_MEMEQ(test, dst + PAGE_SIZE - len, src + PAGE_SIZE - len, len);
		KUNIT_EXPECT_EQ(test, dst[PAGE_SIZE - len - 1], COPY_CANARY);
	}
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE(copy_bytes),
	KUNIT_CASE(copy_ascends),
	KUNIT_CASE(copy_stays_inside),
	{}
};

static struct kunit_suite copy_suite = {
	.name = "metaroce_copy",
	.test_cases = copy_cases,
};

kunit_test_suite(copy_suite);
