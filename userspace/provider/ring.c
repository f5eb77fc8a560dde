// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Mapping of rings. */
#include <errno.h>
#include <sys/mman.h>

#include "metaroce.h"

int mroce_ring_map(struct mroce_ring *ring, int cmd_fd,
		   const struct mroce_ring_info *info, size_t min_entry)
{
	void *base;

	if (!mroce_ring_info_ok(info, min_entry))
		return EPROTO;

	base = mmap(NULL, info->mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    cmd_fd, (off_t)info->mmap_offset);
	if (base == MAP_FAILED)
		return errno;

	mroce_ring_init(ring, base, info);
	return 0;
}

void mroce_ring_unmap(struct mroce_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->map_size);
	ring->hdr = NULL;
}
