// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory for more packets and paths under way, which only a process may ask for (core/grow.c). It
 * is an improvement, never a need: nobody is killed for it, and all connections together take no
 * more than a part of the machine's memory.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

#define PART_OF_RAM	16

static atomic_long_t taken;	/* bytes, of all connections */

void mroce_econn_grow(struct mroce_econn *econn)
{
	mroce_assert_conn(econn);
	/* not mroce_wq: that one must go on when memory is short */
	if (!econn->gone)
		queue_work(system_unbound_wq, &econn->grow_work);
}

static bool take(long bytes)
{
	long limit = totalram_pages() / PART_OF_RAM * PAGE_SIZE;

	if (atomic_long_add_return(bytes, &taken) <= limit)
		return true;
	atomic_long_sub(bytes, &taken);
	return false;
}

/* Its larger memory, if it had any, is about to be freed. Nobody else has the connection. */
void mroce_econn_shrink(struct mroce_econn *econn)
{
	atomic_long_sub(econn->grown_bytes, &taken);
	econn->grown_bytes = 0;
}

static void *allocate(struct mroce_econn *econn, u32 window, u32 paths)
{
	size_t size = mroce_txmem_size(window, paths);
	long more = size - econn->grown_bytes;
	void *mem;

	if (!take(more))
		return NULL;
	mem = kvzalloc(size, GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!mem) {
		atomic_long_sub(more, &taken);
		return NULL;
	}
	econn->grown_bytes = size;
	mroce_txmem_prepare(mem, window, paths);
	return mem;
}

void mroce_econn_grow_work(struct work_struct *work)
{
	struct mroce_econn *econn = container_of(work, struct mroce_econn, grow_work);
	struct mroce_conn *c = &econn->conn;
	u32 window, paths;
	void *mem;

	spin_lock_bh(&econn->lock);
	window = c->want_window;
	paths = c->want_paths;
	spin_unlock_bh(&econn->lock);

	mem = allocate(econn, window, paths);
	spin_lock_bh(&econn->lock);
	if (mem)
		mem = mroce_conn_grow(c, mem, window, paths);
	else
		mroce_conn_no_growth(c, mroce_now());
	spin_unlock_bh(&econn->lock);
	kvfree(mem);

	local_bh_disable();
	mroce_econn_pump(econn, mroce_now());
	local_bh_enable();
}
