// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Connections: conn-get, and finding the one that a request for something in it names. */
#include <linux/slab.h>

#include "internal.h"

static_assert((int)MROCE_NL_CONN_CONNECTING == MROCE_CONN_CONNECTING);
static_assert((int)MROCE_NL_CONN_UP == MROCE_CONN_UP);
static_assert((int)MROCE_NL_CONN_DEAD == MROCE_CONN_DEAD);

/* Takes a reference on its device, too, if @net sees that and it is not ending. */
static bool hold(const struct net *net, struct mroce_econn *econn)
{
	struct mroce_dev *dev = mroce_engine_conn_dev(econn);

	return mroce_dev_visible(dev, net) && ib_device_try_get(&dev->ibdev);
}

void mroce_nl_put_conn(struct mroce_econn *econn)
{
	struct mroce_dev *dev = mroce_engine_conn_dev(econn);

	mroce_engine_conn_put(econn);
	ib_device_put(&dev->ibdev);
}

struct mroce_econn *mroce_nl_find_conn(const struct net *net, struct nlattr **attrs,
				       struct netlink_ext_ack *extack)
{
	const struct nlattr *cid = attrs[MROCE_A_CONN_CID];
	struct mroce_dev *dev = NULL;
	struct mroce_econn *econn;

	if (!cid) {
		NL_SET_ERR_MSG(extack, "a connection's id is needed");
		return ERR_PTR(-EINVAL);
	}
	if (attrs[MROCE_A_CONN_DEV_INDEX] || attrs[MROCE_A_CONN_DEV_NAME]) {
		dev = mroce_nl_find_dev(net, attrs[MROCE_A_CONN_DEV_INDEX],
					attrs[MROCE_A_CONN_DEV_NAME], extack);
		if (IS_ERR(dev))
			return ERR_CAST(dev);
		ib_device_put(&dev->ibdev);	/* from here on only compared */
	}
	econn = mroce_engine_conn_get(nla_get_u32(cid));
	if (econn && (!dev || mroce_engine_conn_dev(econn) == dev) && hold(net, econn))
		return econn;
	if (econn)
		mroce_engine_conn_put(econn);
	NL_SET_ERR_MSG_ATTR(extack, cid, "no such connection");
	return ERR_PTR(-ENOENT);
}

struct mroce_nl_conn_dump *mroce_nl_conn_dump_start(const struct net *net,
						    struct netlink_callback *cb)
{
	struct mroce_nl_conn_dump *dump = (void *)cb->ctx;
	struct nlattr **attrs = mroce_genl_dump_attrs(cb);
	struct mroce_econn *econn;
	struct mroce_dev *dev;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	if (dump->started)
		return dump;
	if (attrs[MROCE_A_CONN_DEV_INDEX] || attrs[MROCE_A_CONN_DEV_NAME]) {
		dev = mroce_nl_find_dev(net, attrs[MROCE_A_CONN_DEV_INDEX],
					attrs[MROCE_A_CONN_DEV_NAME], cb->extack);
		if (IS_ERR(dev))
			return ERR_CAST(dev);
		dump->dev_index = dev->ibdev.index;
		dump->one_dev = true;
		ib_device_put(&dev->ibdev);
	}
	if (attrs[MROCE_A_CONN_CID]) {
		econn = mroce_nl_find_conn(net, attrs, cb->extack);
		if (IS_ERR(econn))
			return ERR_CAST(econn);
		dump->cid = mroce_engine_conn_cid(econn);
		dump->next = dump->cid;
		mroce_nl_put_conn(econn);
	}
	dump->started = true;
	return dump;
}

struct mroce_econn *mroce_nl_conn_dump_next(const struct net *net,
					    struct mroce_nl_conn_dump *dump)
{
	struct mroce_econn *econn;
	u32 cid;

	for (; dump->next <= U32_MAX; dump->next = cid + 1ULL) {
		econn = mroce_engine_conn_next(dump->next);
		if (!econn)
			break;
		cid = mroce_engine_conn_cid(econn);
		if (dump->cid && cid != dump->cid) {
			mroce_engine_conn_put(econn);
			break;
		}
		/* one that has ended meanwhile has left the rest of its paths */
		if (cid != dump->next)
			dump->next_path = 0;
		dump->next = cid;
		if ((!dump->one_dev ||
		     mroce_engine_conn_dev(econn)->ibdev.index == dump->dev_index) &&
		    hold(net, econn))
			return econn;
		mroce_engine_conn_put(econn);
		dump->next_path = 0;
		cond_resched();
	}
	dump->next = U32_MAX + 1ULL;
	return NULL;
}

int mroce_nl_put_conn_id(struct sk_buff *skb, const struct mroce_conn_id *id)
{
	if (nla_put_u32(skb, MROCE_A_CONN_CID, id->cid) ||
	    (id->peer_cid && nla_put_u32(skb, MROCE_A_CONN_PEER_CID, id->peer_cid)) ||
	    nla_put_u32(skb, MROCE_A_CONN_STATE, id->state) ||
	    mroce_nl_put_addr(skb, &id->src, MROCE_A_CONN_SADDR4, MROCE_A_CONN_SADDR6) ||
	    mroce_nl_put_addr(skb, &id->dst, MROCE_A_CONN_DADDR4, MROCE_A_CONN_DADDR6) ||
	    (id->dst.scope_id && nla_put_u32(skb, MROCE_A_CONN_SCOPE_ID, id->dst.scope_id)) ||
	    nla_put_u8(skb, MROCE_A_CONN_TCLASS, id->tclass) ||
	    (id->is_self && nla_put_flag(skb, MROCE_A_CONN_SELF)))
		return -EMSGSIZE;
	return 0;
}

static int put_counters(struct sk_buff *skb, const struct mroce_conn_info *info)
{
	struct nlattr *nest;
	int i;

	for (i = 0; i < MROCE_CNT_MAX; i++) {
		if (!info->counters[i])
			continue;
		nest = nla_nest_start(skb, MROCE_A_CONN_COUNTER);
		if (!nest || nla_put_string(skb, MROCE_A_COUNTER_NAME, mroce_counter_name(i)) ||
		    nla_put_u64_64bit(skb, MROCE_A_COUNTER_VALUE, info->counters[i],
				      MROCE_A_COUNTER_PAD))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

static int put_also(struct sk_buff *skb, const struct mroce_conn_info *info)
{
	const struct mroce_addr_pair *pair;
	struct nlattr *nest;

	for (pair = info->also; pair < &info->also[info->nalso]; pair++) {
		nest = nla_nest_start(skb, MROCE_A_CONN_ALSO);
		if (!nest ||
		    mroce_nl_put_addr(skb, &pair->src, MROCE_A_PAIR_SADDR4, MROCE_A_PAIR_SADDR6) ||
		    mroce_nl_put_addr(skb, &pair->dst, MROCE_A_PAIR_DADDR4, MROCE_A_PAIR_DADDR6))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

static int put_peer(struct sk_buff *skb, const struct mroce_conn_info *info)
{
	if (!info->peer_device_id)
		return 0;
	if (nla_put_u64_64bit(skb, MROCE_A_CONN_PEER_DEV_ID, info->peer_device_id,
			      MROCE_A_CONN_PAD) ||
	    nla_put_u32(skb, MROCE_A_CONN_PEER_EPOCH, info->peer_epoch))
		return -EMSGSIZE;
	return 0;
}

static int put_state(struct sk_buff *skb, const struct mroce_conn_info *info)
{
	if (nla_put_u32(skb, MROCE_A_CONN_PAYLOAD, info->payload) ||
	    nla_put_u32(skb, MROCE_A_CONN_STREAMS, info->streams) ||
	    nla_put_u32(skb, MROCE_A_CONN_PATHS, info->paths) ||
	    nla_put_u32(skb, MROCE_A_CONN_ACTIVE_PATHS, info->active_paths) ||
	    nla_put_u32(skb, MROCE_A_CONN_WINDOW, info->window) ||
	    nla_put_u32(skb, MROCE_A_CONN_IN_FLIGHT, info->in_flight) ||
	    nla_put_u32(skb, MROCE_A_CONN_RESEND, info->resend) ||
	    (info->rate &&
	     nla_put_u64_64bit(skb, MROCE_A_CONN_RATE, info->rate, MROCE_A_CONN_PAD)) ||
	    (info->base_us && nla_put_u32(skb, MROCE_A_CONN_BASE_RTT, info->base_us)) ||
	    nla_put_u64_64bit(skb, MROCE_A_CONN_MEMORY, info->memory, MROCE_A_CONN_PAD) ||
	    nla_put_string(skb, MROCE_A_CONN_SCHEDULER, info->sched) ||
	    nla_put_string(skb, MROCE_A_CONN_CC, info->cc))
		return -EMSGSIZE;
	return 0;
}

static int put_conn(struct sk_buff *skb, struct mroce_econn *econn, u32 portid, u32 seq, int flags)
{
	struct mroce_conn_info *info;
	int err = -EMSGSIZE;
	void *hdr;

	info = kmalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	mroce_engine_conn_info(econn, info);
	hdr = genlmsg_put(skb, portid, seq, &mroce_nl_family, flags, MROCE_CMD_CONN_GET);
	if (!hdr)
		goto free;
	if (mroce_nl_put_dev(skb, mroce_engine_conn_dev(econn)) ||
	    mroce_nl_put_conn_id(skb, &info->id) || put_also(skb, info) ||
	    put_peer(skb, info) ||
	    put_state(skb, info) || put_counters(skb, info)) {
		genlmsg_cancel(skb, hdr);
		goto free;
	}
	genlmsg_end(skb, hdr);
	err = 0;
free:
	kfree(info);
	return err;
}

int mroce_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct mroce_econn *econn;
	struct sk_buff *msg;
	int err = -ENOMEM;

	econn = mroce_nl_find_conn(genl_info_net(info), info->attrs, info->extack);
	if (IS_ERR(econn))
		return PTR_ERR(econn);
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (msg)
		err = put_conn(msg, econn, info->snd_portid, info->snd_seq, 0);
	mroce_nl_put_conn(econn);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

int mroce_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct mroce_nl_conn_dump *dump;
	struct mroce_econn *econn;
	int err = 0;

	dump = mroce_nl_conn_dump_start(net, cb);
	if (IS_ERR(dump))
		return PTR_ERR(dump);
	while (!err) {
		econn = mroce_nl_conn_dump_next(net, dump);
		if (!econn)
			break;
		err = put_conn(skb, econn, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			       NLM_F_MULTI);
		if (!err)
			dump->next++;
		mroce_nl_put_conn(econn);
	}
	return skb->len ?: err;
}
