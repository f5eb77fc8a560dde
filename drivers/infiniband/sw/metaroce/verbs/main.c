// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The module's beginning and end. */
#include <linux/module.h>

#include "../engine/engine.h"
#include "../net/net.h"
#include "../nl/nl.h"
#include "internal.h"

MODULE_AUTHOR("The metaroce authors");
MODULE_DESCRIPTION("Multipath RDMA over Ethernet in software");
MODULE_LICENSE("Dual BSD/GPL");

struct workqueue_struct *mroce_wq;

static int __init mroce_init(void)
{
	int err;

	/* ULPs on the way to free memory (NFS, NVMe) wait for QPs to be flushed */
	mroce_wq = alloc_workqueue(MROCE_NAME, WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!mroce_wq)
		return -ENOMEM;

	err = mroce_engine_init();
	if (err)
		goto err_wq;

	err = mroce_net_init();
	if (err)
		goto err_engine;

	err = mroce_nl_init();
	if (err)
		goto err_net;

	err = mroce_link_init();
	if (err)
		goto err_nl;
	return 0;

err_nl:
	mroce_nl_exit();
err_net:
	mroce_net_exit();
err_engine:
	mroce_engine_exit();
err_wq:
	destroy_workqueue(mroce_wq);
	return err;
}

static void __exit mroce_exit(void)
{
	mroce_link_exit();
	mroce_nl_exit();
	mroce_net_exit();
	mroce_engine_exit();
	destroy_workqueue(mroce_wq);
	/* regions are freed by RCU */
	rcu_barrier();
}

module_init(mroce_init);
module_exit(mroce_exit);
