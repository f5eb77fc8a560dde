// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rings that are shared with user space.
 *
 * A ring's memory belongs to its mmap entry. The pages that a process has mapped
 * are referenced by its page tables, and the VMA has no operations of ours: so
 * mappings outlive queue, device and module without harm.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "internal.h"

struct mroce_mmap_entry {
	struct rdma_user_mmap_entry rdma;
	void *mem;
};

/**
 * mroce_ring_create - make a ring and offer it to a process for mapping
 * @ring: filled in
 * @udata: of the command that creates the queue
 * @entries: a power of two
 * @entry_size: bytes of a slot
 * @info: filled in, for the response
 *
 * Return: 0 or -errno.
 */
int mroce_ring_create(struct mroce_ring *ring, struct ib_udata *udata, u32 entries, u32 entry_size,
		      struct mroce_ring_info *info)
{
	struct mroce_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct mroce_ucontext, ibuc);
	size_t size = PAGE_ALIGN(MROCE_RING_HEADER_SIZE + (size_t)entries * entry_size);
	struct mroce_mmap_entry *entry;
	int err;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->mem = vmalloc_user(size);
	if (!entry->mem) {
		err = -ENOMEM;
		goto err_entry;
	}
	err = rdma_user_mmap_entry_insert(&uctx->ibuc, &entry->rdma, size);
	if (err)
		goto err_mem;

	ring->hdr = entry->mem;
	ring->slots = entry->mem + MROCE_RING_HEADER_SIZE;
	ring->entries = entries;
	ring->entry_size = entry_size;
	ring->mmap = &entry->rdma;

	*info = (struct mroce_ring_info) {
		.mmap_offset = rdma_user_mmap_get_offset(&entry->rdma),
		.mmap_size = size,
		.entries = entries,
		.entry_size = entry_size,
	};
	return 0;

err_mem:
	vfree(entry->mem);
err_entry:
	kfree(entry);
	return err;
}

/* Harmless for a ring that was never made. The kernel must not use it any more. */
void mroce_ring_destroy(struct mroce_ring *ring)
{
	if (ring->mmap)
		rdma_user_mmap_entry_remove(ring->mmap);
	memset(ring, 0, sizeof(*ring));
}

/* The last user of the entry is gone: the queue, and calls of mroce_mmap(). */
void mroce_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct mroce_mmap_entry *entry = container_of(rdma, struct mroce_mmap_entry, rdma);

	vfree(entry->mem);
	kfree(entry);
}

int mroce_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma;
	int err;

	/* also checks that the size is the ring's */
	rdma = rdma_user_mmap_entry_get(ibuc, vma);
	if (!rdma)
		return -EINVAL;
	err = remap_vmalloc_range(vma, container_of(rdma, struct mroce_mmap_entry, rdma)->mem, 0);
	rdma_user_mmap_entry_put(rdma);
	return err;
}
