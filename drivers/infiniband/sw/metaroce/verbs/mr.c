// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions: keys, checks, and the flat array of pages.
 *
 * A key is (index << 8 | a byte). Lookups run under RCU and take a reference for
 * the time of one copy. To end a region its key is killed, then the references
 * drain: no copy touches memory that was given back.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>

#include "internal.h"

/* The index is the upper 24 bits of a key; 0 is MROCE_LOCAL_DMA_LKEY's. */
#define MROCE_MR_LIMIT	XA_LIMIT(1, (1 << 24) - 1)

/* What a registration may ask for; hints that change nothing here are accepted. */
#define MROCE_MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

static struct mroce_mr *mroce_mr_alloc(struct mroce_dev *dev, struct ib_pd *pd, int access)
{
	struct mroce_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	mr->dev = dev;
	mr->pd = pd;
	mr->access = access;
	refcount_set(&mr->refs, 1);
	init_completion(&mr->idle);
	return mr;
}

/* Gives the region its key and makes it visible. */
static int mroce_mr_publish(struct mroce_mr *mr)
{
	struct mroce_dev *dev = mr->dev;
	u32 index;
	int err;

	err = xa_alloc_cyclic(&dev->mrs, &index, NULL, MROCE_MR_LIMIT, &dev->next_mr_key,
			      GFP_KERNEL);
	if (err < 0)
		return err;
	/* a stale key of the index' last user most likely differs in this byte */
	mr->key = index << 8 | get_random_u8();
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	err = xa_err(xa_store(&dev->mrs, index, mr, GFP_KERNEL));
	if (err)
		xa_erase(&dev->mrs, index);
	return err;
}

/* Kills the key and waits until nobody uses the memory. May sleep. */
static void mroce_mr_unpublish(struct mroce_mr *mr)
{
	WRITE_ONCE(mr->valid, false);
	xa_erase(&mr->dev->mrs, mr->key >> 8);
	mroce_mr_put(mr);
	wait_for_completion(&mr->idle);
}

static void mroce_mr_free(struct mroce_mr *mr)
{
	ib_umem_release(mr->umem);
	kvfree(mr->pages);
	kfree_rcu(mr, rcu);
}

/* The region behind MROCE_LOCAL_DMA_LKEY: it is not published, and freed by kfree(). */
struct mroce_mr *mroce_mr_alloc_local_dma(struct mroce_dev *dev)
{
	struct mroce_mr *mr = mroce_mr_alloc(dev, NULL, IB_ACCESS_LOCAL_WRITE);

	if (!mr)
		return NULL;
	mr->key = MROCE_LOCAL_DMA_LKEY;
	mr->length = U64_MAX;
	mr->dma = true;
	mr->valid = true;
	return mr;
}

struct ib_mr *mroce_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct mroce_mr *mr;
	int err;

	if (access & ~MROCE_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mroce_mr_alloc(to_mdev(ibpd->device), ibpd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->length = U64_MAX;
	mr->dma = true;
	mr->valid = true;
	err = mroce_mr_publish(mr);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/* Pins [@start, @start + @length) and makes it the memory of @mr, which nobody sees yet. */
static int mroce_mr_pin(struct mroce_mr *mr, u64 start, u64 length, u64 iova, int access)
{
	struct sg_page_iter iter;
	struct ib_umem *umem;
	struct page **pages;
	size_t npages;
	u32 i = 0;

	if (!length || start + length < start || iova + length < iova)
		return -EINVAL;
	umem = ib_umem_get(&mr->dev->ibdev, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);

	npages = ib_umem_num_pages(umem);
	pages = npages <= U32_MAX ? kvmalloc_array(npages, sizeof(*pages), GFP_KERNEL_ACCOUNT) :
				    NULL;
	if (!pages) {
		ib_umem_release(umem);
		return -ENOMEM;
	}
	for_each_sgtable_page(&umem->sgt_append.sgt, &iter, 0) {
		if (WARN_ON_ONCE(i == npages))
			break;
		pages[i++] = sg_page_iter_page(&iter);
	}

	mr->umem = umem;
	mr->pages = pages;
	mr->npages = i;
	mr->first_off = ib_umem_offset(umem);
	mr->iova = iova;
	mr->length = length;
	mr->access = access;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	return 0;
}

struct ib_mr *mroce_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
				struct ib_udata *udata)
{
	struct mroce_mr *mr;
	int err;

	if (access & ~MROCE_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mroce_mr_alloc(to_mdev(ibpd->device), ibpd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mroce_mr_pin(mr, start, length, iova, access);
	if (err)
		goto err_free;
	mr->valid = true;
	err = mroce_mr_publish(mr);
	if (err)
		goto err_free;
	return &mr->ibmr;

err_free:
	mroce_mr_free(mr);
	return ERR_PTR(err);
}

/* A region with the memory of @old, which ends, under other rights or for another PD. */
static struct ib_mr *mroce_mr_inherit(struct mroce_mr *old, struct ib_pd *pd, int access)
{
	struct mroce_mr *mr = mroce_mr_alloc(old->dev, pd, access);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = old->umem;
	mr->pages = old->pages;
	mr->npages = old->npages;
	mr->first_off = old->first_off;
	mr->iova = old->iova;
	mr->length = old->length;
	mr->ibmr.iova = old->iova;
	mr->ibmr.length = old->length;
	mr->valid = true;
	err = mroce_mr_publish(mr);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	mroce_mr_unpublish(old);
	old->key = 0;
	old->umem = NULL;
	old->pages = NULL;
	return &mr->ibmr;
}

/*
 * Always makes a new region, whose key is another one, as it may be. The core
 * puts it into the handle and deregisters the old one. On failure the old one is
 * untouched.
 */
struct ib_mr *mroce_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				  int access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct mroce_mr *old = to_mmr(ibmr);

	if (flags & ~IB_MR_REREG_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	if (!old->umem)
		return ERR_PTR(-EINVAL);

	if (!(flags & IB_MR_REREG_PD))
		pd = old->pd;
	if (!(flags & IB_MR_REREG_ACCESS))
		access = old->access;
	if (access & ~MROCE_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (flags & IB_MR_REREG_TRANS)
		return mroce_reg_user_mr(pd, start, length, iova, access, udata);
	/* pages pinned for reading can't be written to: they need pinning anew */
	if (ib_access_writable(access) && !old->umem->writable)
		return mroce_reg_user_mr(pd, old->umem->address, old->length, old->iova, access,
					 udata);
	return mroce_mr_inherit(old, pd, access);
}

int mroce_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct mroce_mr *mr = to_mmr(ibmr);

	/* 0: mroce_mr_inherit() has ended it */
	if (mr->key)
		mroce_mr_unpublish(mr);
	mroce_mr_free(mr);
	return 0;
}

static struct mroce_mr *mroce_mr_find(struct mroce_dev *dev, struct ib_pd *pd, u32 key,
				      bool remote)
{
	struct mroce_mr *mr;

	if (key == MROCE_LOCAL_DMA_LKEY) {
		/* all of the kernel's memory: for the kernel's own queues only */
		if (remote || pd->uobject)
			return NULL;
		mr = dev->local_dma;
		refcount_inc(&mr->refs);
		return mr;
	}

	rcu_read_lock();
	mr = xa_load(&dev->mrs, key >> 8);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	/* whoever invalidates clears @valid first and looks at @refs then */
	smp_mb__after_atomic();
	return mr;
}

static bool mroce_mr_covers(const struct mroce_mr *mr, u64 va, u64 len)
{
	if (mr->dma)
		return va + len > va && virt_addr_valid((void *)(uintptr_t)va) &&
		       virt_addr_valid((void *)(uintptr_t)(va + len - 1));
	/* no sums: they could wrap */
	return va >= mr->iova && len <= mr->length && va - mr->iova <= mr->length - len;
}

struct mroce_mr *mroce_mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 key, u64 va,
			      u64 len, int access, bool remote, enum ib_wc_status *status)
{
	struct mroce_mr *mr;

	*status = IB_WC_SUCCESS;
	if (!len)
		return NULL;

	mr = mroce_mr_find(dev, pd, key, remote);
	if (mr) {
		if (READ_ONCE(mr->valid) && READ_ONCE(mr->key) == key &&
		    (mr == dev->local_dma || mr->pd == pd) && (mr->access & access) == access &&
		    mroce_mr_covers(mr, va, len))
			return mr;
		mroce_mr_put(mr);
	}
	*status = remote ? IB_WC_REM_ACCESS_ERR : IB_WC_LOC_PROT_ERR;
	return NULL;
}

void mroce_mr_put(struct mroce_mr *mr)
{
	if (mr && refcount_dec_and_test(&mr->refs))
		complete(&mr->idle);
}

/* How much of [@off, @off + @len) from @page on lies in one folio and one piece of the array. */
static size_t mroce_mr_extent(const struct mroce_mr *mr, size_t index, struct page *page,
			      size_t off, size_t len)
{
	struct folio *folio = page_folio(page);
	size_t n = PAGE_SIZE - off;

	if (!folio_test_large(folio))
		return min(n, len);
	while (n < len && ++index < mr->npages && mr->pages[index] == page + 1 &&
	       page_folio(page + 1) == folio) {
		page++;
		n += PAGE_SIZE;
	}
	return min(n, len);
}

size_t mroce_mr_page(const struct mroce_mr *mr, u64 va, size_t len, struct page **page,
		     size_t *off)
{
	size_t pos;

	if (mr->dma) {
		*page = virt_to_page((void *)(uintptr_t)va);
		*off = offset_in_page(va);
		return min(len, PAGE_SIZE - *off);
	}
	pos = va - mr->iova + mr->first_off;
	*page = mr->pages[pos >> PAGE_SHIFT];
	*off = offset_in_page(pos);
	return mroce_mr_extent(mr, pos >> PAGE_SHIFT, *page, *off, len);
}
