// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions: real pages of a real process (the test case's own mm), pinned by the core;
 * which keys, ranges and rights are let through; which byte an address is; how a region ends.
 */
#include <linux/highmem.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "kunit.h"

#define MR_PAGES	4
#define MR_BYTES	(MR_PAGES * PAGE_SIZE)
#define MR_IOVA		0x7000123450a0ULL	/* not the address, nor its offset in a page */
#define MR_ALL		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC)

struct mr_env {
	struct mroce_dev *dev;
	struct ib_pd *pd, *other_pd;
	u64 start;		/* user address of MR_BYTES bytes, the i-th of value mr_byte(i) */
};

static u8 mr_byte(size_t i)
{
	return i * 7 + (i >> PAGE_SHIFT) * 3 + 1;
}

static int mr_init(struct kunit *test)
{
	struct mr_env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	u8 *bytes = kunit_kmalloc(test, MR_BYTES, GFP_KERNEL);
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	e->dev = mroce_kunit_dev(test);
	e->pd = mroce_kunit_pd(test, e->dev, true);
	e->other_pd = mroce_kunit_pd(test, e->dev, true);
	e->start = kunit_vm_mmap(test, NULL, 0, MR_BYTES, PROT_READ | PROT_WRITE,
				 MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, e->start, 0ULL);
	KUNIT_ASSERT_LT(test, e->start, (u64)TASK_SIZE);
	for (i = 0; i < MR_BYTES; i++)
		bytes[i] = mr_byte(i);
	KUNIT_ASSERT_EQ(test, 0UL, copy_to_user((void __user *)(uintptr_t)e->start, bytes,
						MR_BYTES));
	test->priv = e;
	return 0;
}

static struct mroce_mr *mr_reg(struct kunit *test, u64 off, u64 length, u64 iova, int access)
{
	struct mr_env *e = test->priv;
	struct ib_mr *ibmr = mroce_reg_user_mr(e->pd, e->start + off, length, iova, access, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ibmr);
	/* as the core does */
	ibmr->device = e->pd->device;
	ibmr->pd = e->pd;
	return to_mmr(ibmr);
}

static void mr_dereg(struct kunit *test, struct mroce_mr *mr)
{
	KUNIT_EXPECT_EQ(test, 0, mroce_dereg_mr(&mr->ibmr, NULL));
}

/* One question to mroce_mr_get(). Return: the status it gives. */
static enum ib_wc_status mr_ask(struct kunit *test, struct ib_pd *pd, u32 key, u64 va, u64 len,
				int access, bool remote)
{
	struct mr_env *e = test->priv;
	enum ib_wc_status status = IB_WC_GENERAL_ERR;
	struct mroce_mr *mr = mroce_mr_get(e->dev, pd, key, va, len, access, remote, &status);

	/* a region exactly when there is something to look at, and it may be */
	KUNIT_EXPECT_EQ(test, !!mr, len && status == IB_WC_SUCCESS);
	mroce_mr_put(mr);
	return status;
}

/* ---- which byte ---- */

/* Every byte of [va, va + len) is where mroce_mr_page() says it is. */
static void mr_walk(struct kunit *test, struct mroce_mr *mr, size_t off, u64 va, size_t len)
{
	size_t pos = va - mr->iova + off;

	while (len) {
		struct page *page;
		size_t at, n, i;
		const u8 *p;

		n = mroce_mr_page(mr, va, len, &page, &at);
		KUNIT_ASSERT_GT(test, n, 0);
		KUNIT_ASSERT_LE(test, n, len);
		KUNIT_ASSERT_LT(test, at, PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, at, pos % PAGE_SIZE);
		if (!folio_test_large(page_folio(page)))
			KUNIT_ASSERT_LE(test, at + n, PAGE_SIZE);
		for (i = 0; i < n; i++) {
			p = kmap_local_page(nth_page(page, (at + i) / PAGE_SIZE));
			if (p[(at + i) % PAGE_SIZE] != mr_byte(pos + i))
				KUNIT_FAIL(test, "byte %zu of the mapping", pos + i);
			kunmap_local(p);
		}
		va += n;
		pos += n;
		len -= n;
	}
}

static const struct mr_place {
	const char *name;
	u32 off, length;
} mr_places[] = {
	{ "all pages", 0, MR_BYTES },
	{ "one byte", 5, 1 },
	{ "the last byte of a page", PAGE_SIZE - 1, 1 },
	{ "two bytes on a border", PAGE_SIZE - 1, 2 },
	{ "from the middle of a page", 100, 2 * PAGE_SIZE },
	{ "to the middle of a page", 0, PAGE_SIZE + 77 },
	{ "odd at both ends", 333, 3 * PAGE_SIZE - 222 },
};

KUNIT_ARRAY_PARAM_DESC(mr_place, mr_places, name);

static void mr_translation(struct kunit *test)
{
	static const u64 iovas[] = { MR_IOVA, 0, 0xfffffffffff00000ULL, 0x1000 };
	const struct mr_place *p = test->param_value;
	u32 i, at, len;

	for (i = 0; i < ARRAY_SIZE(iovas); i++) {
		struct mroce_mr *mr = mr_reg(test, p->off, p->length, iovas[i], 0);

		mr_walk(test, mr, p->off, mr->iova, p->length);
		/* pieces, as packets ask for them */
		for (at = 0; at < p->length; at += 509) {
			len = min_t(u32, 1408, p->length - at);
			mr_walk(test, mr, p->off, mr->iova + at, len);
		}
		mr_dereg(test, mr);
	}
}

/* A run of pages is given out at once within one folio only, where the array has it in order. */
static void mr_folios(struct kunit *test)
{
	struct mr_env *e = test->priv;
	struct page *big = alloc_pages(GFP_KERNEL | __GFP_COMP, 2), *small, *page;
	struct ib_mr *ibmr;
	struct mroce_mr *mr;
	size_t off;

	KUNIT_ASSERT_NOT_NULL(test, big);
	small = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, small);
	ibmr = mroce_get_dma_mr(e->pd, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ibmr);
	mr = to_mmr(ibmr);
	mr->pages = kvmalloc_array(6, sizeof(*mr->pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mr->pages);
	mr->dma = false;
	mr->npages = 6;
	mr->first_off = 16;
	mr->iova = MR_IOVA;
	mr->length = 6 * PAGE_SIZE - 16;
	mr->pages[0] = big;
	mr->pages[1] = big + 1;
	mr->pages[2] = big + 3;	/* a step aside */
	mr->pages[3] = small;
	mr->pages[4] = big + 2;
	mr->pages[5] = big + 3;

	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, MR_IOVA, mr->length, &page, &off),
			2 * PAGE_SIZE - 16);
	KUNIT_EXPECT_PTR_EQ(test, page, big);
	KUNIT_EXPECT_EQ(test, off, 16);
	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, MR_IOVA, PAGE_SIZE, &page, &off), PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, MR_IOVA + 2 * PAGE_SIZE, 3 * PAGE_SIZE, &page,
					    &off), PAGE_SIZE - 16);
	KUNIT_EXPECT_PTR_EQ(test, page, big + 3);
	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, MR_IOVA + 3 * PAGE_SIZE, 2 * PAGE_SIZE, &page,
					    &off), PAGE_SIZE - 16);
	KUNIT_EXPECT_PTR_EQ(test, page, small);
	/* the last two pages: the array ends with the folio */
	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, MR_IOVA + 4 * PAGE_SIZE, 2 * PAGE_SIZE - 16, &page,
					    &off), 2 * PAGE_SIZE - 16);
	KUNIT_EXPECT_PTR_EQ(test, page, big + 2);
	mr_dereg(test, mr);
	__free_page(small);
	__free_pages(big, 2);
}

/* ---- who may ---- */

#define MR_LEN	(2 * PAGE_SIZE + 10)

static const struct mr_range {
	const char *name;
	s64 at;			/* from the region's beginning */
	u64 len;
	bool ok;
} mr_ranges[] = {
	{ "all of it", 0, MR_LEN, true },
	{ "the first byte", 0, 1, true },
	{ "the last byte", MR_LEN - 1, 1, true },
	{ "the middle", PAGE_SIZE, 8, true },
	{ "nothing, inside", 3, 0, true },
	{ "nothing, behind the end", MR_LEN + 100, 0, true },
	{ "the byte before", -1, 1, false },
	{ "from the byte before", -1, 2, false },
	{ "the byte behind", MR_LEN, 1, false },
	{ "one byte too many", 0, MR_LEN + 1, false },
	{ "one byte beyond, from inside", 1, MR_LEN, false },
	{ "a length that wraps to the beginning", 1, U64_MAX, false },
	{ "a length that wraps into it", 5, U64_MAX - 2, false },
	{ "an end at the top of all addresses", 0, -(u64)MR_IOVA, false },
	{ "the whole address space", -(s64)MR_IOVA, U64_MAX, false },
	{ "far below", -(s64)MR_IOVA, 1, false },
	{ "the last byte of all", U64_MAX - MR_IOVA, 1, false },
};

KUNIT_ARRAY_PARAM_DESC(mr_range, mr_ranges, name);

static void mr_range(struct kunit *test)
{
	struct mr_env *e = test->priv;
	const struct mr_range *r = test->param_value;
	struct mroce_mr *mr = mr_reg(test, 50, MR_LEN, MR_IOVA, MR_ALL);
	u64 va = MR_IOVA + r->at;

	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, va, r->len, 0, false),
			r->ok ? IB_WC_SUCCESS : IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, va, r->len, IB_ACCESS_REMOTE_READ, true),
			r->ok ? IB_WC_SUCCESS : IB_WC_REM_ACCESS_ERR);
	mr_dereg(test, mr);
}

/* A region that ends one byte below the top: the sum of its ends must not be made. */
static void mr_range_at_the_top(struct kunit *test)
{
	struct mr_env *e = test->priv;
	u64 iova = U64_MAX - MR_LEN;
	struct mroce_mr *mr = mr_reg(test, 0, MR_LEN, iova, MR_ALL);

	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, iova, MR_LEN, 0, false), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, U64_MAX - 1, 1, 0, false),
			IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, U64_MAX - 1, 2, 0, false),
			IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, U64_MAX, 1, 0, false),
			IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, 0, 1, 0, false), IB_WC_LOC_PROT_ERR);
	mr_dereg(test, mr);
}

/* Every subset of rights against every subset that an access may need. */
static void mr_access(struct kunit *test)
{
	static const int rights[] = {
		IB_ACCESS_LOCAL_WRITE, IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_READ,
		IB_ACCESS_REMOTE_ATOMIC,
	};
	struct mr_env *e = test->priv;
	struct mroce_mr *mr = mr_reg(test, 0, MR_LEN, MR_IOVA, MR_ALL);
	u32 has, needs, i;

	for (has = 0; has < BIT(ARRAY_SIZE(rights)); has++) {
		mr->access = 0;
		for (i = 0; i < ARRAY_SIZE(rights); i++)
			mr->access |= has & BIT(i) ? rights[i] : 0;
		for (needs = 0; needs < BIT(ARRAY_SIZE(rights)); needs++) {
			int access = 0;

			for (i = 0; i < ARRAY_SIZE(rights); i++)
				access |= needs & BIT(i) ? rights[i] : 0;
			KUNIT_EXPECT_EQ_MSG(test, mr_ask(test, e->pd, mr->key, MR_IOVA, 8, access,
							 true),
					    needs & ~has ? IB_WC_REM_ACCESS_ERR : IB_WC_SUCCESS,
					    "has %#x, needs %#x", mr->access, access);
		}
	}
	mr_dereg(test, mr);
}

static void mr_keys(struct kunit *test)
{
	struct mr_env *e = test->priv;
	struct mroce_mr *mr = mr_reg(test, 0, MR_LEN, MR_IOVA, MR_ALL);
	u32 key = mr->key, low;

	KUNIT_EXPECT_NE(test, key >> 8, 0);
	KUNIT_EXPECT_EQ(test, mr->ibmr.lkey, key);
	KUNIT_EXPECT_EQ(test, mr->ibmr.rkey, key);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, key, MR_IOVA, 1, 0, true), IB_WC_SUCCESS);
	for (low = 0; low < 256; low++) {
		u32 other = (key & ~255U) | low;

		if (other != key)
			KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, other, MR_IOVA, 1, 0, true),
					IB_WC_REM_ACCESS_ERR);
	}
	/* indices that nobody has */
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, key + 256, MR_IOVA, 1, 0, false),
			IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, 0, MR_IOVA, 1, 0, false), IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, U32_MAX, MR_IOVA, 1, 0, true),
			IB_WC_REM_ACCESS_ERR);
	/* the right key, and another process' domain */
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->other_pd, key, MR_IOVA, 1, 0, false),
			IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->other_pd, key, MR_IOVA, 1, 0, true),
			IB_WC_REM_ACCESS_ERR);
	/* invalidated, but there */
	WRITE_ONCE(mr->valid, false);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, key, MR_IOVA, 1, 0, true), IB_WC_REM_ACCESS_ERR);
	WRITE_ONCE(mr->valid, true);
	/* a refusal gives its reference back */
	KUNIT_EXPECT_EQ(test, refcount_read(&mr->refs), 1);
	mr_dereg(test, mr);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, key, MR_IOVA, 1, 0, true), IB_WC_REM_ACCESS_ERR);
}

/* The key of all kernel memory: for kernel PDs, locally. */
static void mr_local_dma_key(struct kunit *test)
{
	struct mr_env *e = test->priv;
	struct ib_pd *kernel_pd = mroce_kunit_pd(test, e->dev, false);
	u8 *mem = kunit_kzalloc(test, 64, GFP_KERNEL);
	u64 va = (uintptr_t)mem;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	KUNIT_EXPECT_EQ(test, mr_ask(test, kernel_pd, MROCE_LOCAL_DMA_LKEY, va, 64,
				     IB_ACCESS_LOCAL_WRITE, false), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mr_ask(test, kernel_pd, MROCE_LOCAL_DMA_LKEY, va, 64, 0, true),
			IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, MROCE_LOCAL_DMA_LKEY, va, 64, 0, false),
			IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, kernel_pd, MROCE_LOCAL_DMA_LKEY, va, 64,
				     IB_ACCESS_REMOTE_WRITE, false), IB_WC_LOC_PROT_ERR);
}

static void mr_dma(struct kunit *test)
{
	struct mr_env *e = test->priv;
	struct ib_mr *ibmr = mroce_get_dma_mr(e->pd, IB_ACCESS_LOCAL_WRITE);
	u8 *mem = (u8 *)__get_free_pages(GFP_KERNEL, 1);
	u64 va = (uintptr_t)mem;
	struct mroce_mr *mr;
	struct page *page;
	size_t off;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ibmr);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	mr = to_mmr(ibmr);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, va, 2 * PAGE_SIZE,
				     IB_ACCESS_LOCAL_WRITE, false), IB_WC_SUCCESS);
	/* what wraps, and what is no memory */
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, va, U64_MAX, 0, false),
			IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, va, -va, 0, false), IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, 8, 8, 0, false), IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, U64_MAX - 8, 8, 0, false),
			IB_WC_LOC_PROT_ERR);
	/* page by page */
	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, va + 100, 2000, &page, &off), 2000);
	KUNIT_EXPECT_PTR_EQ(test, page, virt_to_page(mem));
	KUNIT_EXPECT_EQ(test, off, 100);
	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, va + 100, 2 * PAGE_SIZE - 100, &page, &off),
			PAGE_SIZE - 100);
	KUNIT_EXPECT_EQ(test, mroce_mr_page(mr, va + PAGE_SIZE, PAGE_SIZE, &page, &off), PAGE_SIZE);
	KUNIT_EXPECT_PTR_EQ(test, page, virt_to_page(mem + PAGE_SIZE));
	mr_dereg(test, mr);
	free_pages(va, 1);
}

/* ---- registration ---- */

static void mr_registration_refused(struct kunit *test)
{
	struct mr_env *e = test->priv;
	static const struct {
		u64 start, length, iova;	/* start: from the mapping's */
		int access, err;
	} bad[] = {
		{ 0, 0, MR_IOVA, 0, -EINVAL },
		{ 0, U64_MAX, MR_IOVA, 0, -EINVAL },
		{ 0, MR_BYTES, -(u64)MR_BYTES, 0, -EINVAL },	/* ends at 2^64: no va behind it */
		{ 0, MR_BYTES, U64_MAX, 0, -EINVAL },
		{ 0, MR_BYTES + PAGE_SIZE, MR_IOVA, 0, -EFAULT },
		{ 0, 16, MR_IOVA, IB_ACCESS_MW_BIND, -EOPNOTSUPP },
		{ 0, 16, MR_IOVA, IB_ACCESS_ON_DEMAND, -EOPNOTSUPP },
		{ 0, 16, MR_IOVA, IB_ZERO_BASED, -EOPNOTSUPP },
	};
	unsigned long read_only;
	struct ib_mr *mr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		mr = mroce_reg_user_mr(e->pd, e->start + bad[i].start, bad[i].length, bad[i].iova,
				       bad[i].access, NULL);
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(mr), bad[i].err, "row %u", i);
	}
	/* rights that the mapping hasn't */
	read_only = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ, MAP_ANONYMOUS | MAP_SHARED,
				  0);
	KUNIT_ASSERT_NE(test, read_only, 0UL);
	mr = mroce_reg_user_mr(e->pd, read_only, 64, MR_IOVA, IB_ACCESS_LOCAL_WRITE, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mr), -EFAULT);
	/* none of them has left a key behind, nor pages pinned */
	KUNIT_EXPECT_TRUE(test, xa_empty(&e->dev->mrs));
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), 0LL);
}

static void mr_pins(struct kunit *test)
{
	struct mroce_mr *mr = mr_reg(test, PAGE_SIZE - 1, 2, MR_IOVA, MR_ALL);

	KUNIT_EXPECT_EQ(test, mr->npages, 2);
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), 2LL);
	mr_dereg(test, mr);
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), 0LL);
}

/* The old key ends, the new one has the same memory under what was changed. */
static void mr_rereg(struct kunit *test)
{
	struct mr_env *e = test->priv;
	struct mroce_mr *old = mr_reg(test, 9, MR_LEN, MR_IOVA, MR_ALL);
	u32 old_key = old->key;
	struct mroce_mr *mr;
	struct ib_mr *ibmr;

	ibmr = mroce_rereg_user_mr(&old->ibmr, IB_MR_REREG_PD | IB_MR_REREG_ACCESS, 0, 0, 0,
				   IB_ACCESS_REMOTE_READ, e->other_pd, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ibmr);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, old_key, MR_IOVA, 1, 0, true),
			IB_WC_REM_ACCESS_ERR);
	mr_dereg(test, old);
	mr = to_mmr(ibmr);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, mr->key, MR_IOVA, 1, 0, true),
			IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->other_pd, mr->key, MR_IOVA, MR_LEN,
				     IB_ACCESS_REMOTE_READ, true), IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->other_pd, mr->key, MR_IOVA, 1, IB_ACCESS_REMOTE_WRITE,
				     true), IB_WC_REM_ACCESS_ERR);
	mr_walk(test, mr, 9, MR_IOVA, MR_LEN);

	/* one that fails leaves the old one as it is */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR_OR_ZERO(mroce_rereg_user_mr(ibmr, IB_MR_REREG_ACCESS, 0, 0, 0,
							    IB_ACCESS_MW_BIND, NULL, NULL)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR_OR_ZERO(mroce_rereg_user_mr(ibmr, IB_MR_REREG_TRANS, e->start, 0,
							    MR_IOVA, 0, NULL, NULL)));
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->other_pd, mr->key, MR_IOVA, MR_LEN,
				     IB_ACCESS_REMOTE_READ, true), IB_WC_SUCCESS);
	mr_dereg(test, mr);
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), 0LL);
}

/* ---- the end ---- */

struct mr_end {
	struct work_struct work;
	struct mroce_mr *mr;
	struct completion done;
};

static void mr_end_work(struct work_struct *work)
{
	struct mr_end *end = container_of(work, struct mr_end, work);

	mroce_dereg_mr(&end->mr->ibmr, NULL);
	complete(&end->done);
}

/* A reader holds the region: the key dies at once, the memory stays until the reader is done. */
static void mr_dereg_waits(struct kunit *test)
{
	struct mr_env *e = test->priv;
	struct mroce_mr *mr = mr_reg(test, 0, MR_BYTES, MR_IOVA, MR_ALL);
	struct mr_end end = { .mr = mr };
	u32 key = mr->key;
	enum ib_wc_status status;

	KUNIT_ASSERT_PTR_EQ(test, mr, mroce_mr_get(e->dev, e->pd, key, MR_IOVA, 8, 0, true,
						   &status));
	init_completion(&end.done);
	INIT_WORK_ONSTACK(&end.work, mr_end_work);
	schedule_work(&end.work);

	KUNIT_ASSERT_EQ(test, 0UL, wait_for_completion_timeout(&end.done, HZ / 5));
	KUNIT_EXPECT_EQ(test, mr_ask(test, e->pd, key, MR_IOVA, 8, 0, true), IB_WC_REM_ACCESS_ERR);
	mr_walk(test, mr, 0, MR_IOVA, MR_BYTES);
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), (s64)MR_PAGES);

	mroce_mr_put(mr);
	wait_for_completion(&end.done);
	destroy_work_on_stack(&end.work);
	KUNIT_EXPECT_EQ(test, atomic64_read(&current->mm->pinned_vm), 0LL);
}

static struct kunit_case mr_cases[] = {
	KUNIT_CASE_PARAM(mr_translation, mr_place_gen_params),
	KUNIT_CASE(mr_folios),
	KUNIT_CASE_PARAM(mr_range, mr_range_gen_params),
	KUNIT_CASE(mr_range_at_the_top),
	KUNIT_CASE(mr_access),
	KUNIT_CASE(mr_keys),
	KUNIT_CASE(mr_local_dma_key),
	KUNIT_CASE(mr_dma),
	KUNIT_CASE(mr_registration_refused),
	KUNIT_CASE(mr_pins),
	KUNIT_CASE(mr_rereg),
	KUNIT_CASE(mr_dereg_waits),
	{}
};

static struct kunit_suite mr_suite = {
	.name = "metaroce_mr",
	.init = mr_init,
	.test_cases = mr_cases,
};

kunit_test_suite(mr_suite);
