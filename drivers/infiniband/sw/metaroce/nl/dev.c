// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Devices: dev-get, dev-set. */
#include "internal.h"

/* Where a dump goes on. In cb->ctx. */
struct dev_dump {
	u32 next;		/* index */
	bool started;
};

/* Which member of struct mroce_params an attribute is; the policy has the ranges. */
static const size_t param_offset[] = {
	[MROCE_A_PARAMS_MAX_BURST] = offsetof(struct mroce_params, max_burst),
	[MROCE_A_PARAMS_PROBE_FLOOR] = offsetof(struct mroce_params, probe_floor_us),
	[MROCE_A_PARAMS_DELAY_TARGET] = offsetof(struct mroce_params, delay_target_us),
	[MROCE_A_PARAMS_INIT_PATHS] = offsetof(struct mroce_params, init_paths),
	[MROCE_A_PARAMS_MAX_PATHS] = offsetof(struct mroce_params, max_paths),
};

static_assert(ARRAY_SIZE(param_offset) == MROCE_A_PARAMS_MAX + 1);

static u32 *param(struct mroce_params *p, int attr)
{
	return (void *)p + param_offset[attr];
}

static int put_params(struct sk_buff *skb, const struct mroce_dev *dev)
{
	struct nlattr *nest = nla_nest_start(skb, MROCE_A_DEV_PARAMS);
	struct mroce_params p = dev->params;	/* nobody sets them meanwhile: genl_mutex */
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 1; i <= MROCE_A_PARAMS_MAX; i++)
		if (nla_put_u32(skb, i, *param(&p, i)))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_netdev(struct sk_buff *skb, struct mroce_dev *dev)
{
	struct net_device *ndev = mroce_netdev_get(dev);
	int err = 0;

	if (!ndev)
		return 0;
	if (nla_put_u32(skb, MROCE_A_DEV_IFINDEX, ndev->ifindex) ||
	    nla_put_string(skb, MROCE_A_DEV_IFNAME, ndev->name))
		err = -EMSGSIZE;
	dev_put(ndev);
	return err;
}

static u32 count_qps(struct mroce_dev *dev)
{
	unsigned long i;
	u32 n = 0;
	void *qp;

	xa_for_each(&dev->qps, i, qp)
		n++;
	return n;
}

static int put_dev(struct sk_buff *skb, struct mroce_dev *dev, u32 portid, u32 seq, int flags)
{
	void *hdr = genlmsg_put(skb, portid, seq, &mroce_nl_family, flags, MROCE_CMD_DEV_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u32(skb, MROCE_A_DEV_INDEX, dev->ibdev.index) ||
	    nla_put_string(skb, MROCE_A_DEV_NAME, dev->ibdev.name) ||
	    put_netdev(skb, dev) ||
	    nla_put_u64_64bit(skb, MROCE_A_DEV_ID, dev->device_id, MROCE_A_DEV_PAD) ||
	    nla_put_u32(skb, MROCE_A_DEV_EPOCH, dev->epoch) ||
	    nla_put_u32(skb, MROCE_A_DEV_CONNS, READ_ONCE(dev->nconns)) ||
	    nla_put_u32(skb, MROCE_A_DEV_QPS, count_qps(dev)) ||
	    nla_put_u64_64bit(skb, MROCE_A_DEV_EVENTS_DROPPED, atomic64_read(&dev->events_dropped),
			      MROCE_A_DEV_PAD) ||
	    put_params(skb, dev)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

int mroce_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct mroce_dev *dev;
	struct sk_buff *msg;
	int err = -ENOMEM;

	dev = mroce_nl_find_dev(genl_info_net(info), info->attrs[MROCE_A_DEV_INDEX],
				info->attrs[MROCE_A_DEV_NAME], info->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (msg)
		err = put_dev(msg, dev, info->snd_portid, info->snd_seq, 0);
	ib_device_put(&dev->ibdev);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

int mroce_nl_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr **attrs = mroce_genl_dump_attrs(cb);
	struct dev_dump *dump = (void *)cb->ctx;
	struct net *net = sock_net(skb->sk);
	struct mroce_dev *dev;
	int err = 0;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	if (!dump->started && (attrs[MROCE_A_DEV_INDEX] || attrs[MROCE_A_DEV_NAME])) {
		NL_SET_ERR_MSG(cb->extack, "a dump is of all devices");
		return -EINVAL;
	}
	dump->started = true;
	while (!err) {
		dev = mroce_dev_next(net, dump->next);
		if (!dev)
			break;
		err = put_dev(skb, dev, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			      NLM_F_MULTI);
		if (!err)
			dump->next = dev->ibdev.index + 1;
		ib_device_put(&dev->ibdev);
	}
	return skb->len ?: err;
}

static int set_params(struct mroce_dev *dev, struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[MROCE_A_PARAMS_MAX + 1];
	struct mroce_params p = dev->params;
	bool any = false;
	int err, i;

	err = nla_parse_nested(tb, MROCE_A_PARAMS_MAX, attr, mroce_params_nl_policy, extack);
	if (err)
		return err;
	for (i = 1; i <= MROCE_A_PARAMS_MAX; i++) {
		if (!tb[i])
			continue;
		*param(&p, i) = nla_get_u32(tb[i]);
		any = true;
	}
	if (!any) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "no parameter is given");
		return -EINVAL;
	}
	mroce_engine_set_params(dev, &p);
	return 0;
}

int mroce_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct mroce_dev *dev;
	int err;

	if (!info->attrs[MROCE_A_DEV_PARAMS]) {
		NL_SET_ERR_MSG(info->extack, "the parameters to set are missing");
		return -EINVAL;
	}
	dev = mroce_nl_find_dev(genl_info_net(info), info->attrs[MROCE_A_DEV_INDEX],
				info->attrs[MROCE_A_DEV_NAME], info->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = set_params(dev, info->attrs[MROCE_A_DEV_PARAMS], info->extack);
	ib_device_put(&dev->ibdev);
	return err;
}
