// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device's planes: netdevs that carry its packets beside the one of its link, which is plane
 * 0 and names it. They are added and removed under RTNL, read under RCU. A plane whose netdev
 * goes away, or changes its namespace, goes with it.
 */
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "../engine/engine.h"
#include "internal.h"

/* Plane 0 included. RCU. */
static struct net_device *plane_netdev(struct mroce_dev *dev, u32 index)
{
	return index ? rcu_dereference(dev->planes[index]) : rcu_dereference(dev->netdev);
}

static bool addr4(const struct net_device *ndev, struct mroce_addr *addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa = in_dev ? rcu_dereference(in_dev->ifa_list) : NULL;

	if (!ifa)
		return false;
	addr->v4 = ifa->ifa_local;
	return true;
}

/* The first one of the same scope. */
static bool addr6(const struct net_device *ndev, const struct mroce_addr *like,
		  struct mroce_addr *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	const int scopes = IPV6_ADDR_LINKLOCAL | IPV6_ADDR_LOOPBACK;
	int scope = ipv6_addr_type((const struct in6_addr *)like->v6) & scopes;
	struct inet6_dev *idev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;
	bool found = false;

	if (!idev)
		return false;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (ifa->flags & (IFA_F_TENTATIVE | IFA_F_DEPRECATED | IFA_F_TEMPORARY) ||
		    (ipv6_addr_type(&ifa->addr) & scopes) != scope)
			continue;
		memcpy(addr->v6, &ifa->addr, sizeof(addr->v6));
		if (scope & IPV6_ADDR_LINKLOCAL)
			addr->scope_id = ndev->ifindex;
		found = true;
		break;
	}
	read_unlock_bh(&idev->lock);
	return found;
#else
	return false;
#endif
}

bool mroce_plane_info(struct mroce_dev *dev, u32 index, const struct mroce_addr *like,
		      struct mroce_plane_info *info)
{
	struct net_device *ndev;
	bool found = false;

	memset(info, 0, sizeof(*info));
	info->addr.family = like->family;
	rcu_read_lock();
	ndev = plane_netdev(dev, index);
	if (ndev) {
		info->ifindex = ndev->ifindex;
		info->up = mroce_port_is_up(ndev);
		found = like->family == MROCE_AF_INET ? addr4(ndev, &info->addr) :
							addr6(ndev, like, &info->addr);
	}
	rcu_read_unlock();
	return found;
}

struct net_device *mroce_plane_get(struct mroce_dev *dev, u32 index)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = plane_netdev(dev, index);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

int mroce_plane_index(struct mroce_dev *dev, int ifindex)
{
	struct net_device *ndev;
	int i, found = -1;

	rcu_read_lock();
	for (i = 0; i < MROCE_MAX_PLANES && found < 0; i++) {
		ndev = plane_netdev(dev, i);
		if (ndev && ndev->ifindex == ifindex)
			found = i;
	}
	rcu_read_unlock();
	return found;
}

/* Any context. Is one of them up? Then the port is. */
bool mroce_planes_up(struct mroce_dev *dev)
{
	struct net_device *ndev;
	bool up = false;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < MROCE_MAX_PLANES && !up; i++) {
		ndev = plane_netdev(dev, i);
		up = ndev && mroce_port_is_up(ndev);
	}
	rcu_read_unlock();
	return up;
}

static const char *refusal(struct mroce_dev *dev, struct net_device *ndev)
{
	struct net_device *first = rtnl_dereference(dev->netdev);

	if (!first)
		return "the device is being removed";
	if (!net_eq(dev_net(ndev), dev->net))
		return "the netdev is in another network namespace than the device";
	if (ndev->reg_state != NETREG_REGISTERED)
		return "the netdev is being removed";
	if (ndev->flags & IFF_LOOPBACK)
		return "a loopback netdev is no plane";
	if (mroce_netdev_refusal(ndev))
		return mroce_netdev_refusal(ndev);
	if (mroce_link_uses(ndev))
		return "the netdev is a link or a plane already";
	if (ndev->mtu < first->mtu)
		return "the netdev's MTU is smaller than that of the device's first plane";
	return NULL;
}

/**
 * mroce_plane_add - one more netdev for a device
 * @dev: device, referenced
 * @ndev: netdev
 * @extack: says why not
 *
 * RTNL held. Connections take it into use as soon as their peers answer there. Return: its index,
 * or -errno.
 */
int mroce_plane_add(struct mroce_dev *dev, struct net_device *ndev,
		    struct netlink_ext_ack *extack)
{
	const char *why = refusal(dev, ndev);
	int i;

	ASSERT_RTNL();
	if (why) {
		/* NL_SET_ERR_MSG() takes literals only */
		if (extack)
			extack->_msg = why;
		return -EINVAL;
	}
	for (i = 1; i < MROCE_MAX_PLANES; i++)
		if (!rcu_access_pointer(dev->planes[i]))
			break;
	if (i == MROCE_MAX_PLANES) {
		NL_SET_ERR_MSG_MOD(extack, "the device has eight planes already");
		return -ENOSPC;
	}
	WRITE_ONCE(dev->has_planes, true);
	rcu_assign_pointer(dev->planes[i], ndev);
	mroce_port_changed(dev);
	return i;
}

/**
 * mroce_plane_del - take a plane from a device
 * @dev: device, referenced
 * @index: not 0
 *
 * RTNL held. What is in flight there goes by the other planes. Return: 0 or -ENOENT.
 */
int mroce_plane_del(struct mroce_dev *dev, u32 index)
{
	ASSERT_RTNL();
	if (!index || index >= MROCE_MAX_PLANES || !rcu_access_pointer(dev->planes[index]))
		return -ENOENT;
	RCU_INIT_POINTER(dev->planes[index], NULL);
	mroce_port_changed(dev);
	return 0;
}
