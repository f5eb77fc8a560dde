// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory for more packets and paths under way, which only a process may ask for. core/grow.c */
#include <linux/slab.h>

#include "internal.h"

void mroce_econn_grow(struct mroce_econn *econn)
{
	mroce_assert_conn(econn);
	if (!econn->gone)
		queue_work(mroce_wq, &econn->grow_work);
}

void mroce_econn_grow_work(struct work_struct *work)
{
	struct mroce_econn *econn = container_of(work, struct mroce_econn, grow_work);
	struct mroce_conn *c = &econn->conn;
	u32 window, paths;
	u64 now;
	void *mem;

	spin_lock_bh(&econn->lock);
	window = c->want_window;
	paths = c->want_paths;
	spin_unlock_bh(&econn->lock);

	mem = kvzalloc(mroce_txmem_size(window, paths), GFP_KERNEL | __GFP_NOWARN);
	now = mroce_now();
	spin_lock_bh(&econn->lock);
	if (mem)
		mem = mroce_conn_grow(c, mem, window, paths);
	else
		mroce_conn_no_growth(c, now);
	spin_unlock_bh(&econn->lock);
	kvfree(mem);

	local_bh_disable();
	mroce_econn_pump(econn, now);
	local_bh_enable();
}
