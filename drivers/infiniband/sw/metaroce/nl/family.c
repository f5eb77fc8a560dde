// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The generic-netlink family: Documentation/netlink/specs/metaroce.yaml */
#include <linux/module.h>

#include "internal.h"

static const struct genl_multicast_group mcgrps[] = {
	[METAROCE_NLGRP_EVENTS] = { .name = METAROCE_MCGRP_EVENTS },
};

struct genl_family mroce_nl_family __ro_after_init = {
	.name = MROCE_GENL_NAME,
	.version = MROCE_GENL_VERSION,
	.netnsok = true,
	.module = THIS_MODULE,
	.ops = mroce_nl_ops,
	.n_ops = ARRAY_SIZE(mroce_nl_ops),
	.mcgrps = mcgrps,
	.n_mcgrps = ARRAY_SIZE(mcgrps),
};

static struct mroce_dev *by_index(const struct net *net, u32 index)
{
	struct mroce_dev *dev = mroce_dev_next(net, index);

	if (dev && dev->ibdev.index != index) {
		ib_device_put(&dev->ibdev);
		return NULL;
	}
	return dev;
}

static struct mroce_dev *by_name(const struct net *net, const char *name)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_name(name, (enum rdma_driver_id)MROCE_DRIVER_ID);
	if (ibdev && !mroce_dev_visible(to_mdev(ibdev), net)) {
		ib_device_put(ibdev);
		return NULL;
	}
	return ibdev ? to_mdev(ibdev) : NULL;
}

struct mroce_dev *mroce_nl_find_dev(const struct net *net, const struct nlattr *index,
				    const struct nlattr *name, struct netlink_ext_ack *extack)
{
	struct mroce_dev *dev;

	if (!index && !name) {
		NL_SET_ERR_MSG(extack, "a device is needed, by its name or its index");
		return ERR_PTR(-EINVAL);
	}
	dev = index ? by_index(net, nla_get_u32(index)) : by_name(net, nla_data(name));
	if (!dev) {
		NL_SET_ERR_MSG_ATTR(extack, index ?: name,
				    "no such metaroce device in this network namespace");
		return ERR_PTR(-ENODEV);
	}
	if (index && name && strcmp(dev->ibdev.name, nla_data(name)) != 0) {
		ib_device_put(&dev->ibdev);
		NL_SET_ERR_MSG_ATTR(extack, name, "the device of this index has another name");
		return ERR_PTR(-ENODEV);
	}
	return dev;
}

int mroce_nl_put_addr(struct sk_buff *skb, const struct mroce_addr *addr, int attr4, int attr6)
{
	if (addr->family == MROCE_AF_INET)
		return nla_put_in_addr(skb, attr4, addr->v4);
	return nla_put(skb, attr6, sizeof(addr->v6), addr->v6);
}

int mroce_nl_put_dev(struct sk_buff *skb, const struct mroce_dev *dev)
{
	if (nla_put_u32(skb, MROCE_A_CONN_DEV_INDEX, dev->ibdev.index) ||
	    nla_put_string(skb, MROCE_A_CONN_DEV_NAME, dev->ibdev.name))
		return -EMSGSIZE;
	return 0;
}

int __init mroce_nl_init(void)
{
	return genl_register_family(&mroce_nl_family);
}

void mroce_nl_exit(void)
{
	genl_unregister_family(&mroce_nl_family);
	mroce_nl_flush_events();
}

MODULE_ALIAS_GENL_FAMILY(MROCE_GENL_NAME);
