// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events, to the multicast group "events" of the device's network namespace. They come about under
 * the locks of connections; a work sends them.
 */
#include <linux/kfifo.h>

#include "internal.h"

#define EVENTS_MAX	256	/* that wait */

struct event {
	struct mroce_dev *dev;		/* lives: mroce_nl_flush_events() */
	u8 cmd;				/* MROCE_CMD_CONN_EVENT or MROCE_CMD_PATH_EVENT */
	struct mroce_conn_id conn;	/* paths: cid and dst only */
	struct {
		u32 id;
		u16 sport;
		u8 state, old_state;
	} path;
};

static DEFINE_KFIFO(events, struct event, EVENTS_MAX);
static DEFINE_SPINLOCK(events_lock);	/* a leaf, BH off */

static int put_path(struct sk_buff *skb, const struct event *e)
{
	if (nla_put_u32(skb, MROCE_A_PATH_CID, e->conn.cid) ||
	    nla_put_u32(skb, MROCE_A_PATH_ID, e->path.id) ||
	    nla_put_u16(skb, MROCE_A_PATH_SPORT, e->path.sport) ||
	    nla_put_u32(skb, MROCE_A_PATH_STATE, e->path.state) ||
	    nla_put_u32(skb, MROCE_A_PATH_OLD_STATE, e->path.old_state) ||
	    mroce_nl_put_addr(skb, &e->conn.dst, MROCE_A_PATH_DADDR4, MROCE_A_PATH_DADDR6))
		return -EMSGSIZE;
	return 0;
}

static struct sk_buff *build(const struct event *e)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *hdr;

	if (!skb)
		return NULL;
	hdr = genlmsg_put(skb, 0, 0, &mroce_nl_family, 0, e->cmd);
	if (!hdr || mroce_nl_put_dev(skb, e->dev) ||
	    (e->cmd == MROCE_CMD_CONN_EVENT ? mroce_nl_put_conn_id(skb, &e->conn) :
					      put_path(skb, e))) {
		nlmsg_free(skb);
		return NULL;
	}
	genlmsg_end(skb, hdr);
	return skb;
}

static void send(const struct event *e)
{
	struct sk_buff *skb;
	int err;

	/* it has been given to another namespace of the RDMA subsystem */
	if (!mroce_dev_visible(e->dev, e->dev->net))
		return;
	skb = build(e);
	err = skb ? genlmsg_multicast_netns(&mroce_nl_family, e->dev->net, skb, 0,
					    METAROCE_NLGRP_EVENTS, GFP_KERNEL) : -ENOMEM;
	/* -ESRCH: whoever listened has gone */
	if (err && err != -ESRCH)
		atomic64_inc(&e->dev->events_dropped);
}

static void send_events(struct work_struct *work)
{
	struct event e;
	bool got;

	do {
		spin_lock_bh(&events_lock);
		got = kfifo_get(&events, &e);
		spin_unlock_bh(&events_lock);
		if (got)
			send(&e);
		cond_resched();
	} while (got);
}

static DECLARE_WORK(events_work, send_events);

static void queue(const struct event *e)
{
	bool room;

	spin_lock(&events_lock);
	room = kfifo_put(&events, *e);
	spin_unlock(&events_lock);
	if (room)
		queue_work(system_unbound_wq, &events_work);
	else
		atomic64_inc(&e->dev->events_dropped);
}

bool mroce_nl_listened(const struct mroce_dev *dev)
{
	return genl_has_listeners(&mroce_nl_family, dev->net, METAROCE_NLGRP_EVENTS);
}

void mroce_nl_conn_event(struct mroce_dev *dev, const struct mroce_conn_id *id)
{
	struct event e = {
		.dev = dev,
		.cmd = MROCE_CMD_CONN_EVENT,
		.conn = *id,
	};

	queue(&e);
}

void mroce_nl_path_event(struct mroce_dev *dev, u32 cid, const struct mroce_addr *peer,
			 const struct mroce_path_info *path)
{
	struct event e = {
		.dev = dev,
		.cmd = MROCE_CMD_PATH_EVENT,
		.conn.cid = cid,
		.conn.dst = *peer,
		.path.id = path->id,
		.path.sport = path->sport,
		.path.state = path->state,
		.path.old_state = path->old_state,
	};

	queue(&e);
}

void mroce_nl_flush_events(void)
{
	flush_work(&events_work);
}
