// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Links: "rdma link add NAME type metaroce netdev NETDEV", and what ends them.
 *
 * A link belongs to the network namespace of its netdev: sockets and routes are
 * that namespace's. When the netdev goes away or changes its namespace, the link
 * ends; add a new one there. Four things end a link: `rdma link del`, the end of
 * the netdev (its notifier), the end of the namespace, and the end of the module.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/net_namespace.h>
#include <rdma/rdma_netlink.h>

#include "../engine/engine.h"
#include "../net/net.h"
#include "internal.h"

/* Serialises newlink, so that a netdev gets one link only. Outermost. */
static DEFINE_MUTEX(mroce_newlink_lock);

/* Protects mroce_links. A leaf, BH off. */
static DEFINE_SPINLOCK(mroce_links_lock);
static LIST_HEAD(mroce_links);
static DECLARE_WAIT_QUEUE_HEAD(mroce_links_wait);
static DEFINE_IDA(mroce_index_ida);

const char *mroce_netdev_refusal(const struct net_device *ndev)
{
	if (ndev->type != ARPHRD_ETHER && ndev->type != ARPHRD_LOOPBACK &&
	    ndev->type != ARPHRD_NONE)
		return "no Ethernet or IP device";
	if (netif_is_bond_slave(ndev) || netif_is_team_port(ndev) || netif_is_bridge_port(ndev))
		return "enslaved; use its master";
	return NULL;
}

/**
 * mroce_netdev_get - the device's netdev
 * @dev: device
 *
 * Any context. Return: netdev with a reference (dev_put()), NULL once it is being unregistered.
 */
struct net_device *mroce_netdev_get(struct mroce_dev *dev)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(dev->netdev);
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/* Undoes mroce_dev_alloc(); the core calls it for the last reference. */
void mroce_dealloc_driver(struct ib_device *ibdev)
{
	struct mroce_dev *dev = to_mdev(ibdev);

	mroce_engine_dev_exit(dev);
	mroce_net_port_put(dev->np);

	WARN_ON(!xa_empty(&dev->qps));
	WARN_ON(!xa_empty(&dev->mrs));
	WARN_ON(!xa_empty(&dev->ahs));
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->ahs);
	kfree(dev->local_dma);
	ida_free(&mroce_index_ida, dev->index);

	/* no access to dev after this: who waits may end the namespace */
	spin_lock_bh(&mroce_links_lock);
	list_del(&dev->link);
	spin_unlock_bh(&mroce_links_lock);
	wake_up_all(&mroce_links_wait);
}

static struct mroce_dev *mroce_dev_alloc(struct net_device *ndev)
{
	struct mroce_dev *dev;
	int err;

	dev = ib_alloc_device(mroce_dev, ibdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);

	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1);
	dev->net = dev_net(ndev);

	dev->index = ida_alloc_max(&mroce_index_ida, U16_MAX, GFP_KERNEL);
	if (dev->index < 0) {
		err = dev->index;
		goto err_device;
	}

	dev->local_dma = mroce_mr_alloc_local_dma(dev);
	if (!dev->local_dma) {
		err = -ENOMEM;
		goto err_index;
	}

	dev->np = mroce_net_port_get(dev->net, MROCE_UDP_PORT);
	if (IS_ERR(dev->np)) {
		err = PTR_ERR(dev->np);
		netdev_err(ndev, MROCE_NAME ": UDP port %u: error %d\n", MROCE_UDP_PORT, err);
		goto err_dma;
	}

	err = mroce_engine_dev_init(dev);
	if (err)
		goto err_port;

	mroce_dev_init_attrs(dev, ndev);
	rcu_assign_pointer(dev->netdev, ndev);
	dev->port_active = mroce_port_is_up(ndev);

	spin_lock_bh(&mroce_links_lock);
	list_add_tail(&dev->link, &mroce_links);
	spin_unlock_bh(&mroce_links_lock);

	/* from here on ib_dealloc_device() calls mroce_dealloc_driver() */
	ib_set_device_ops(&dev->ibdev, &mroce_dev_ops);
	return dev;

err_port:
	mroce_net_port_put(dev->np);
err_dma:
	kfree(dev->local_dma);
err_index:
	ida_free(&mroce_index_ida, dev->index);
err_device:
	ib_dealloc_device(&dev->ibdev);
	return ERR_PTR(err);
}

static int mroce_link_register(const char *name, struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct ib_device *ibdev;
	struct mroce_dev *dev;
	bool gone;
	int err;

	dev = mroce_dev_alloc(ndev);
	if (IS_ERR(dev))
		return PTR_ERR(dev);

	err = ib_device_set_netdev(&dev->ibdev, ndev, MROCE_PORT);
	if (err)
		goto err_dealloc;

	ib_mark_name_assigned_by_user(&dev->ibdev);
	err = ib_register_device(&dev->ibdev, name, NULL);
	if (err) {
		netdev_err(ndev, MROCE_NAME ": registering %s: error %d\n", name, err);
		goto err_dealloc;
	}

	/* The notifier can't see a device that isn't registered yet. */
	rtnl_lock();
	gone = ndev->reg_state != NETREG_REGISTERED || !net_eq(dev_net(ndev), net);
	rtnl_unlock();
	if (!gone)
		return 0;
	/* not by dev: somebody may have deleted the link meanwhile */
	ibdev = ib_device_get_by_netdev(ndev, (enum rdma_driver_id)MROCE_DRIVER_ID);
	if (ibdev)
		ib_unregister_device_and_put(ibdev);
	return -ENODEV;

err_dealloc:
	RCU_INIT_POINTER(dev->netdev, NULL);
	ib_dealloc_device(&dev->ibdev);
	return err;
}

static int mroce_newlink(const char *name, struct net_device *ndev)
{
	struct ib_device *ibdev;
	const char *why;
	int err;

	why = mroce_netdev_refusal(ndev);
	if (why) {
		netdev_err(ndev, MROCE_NAME ": no link here: %s\n", why);
		return -EOPNOTSUPP;
	}

	mutex_lock(&mroce_newlink_lock);
	ibdev = ib_device_get_by_netdev(ndev, (enum rdma_driver_id)MROCE_DRIVER_ID);
	if (ibdev) {
		netdev_err(ndev, MROCE_NAME ": has a link already: %s\n", dev_name(&ibdev->dev));
		ib_device_put(ibdev);
		err = -EEXIST;
	} else {
		err = mroce_link_register(name, ndev);
	}
	mutex_unlock(&mroce_newlink_lock);
	return err;
}

static struct rdma_link_ops mroce_link_ops = {
	.type = MROCE_NAME,
	.newlink = mroce_newlink,
};

bool mroce_link_uses(const struct net_device *ndev)
{
	struct mroce_dev *dev;
	bool used = false;

	spin_lock_bh(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, link)
		used |= mroce_plane_index(dev, ndev->ifindex) >= 0 &&
			net_eq(dev->net, dev_net(ndev));
	spin_unlock_bh(&mroce_links_lock);
	return used;
}

void mroce_port_changed(struct mroce_dev *dev)
{
	bool up = mroce_planes_up(dev);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = MROCE_PORT,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	if (dev->port_active != up) {
		dev->port_active = up;
		ib_dispatch_event(&event);
	}
	mroce_engine_netdev_changed(dev);
}

/* A plane, if @ndev is one of somebody's: the device with a reference. */
static struct mroce_dev *mroce_plane_find(const struct net_device *ndev, int *index)
{
	struct mroce_dev *dev, *found = NULL;
	int i;

	spin_lock_bh(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, link) {
		for (i = 1; i < MROCE_MAX_PLANES; i++)
			if (rcu_access_pointer(dev->planes[i]) == ndev)
				break;
		if (i == MROCE_MAX_PLANES)
			continue;
		/* one that is ending looks at its planes no more */
		if (ib_device_try_get(&dev->ibdev))
			found = dev;
		*index = i;
		break;
	}
	spin_unlock_bh(&mroce_links_lock);
	return found;
}

static void mroce_plane_event(struct net_device *ndev, unsigned long event)
{
	struct mroce_dev *dev;
	int index;

	dev = mroce_plane_find(ndev, &index);
	if (!dev)
		return;
	if (event == NETDEV_UNREGISTER)
		mroce_plane_del(dev, index);
	else
		mroce_port_changed(dev);
	ib_device_put(&dev->ibdev);
}

/*
 * A device that is ending is not found by its netdev any more, but may still be asked for it:
 * mroce_netdev_get() is done with it an RCU period after this, before the netdev is freed.
 */
static void mroce_forget_netdev(const struct net_device *ndev)
{
	struct mroce_dev *dev;

	int i;

	spin_lock_bh(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, link) {
		if (rcu_access_pointer(dev->netdev) == ndev)
			RCU_INIT_POINTER(dev->netdev, NULL);
		for (i = 1; i < MROCE_MAX_PLANES; i++)
			if (rcu_access_pointer(dev->planes[i]) == ndev)
				RCU_INIT_POINTER(dev->planes[i], NULL);
	}
	spin_unlock_bh(&mroce_links_lock);
}

static int mroce_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ibdev;
	struct mroce_dev *dev;

	switch (event) {
	case NETDEV_UNREGISTER:
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		mroce_plane_event(ndev, event);
		break;
	}
	if (event == NETDEV_UNREGISTER)
		mroce_forget_netdev(ndev);
	ibdev = ib_device_get_by_netdev(ndev, (enum rdma_driver_id)MROCE_DRIVER_ID);
	if (!ibdev)
		return NOTIFY_DONE;
	dev = to_mdev(ibdev);

	switch (event) {
	case NETDEV_UNREGISTER:
		/* never here: it takes RTNL, which we hold */
		ib_unregister_device_queued(ibdev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGEADDR:
		mroce_port_changed(dev);
		break;
	}
	ib_device_put(ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block mroce_netdev_nb = {
	.notifier_call = mroce_netdev_event,
};

/*
 * An address of a plane came or went; ib_core looks at those of the first one itself. Any context.
 */
static void mroce_addr_changed(struct net_device *ndev)
{
	struct mroce_dev *dev, *found = NULL;

	spin_lock_bh(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, link)
		if (READ_ONCE(dev->has_planes) && net_eq(dev->net, dev_net(ndev)) &&
		    mroce_plane_index(dev, ndev->ifindex) >= 0 &&
		    ib_device_try_get(&dev->ibdev)) {
			found = dev;
			break;
		}
	spin_unlock_bh(&mroce_links_lock);
	if (!found)
		return;
	mroce_engine_netdev_changed(found);
	ib_device_put(&found->ibdev);
}

static int mroce_inetaddr_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct in_ifaddr *ifa = arg;

	mroce_addr_changed(ifa->ifa_dev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block mroce_inetaddr_nb = {
	.notifier_call = mroce_inetaddr_event,
};

#if IS_ENABLED(CONFIG_IPV6)
static int mroce_inet6addr_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct inet6_ifaddr *ifa = arg;

	mroce_addr_changed(ifa->idev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block mroce_inet6addr_nb = {
	.notifier_call = mroce_inet6addr_event,
};
#endif

static int mroce_notifiers_register(void)
{
	int err;

	err = register_netdevice_notifier(&mroce_netdev_nb);
	if (err)
		return err;
	err = register_inetaddr_notifier(&mroce_inetaddr_nb);
	if (err)
		goto err_netdev;
#if IS_ENABLED(CONFIG_IPV6)
	err = register_inet6addr_notifier(&mroce_inet6addr_nb);
	if (err)
		goto err_inetaddr;
#endif
	return 0;

#if IS_ENABLED(CONFIG_IPV6)
err_inetaddr:
	unregister_inetaddr_notifier(&mroce_inetaddr_nb);
#endif
err_netdev:
	unregister_netdevice_notifier(&mroce_netdev_nb);
	return err;
}

static void mroce_notifiers_unregister(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	unregister_inet6addr_notifier(&mroce_inet6addr_nb);
#endif
	unregister_inetaddr_notifier(&mroce_inetaddr_nb);
	unregister_netdevice_notifier(&mroce_netdev_nb);
}

/* Return: a device of @net, or any without @net; with a reference if @get and it isn't ending. */
static struct mroce_dev *mroce_link_find(struct net *net, bool get)
{
	struct mroce_dev *dev, *found = NULL;

	spin_lock_bh(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, link) {
		if (!net_eq(dev->net, net) || (get && !ib_device_try_get(&dev->ibdev)))
			continue;
		found = dev;
		break;
	}
	spin_unlock_bh(&mroce_links_lock);
	return found;
}

bool mroce_dev_visible(const struct mroce_dev *dev, const struct net *net)
{
	return net_eq(dev->net, net) && rdma_dev_access_netns(&dev->ibdev, net);
}

struct mroce_dev *mroce_dev_next(const struct net *net, u32 index)
{
	struct mroce_dev *dev, *found = NULL;

	spin_lock_bh(&mroce_links_lock);
	list_for_each_entry(dev, &mroce_links, link) {
		if (!mroce_dev_visible(dev, net) || dev->ibdev.index < index ||
		    (found && dev->ibdev.index > found->ibdev.index) ||
		    !ib_device_try_get(&dev->ibdev))
			continue;
		if (found)
			ib_device_put(&found->ibdev);
		found = dev;
	}
	spin_unlock_bh(&mroce_links_lock);
	return found;
}

/*
 * The sockets hold no reference on the namespace, and a netdev's own end is
 * only noticed by a work item: so links end here, while the namespace is whole.
 */
static void __net_exit mroce_link_net_pre_exit(struct net *net)
{
	struct mroce_dev *dev;

	while ((dev = mroce_link_find(net, true)))
		ib_unregister_device_and_put(&dev->ibdev);
	wait_event(mroce_links_wait, !mroce_link_find(net, false));
}

static struct pernet_operations mroce_link_net_ops = {
	.pre_exit = mroce_link_net_pre_exit,
};

int mroce_link_init(void)
{
	int err;

	err = register_pernet_subsys(&mroce_link_net_ops);
	if (err)
		return err;

	err = mroce_notifiers_register();
	if (err) {
		unregister_pernet_subsys(&mroce_link_net_ops);
		return err;
	}
	rdma_link_register(&mroce_link_ops);
	return 0;
}

void mroce_link_exit(void)
{
	rdma_link_unregister(&mroce_link_ops);
	mroce_notifiers_unregister();
	/* also waits for what the notifier queued */
	ib_unregister_driver((enum rdma_driver_id)MROCE_DRIVER_ID);
	unregister_pernet_subsys(&mroce_link_net_ops);
	ida_destroy(&mroce_index_ida);
}

MODULE_ALIAS_RDMA_LINK(MROCE_NAME);
