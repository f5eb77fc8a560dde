// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Paths: path-get. */
#include "internal.h"

static_assert((int)MROCE_NL_PATH_PROBING == MROCE_PATH_PROBING);
static_assert((int)MROCE_NL_PATH_ACTIVE == MROCE_PATH_ACTIVE);
static_assert((int)MROCE_NL_PATH_SUSPECT == MROCE_PATH_SUSPECT);
static_assert((int)MROCE_NL_PATH_FAILED == MROCE_PATH_FAILED);

static int put_path(struct sk_buff *skb, struct mroce_econn *econn,
		    const struct mroce_path_info *p, u32 portid, u32 seq, int flags)
{
	void *hdr = genlmsg_put(skb, portid, seq, &mroce_nl_family, flags, MROCE_CMD_PATH_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (mroce_nl_put_dev(skb, mroce_engine_conn_dev(econn)) ||
	    nla_put_u32(skb, MROCE_A_PATH_CID, mroce_engine_conn_cid(econn)) ||
	    nla_put_u32(skb, MROCE_A_PATH_ID, p->id) ||
	    nla_put_u16(skb, MROCE_A_PATH_SPORT, p->sport) ||
	    nla_put_u32(skb, MROCE_A_PATH_STATE, p->state) ||
	    nla_put_u32(skb, MROCE_A_PATH_SRTT, p->srtt_us) ||
	    nla_put_u32(skb, MROCE_A_PATH_RTTVAR, p->rttvar_us) ||
	    (p->base_us && nla_put_u32(skb, MROCE_A_PATH_BASE_RTT, p->base_us)) ||
	    nla_put_u32(skb, MROCE_A_PATH_CWND, p->cwnd) ||
	    nla_put_u32(skb, MROCE_A_PATH_IN_FLIGHT, p->in_flight) ||
	    nla_put_u32(skb, MROCE_A_PATH_ECN_FRACTION, p->ce_alpha) ||
	    nla_put_u32(skb, MROCE_A_PATH_PROBES, p->probes) ||
	    nla_put_u32(skb, MROCE_A_PATH_REORDERING, p->reo_steps) ||
	    nla_put_u64_64bit(skb, MROCE_A_PATH_TX_PACKETS, p->tx_pkts, MROCE_A_PATH_PAD) ||
	    nla_put_u64_64bit(skb, MROCE_A_PATH_RETX_PACKETS, p->retx_pkts, MROCE_A_PATH_PAD) ||
	    nla_put_u64_64bit(skb, MROCE_A_PATH_MARKS, p->marks, MROCE_A_PATH_PAD) ||
	    nla_put_u32(skb, MROCE_A_PATH_PLANE, p->way)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

int mroce_nl_path_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *id = info->attrs[MROCE_A_PATH_ID];
	struct mroce_path_info path;
	struct mroce_econn *econn;
	struct sk_buff *msg = NULL;
	int err;

	econn = mroce_nl_find_conn(genl_info_net(info), info->attrs, info->extack);
	if (IS_ERR(econn))
		return PTR_ERR(econn);
	err = -EINVAL;
	if (!id) {
		NL_SET_ERR_MSG(info->extack, "a path's id is needed");
		goto put;
	}
	err = -ENOENT;
	if (!mroce_engine_path_info(econn, nla_get_u32(id), &path)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "the connection has no such path");
		goto put;
	}
	err = -ENOMEM;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (msg)
		err = put_path(msg, econn, &path, info->snd_portid, info->snd_seq, 0);
put:
	mroce_nl_put_conn(econn);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

/* The rest of the paths of one connection. Return: 0, or -EMSGSIZE: @skb is full. */
static int dump_conn(struct sk_buff *skb, struct netlink_callback *cb,
		     struct mroce_nl_conn_dump *dump, struct mroce_econn *econn)
{
	struct mroce_path_info path;
	int err;

	while (mroce_engine_path_info(econn, dump->next_path, &path)) {
		err = put_path(skb, econn, &path, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			       NLM_F_MULTI);
		if (err)
			return err;
		dump->next_path++;
	}
	return 0;
}

int mroce_nl_path_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct mroce_nl_conn_dump *dump;
	struct mroce_econn *econn;
	int err = 0;

	if (mroce_genl_dump_attrs(cb)[MROCE_A_PATH_ID]) {
		NL_SET_ERR_MSG(cb->extack, "a dump is of all paths of a connection");
		return -EINVAL;
	}
	dump = mroce_nl_conn_dump_start(net, cb);
	if (IS_ERR(dump))
		return PTR_ERR(dump);
	while (!err) {
		econn = mroce_nl_conn_dump_next(net, dump);
		if (!econn)
			break;
		err = dump_conn(skb, cb, dump, econn);
		if (!err) {
			dump->next++;
			dump->next_path = 0;
		}
		mroce_nl_put_conn(econn);
	}
	return skb->len ?: err;
}
