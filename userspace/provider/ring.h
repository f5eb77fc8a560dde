/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The mmap'ed rings shared with the kernel: one side produces, the other
 * consumes, and each writes only its own index. See metaroce-abi.h.
 *
 *   consumer        producer
 *      v               v
 *   |..|####|####|####|....|....|   # owned by the consumer of the ring
 *
 * A slot is filled before the producer index is released, and read after it is
 * acquired; a slot is reused after the consumer index is acquired.
 *
 * The pages belong to the kernel (vmalloc'ed, mapped shared), so fork needs no
 * madvise(DONTFORK): there is no copy-on-write that could take them away from
 * the device.
 */
#ifndef MROCE_RING_H
#define MROCE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/metaroce-abi.h>

struct mroce_ring {
	struct mroce_ring_header *hdr;	/* NULL: no ring */
	uint8_t *slots;
	uint32_t entries;		/* a power of two */
	uint32_t entry_size;
	uint32_t pos;			/* our own index; free running */
	uint32_t peer;			/* the other's index when last looked at */
	size_t map_size;
};

/*
 * Is this a ring that we can use? @min_entry: the least bytes of a slot that
 * the caller reads or writes.
 */
static inline bool mroce_ring_info_ok(const struct mroce_ring_info *info,
				      size_t min_entry)
{
	uint64_t need = MROCE_RING_HEADER_SIZE +
			(uint64_t)info->entries * info->entry_size;

	return info->entries && !(info->entries & (info->entries - 1)) &&
	       info->entries <= UINT32_C(1) << 31 &&
	       info->entry_size >= min_entry && !(info->entry_size & 7) &&
	       info->mmap_size >= need;
}

static inline void mroce_ring_init(struct mroce_ring *ring, void *base,
				   const struct mroce_ring_info *info)
{
	ring->hdr = (struct mroce_ring_header *)base;
	ring->slots = (uint8_t *)base + MROCE_RING_HEADER_SIZE;
	ring->entries = info->entries;
	ring->entry_size = info->entry_size;
	ring->map_size = info->mmap_size;
	ring->pos = 0;
	ring->peer = 0;
}

static inline void *mroce_ring_slot(const struct mroce_ring *ring, uint32_t idx)
{
	return ring->slots +
	       (size_t)(idx & (ring->entries - 1)) * ring->entry_size;
}

/* Producer: may slot @idx be written? @idx is @pos or a little ahead of it. */
static inline bool mroce_ring_has_room(struct mroce_ring *ring, uint32_t idx)
{
	if (idx - ring->peer < ring->entries)
		return true;
	ring->peer = __atomic_load_n(&ring->hdr->consumer, __ATOMIC_ACQUIRE);
	return idx - ring->peer < ring->entries;
}

/* Producer: hands over everything below @idx. */
static inline void mroce_ring_publish(struct mroce_ring *ring, uint32_t idx)
{
	ring->pos = idx;
	__atomic_store_n(&ring->hdr->producer, idx, __ATOMIC_RELEASE);
}

/*
 * Producer, after mroce_ring_publish(): does the kernel want a doorbell? It
 * sets the flag and then looks for work; we add work and then look at the flag;
 * with a full barrier on both sides one of the two sees the other.
 */
static inline bool mroce_ring_wants_doorbell(const struct mroce_ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->hdr->flags, __ATOMIC_RELAXED) &
	       MROCE_RING_F_NEED_DOORBELL;
}

/* Producer: the kernel has emptied the ring and set both indices (RESET). */
static inline void mroce_ring_reload(struct mroce_ring *ring)
{
	ring->peer = __atomic_load_n(&ring->hdr->consumer, __ATOMIC_ACQUIRE);
	ring->pos = __atomic_load_n(&ring->hdr->producer, __ATOMIC_ACQUIRE);
}

/* Consumer: a ring that may already have entries (a resized CQ). */
static inline void mroce_ring_reload_consumer(struct mroce_ring *ring)
{
	ring->pos = __atomic_load_n(&ring->hdr->consumer, __ATOMIC_ACQUIRE);
	ring->peer = ring->pos;
}

/* Consumer: the slot at @pos, or NULL when the ring is empty. */
static inline void *mroce_ring_peek(struct mroce_ring *ring)
{
	if (ring->pos == ring->peer) {
		ring->peer = __atomic_load_n(&ring->hdr->producer,
					     __ATOMIC_ACQUIRE);
		if (ring->pos == ring->peer)
			return NULL;
	}
	return mroce_ring_slot(ring, ring->pos);
}

/* Consumer: gives back everything below @pos. */
static inline void mroce_ring_release(struct mroce_ring *ring)
{
	__atomic_store_n(&ring->hdr->consumer, ring->pos, __ATOMIC_RELEASE);
}

#endif /* MROCE_RING_H */
