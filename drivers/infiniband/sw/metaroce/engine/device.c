// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Devices as the engine sees them: who has which address, counters, the end. */
#include <linux/rculist.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "internal.h"

struct mroce_dev_entry {
	struct list_head node;
	struct mroce_dev *dev;
	struct rcu_head rcu;
};

static LIST_HEAD(entries);
static DEFINE_SPINLOCK(entries_lock);	/* protects writing the list */

void mroce_addr_to_gid(const struct mroce_addr *addr, union ib_gid *gid)
{
	if (addr->family == MROCE_AF_INET)
		ipv6_addr_set_v4mapped(addr->v4, (struct in6_addr *)gid->raw);
	else
		memcpy(gid->raw, addr->v6, sizeof(gid->raw));
}

void mroce_send_once(struct mroce_dev *dev, struct mroce_route *rt, const u8 *data,
		     unsigned int len)
{
	if (!mroce_route_refresh(dev->np, rt))
		mroce_net_send(dev->np, rt, MROCE_UDP_PORT, MROCE_UDP_PORT, false, data, len);
	mroce_route_drop(rt);
}

static bool has_addr(struct mroce_dev *dev, const struct mroce_addr *addr)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	union ib_gid gid;
	bool found;

	mroce_addr_to_gid(addr, &gid);
	attr = rdma_find_gid(&dev->ibdev, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, NULL);
	if (IS_ERR(attr))
		return false;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	/* a link-local address belongs to one netdev only */
	found = !addr->scope_id || (!IS_ERR(ndev) && ndev->ifindex == addr->scope_id);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return found;
}

/**
 * mroce_dev_find - the device of an address
 * @np: sockets that a packet came in by
 * @addr: own address
 *
 * Softirq. Return: device with a reference, mroce_dev_put(); or NULL.
 */
struct mroce_dev *mroce_dev_find(struct mroce_net_port *np, const struct mroce_addr *addr)
{
	struct mroce_dev_entry *e;
	struct mroce_dev *dev = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(e, &entries, node) {
		if (READ_ONCE(e->dev->np) != np || READ_ONCE(e->dev->closing) ||
		    !ib_device_try_get(&e->dev->ibdev))
			continue;
		if (has_addr(e->dev, addr)) {
			dev = e->dev;
			break;
		}
		ib_device_put(&e->dev->ibdev);
	}
	rcu_read_unlock();
	return dev;
}

void mroce_dev_put(struct mroce_dev *dev)
{
	ib_device_put(&dev->ibdev);
}

/* Counts at the device of @addr; packets for nobody's address are nobody's business. Softirq. */
void mroce_count_at(struct mroce_net_port *np, const struct mroce_addr *addr,
		    enum mroce_counter id)
{
	struct mroce_dev *dev = mroce_dev_find(np, addr);

	if (!dev)
		return;
	mroce_count(dev, id);
	mroce_dev_put(dev);
}

int mroce_engine_dev_init(struct mroce_dev *dev)
{
	struct mroce_dev_entry *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e)
		return -ENOMEM;
	spin_lock_init(&dev->conns_lock);
	INIT_LIST_HEAD(&dev->conns);
	dev->dying = false;
	dev->nconns = 0;
	init_waitqueue_head(&dev->conns_wq);
	do {
		dev->device_id = get_random_u64();
	} while (!dev->device_id);
	dev->epoch = get_random_u32();
	mroce_params_default(&dev->params);
	e->dev = dev;
	spin_lock_bh(&entries_lock);
	list_add_tail_rcu(&e->node, &entries);
	spin_unlock_bh(&entries_lock);
	return 0;
}

static void forget(struct mroce_dev *dev)
{
	struct mroce_dev_entry *e;

	spin_lock_bh(&entries_lock);
	list_for_each_entry(e, &entries, node) {
		if (e->dev != dev)
			continue;
		list_del_rcu(&e->node);
		kfree_rcu(e, rcu);
		break;
	}
	spin_unlock_bh(&entries_lock);
	/* nobody looks at the device through the list any more */
	synchronize_rcu();
}

void mroce_engine_dev_exit(struct mroce_dev *dev)
{
	struct mroce_econn *econn;

	forget(dev);
	spin_lock_bh(&dev->conns_lock);
	dev->dying = true;
	spin_unlock_bh(&dev->conns_lock);
	mroce_hs_flush();
	for (;;) {
		spin_lock_bh(&dev->conns_lock);
		econn = list_first_entry_or_null(&dev->conns, struct mroce_econn, node);
		if (econn)
			refcount_inc(&econn->refs);
		spin_unlock_bh(&dev->conns_lock);
		if (!econn)
			break;
		mroce_econn_unlist(econn);
		mroce_econn_put(econn);
	}
	/* receive paths that still hold a connection drop it within an RCU period */
	wait_event(dev->conns_wq, !READ_ONCE(dev->nconns));
	spin_lock_bh(&dev->conns_lock);
	spin_unlock_bh(&dev->conns_lock);
	mroce_nl_flush_events();
}

u64 mroce_engine_counter(struct mroce_dev *dev, enum mroce_counter id)
{
	struct mroce_econn *econn;
	u64 sum = atomic64_read(&dev->counters[id]);
	struct mroce_net_stats st;

	if (id == MROCE_CNT_RX_CSUM) {
		/* of all devices of the netns: a damaged packet names nobody */
		mroce_net_port_stats(dev->np, &st);
		return sum + st.csum + st.no_csum;
	}
	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(econn, &dev->conns, node)
		sum += READ_ONCE(econn->conn.counters[id]);
	spin_unlock_bh(&dev->conns_lock);
	return sum;
}

void mroce_engine_netdev_changed(struct mroce_dev *dev)
{
	struct mroce_econn *econn;

	/* routes read MTU, carrier and limits at each use; what is left is the payload size */
	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(econn, &dev->conns, node) {
		tasklet_schedule(&econn->tasklet);
		mroce_ways_changed(econn);
	}
	spin_unlock_bh(&dev->conns_lock);
}
