// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Planes: plane-get, plane-add, plane-del. */
#include <linux/rtnetlink.h>

#include "internal.h"

static_assert((int)MROCE_A_CONN_DEV_INDEX == (int)MROCE_A_PLANE_DEV_INDEX);
static_assert((int)MROCE_A_CONN_DEV_NAME == (int)MROCE_A_PLANE_DEV_NAME);

/* Where a dump goes on. In cb->ctx. */
struct plane_dump {
	u32 next;		/* device's index */
	u32 next_plane;
	bool one;		/* device only */
	bool started;
};

static int put_plane(struct sk_buff *skb, struct mroce_dev *dev, u32 index, struct net_device *ndev,
		     u32 portid, u32 seq, int flags)
{
	void *hdr = genlmsg_put(skb, portid, seq, &mroce_nl_family, flags, MROCE_CMD_PLANE_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (mroce_nl_put_dev(skb, dev) || nla_put_u32(skb, MROCE_A_PLANE_INDEX, index) ||
	    nla_put_u32(skb, MROCE_A_PLANE_IFINDEX, ndev->ifindex) ||
	    nla_put_string(skb, MROCE_A_PLANE_IFNAME, ndev->name) ||
	    (netif_running(ndev) && netif_carrier_ok(ndev) &&
	     nla_put_flag(skb, MROCE_A_PLANE_UP))) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/* The rest of one device's. Return: 0, or -EMSGSIZE: @skb is full. */
static int dump_dev(struct sk_buff *skb, struct netlink_callback *cb, struct plane_dump *dump,
		    struct mroce_dev *dev)
{
	struct net_device *ndev;
	int err = 0;

	for (; dump->next_plane < MROCE_MAX_PLANES; dump->next_plane++) {
		ndev = mroce_plane_get(dev, dump->next_plane);
		if (!ndev)
			continue;
		err = put_plane(skb, dev, dump->next_plane, ndev, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, NLM_F_MULTI);
		dev_put(ndev);
		if (err)
			break;
	}
	return err;
}

int mroce_nl_plane_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *index = info->attrs[MROCE_A_PLANE_INDEX];
	struct net_device *ndev = NULL;
	struct sk_buff *msg = NULL;
	struct mroce_dev *dev;
	int err;

	dev = mroce_nl_find_dev(genl_info_net(info), info->attrs[MROCE_A_PLANE_DEV_INDEX],
				info->attrs[MROCE_A_PLANE_DEV_NAME], info->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = -EINVAL;
	if (!index) {
		NL_SET_ERR_MSG(info->extack, "a plane's index is needed");
		goto put;
	}
	err = -ENOENT;
	ndev = mroce_plane_get(dev, nla_get_u32(index));
	if (!ndev) {
		NL_SET_ERR_MSG_ATTR(info->extack, index, "the device has no such plane");
		goto put;
	}
	err = -ENOMEM;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (msg)
		err = put_plane(msg, dev, nla_get_u32(index), ndev, info->snd_portid,
				info->snd_seq, 0);
put:
	dev_put(ndev);
	ib_device_put(&dev->ibdev);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

static int start(const struct net *net, struct netlink_callback *cb, struct plane_dump *dump)
{
	struct nlattr **attrs = mroce_genl_dump_attrs(cb);
	struct mroce_dev *dev;

	dump->started = true;
	if (attrs[MROCE_A_PLANE_INDEX]) {
		NL_SET_ERR_MSG(cb->extack, "a dump is of all planes of a device");
		return -EINVAL;
	}
	if (!attrs[MROCE_A_PLANE_DEV_INDEX] && !attrs[MROCE_A_PLANE_DEV_NAME])
		return 0;
	dev = mroce_nl_find_dev(net, attrs[MROCE_A_PLANE_DEV_INDEX], attrs[MROCE_A_PLANE_DEV_NAME],
				cb->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	dump->next = dev->ibdev.index;
	dump->one = true;
	ib_device_put(&dev->ibdev);
	return 0;
}

int mroce_nl_plane_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct plane_dump *dump = (void *)cb->ctx;
	struct net *net = sock_net(skb->sk);
	struct mroce_dev *dev;
	u32 index;
	int err = 0;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));
	if (!dump->started)
		err = start(net, cb, dump);
	while (!err) {
		dev = mroce_dev_next(net, dump->next);
		if (!dev)
			break;
		index = dev->ibdev.index;
		if (index != dump->next && dump->one) {
			ib_device_put(&dev->ibdev);
			break;
		}
		/* one that has ended meanwhile has left the rest of its planes */
		if (index != dump->next)
			dump->next_plane = 0;
		dump->next = index;
		err = dump_dev(skb, cb, dump, dev);
		ib_device_put(&dev->ibdev);
		if (err)
			break;
		if (dump->one) {
			dump->next = U32_MAX;
			break;
		}
		dump->next = index + 1;
		dump->next_plane = 0;
	}
	return skb->len ?: err;
}

/* The device and the netdev that a request names; RTNL is held then. */
static struct mroce_dev *begin(struct genl_info *info, struct net_device **ndev)
{
	const struct nlattr *ifindex = info->attrs[MROCE_A_PLANE_IFINDEX];
	struct mroce_dev *dev;

	if (!ifindex) {
		NL_SET_ERR_MSG(info->extack, "a netdev is needed, by its index");
		return ERR_PTR(-EINVAL);
	}
	dev = mroce_nl_find_dev(genl_info_net(info), info->attrs[MROCE_A_PLANE_DEV_INDEX],
				info->attrs[MROCE_A_PLANE_DEV_NAME], info->extack);
	if (IS_ERR(dev))
		return dev;
	rtnl_lock();
	*ndev = __dev_get_by_index(genl_info_net(info), nla_get_u32(ifindex));
	if (*ndev)
		return dev;
	rtnl_unlock();
	ib_device_put(&dev->ibdev);
	NL_SET_ERR_MSG_ATTR(info->extack, ifindex, "no such netdev in this network namespace");
	return ERR_PTR(-ENODEV);
}

int mroce_nl_plane_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct net_device *ndev;
	struct mroce_dev *dev = begin(info, &ndev);
	int err;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	err = mroce_plane_add(dev, ndev, info->extack);
	rtnl_unlock();
	ib_device_put(&dev->ibdev);
	return min(err, 0);
}

int mroce_nl_plane_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct net_device *ndev;
	struct mroce_dev *dev = begin(info, &ndev);
	int index, err = -ENOENT;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	index = mroce_plane_index(dev, ndev->ifindex);
	if (index < 0) {
		NL_SET_ERR_MSG(info->extack, "the netdev is no plane of this device");
	} else if (!index) {
		NL_SET_ERR_MSG(info->extack,
			       "the first plane stays as long as the device: rdma link del");
		err = -EBUSY;
	} else {
		err = mroce_plane_del(dev, index);
	}
	rtnl_unlock();
	ib_device_put(&dev->ibdev);
	return err;
}
