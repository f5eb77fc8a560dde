// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Routes, cached per path, and what their device can take at once.
 *
 * A cached route is a reference on a dst_entry. Every holder is on its port's list, so that the end
 * of a netns can take the routes away; users therefore read rt->dst under RCU and may find NULL.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/inet_ecn.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6_stubs.h>
#include <net/l3mdev.h>
#include <net/route.h>

#include "../compat/net.h"
#include "internal.h"

#define MROCE_MIN_MTU4		576
#define MROCE_MIN_MTU6		1280
#define MROCE_MAX_SEGS		64	/* GRO merges no more */

/*
 * The interface to leave by. Packets to ourselves loop back, in the VRF if there is one, although
 * no route to us leads out of another device.
 */
static int mroce_route_oif(struct net *net, const struct mroce_route *rt)
{
	const struct mroce_addr *dst = &rt->dst_addr;
	struct net_device *dev;
	bool local = false;

	if (!rt->oif)
		return 0;
	dev = dev_get_by_index_rcu(net, rt->oif);
	if (!dev)
		return -ENODEV;
	if (dst->family == MROCE_AF_INET)
		local = inet_addr_type_dev_table(net, dev, dst->v4) == RTN_LOCAL;
#if IS_ENABLED(CONFIG_IPV6)
	else if (!(ipv6_addr_type((const struct in6_addr *)dst->v6) & IPV6_ADDR_LINKLOCAL))
		local = ipv6_chk_addr(net, (const struct in6_addr *)dst->v6, dev, 0);
#endif
	return local ? l3mdev_master_ifindex_rcu(dev) : rt->oif;
}

static struct dst_entry *mroce_route_lookup4(struct net *net, struct mroce_net_port *np,
					     const struct mroce_route *rt, int oif)
{
	struct flowi4 fl4 = {
		.flowi4_oif = oif,
		.flowi4_scope = RT_SCOPE_UNIVERSE,
		.flowi4_proto = IPPROTO_UDP,
		.flowi4_uid = sock_net_uid(net, NULL),
		.daddr = rt->dst_addr.v4,
		.saddr = rt->src.v4,
		.fl4_dport = htons(np->port),
	};
	struct rtable *r;

	mroce_flowi4_set_dsfield(&fl4, rt->tclass);
	r = ip_route_output_flow(net, &fl4, np->sk4);
	if (IS_ERR(r))
		return ERR_CAST(r);
	if (r->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST)) {
		ip_rt_put(r);
		return ERR_PTR(-ENETUNREACH);
	}
	return &r->dst;
}

static struct dst_entry *mroce_route_lookup6(struct net *net, struct mroce_net_port *np,
					     const struct mroce_route *rt, int oif)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl6 = {
		.flowi6_oif = oif,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(net, NULL),
		.flowlabel = ip6_make_flowinfo(rt->tclass & ~INET_ECN_MASK, 0),
		.fl6_dport = htons(np->port),
	};

	if (!np->sk6)
		return ERR_PTR(-EAFNOSUPPORT);
	memcpy(&fl6.daddr, rt->dst_addr.v6, sizeof(fl6.daddr));
	memcpy(&fl6.saddr, rt->src.v6, sizeof(fl6.saddr));
	if (ipv6_addr_is_multicast(&fl6.daddr))
		return ERR_PTR(-ENETUNREACH);
	if (ipv6_addr_type(&fl6.daddr) & IPV6_ADDR_LINKLOCAL && rt->dst_addr.scope_id)
		fl6.flowi6_oif = rt->dst_addr.scope_id;
	/* the lookup does not ask whose address it is */
	if (!ipv6_chk_addr(net, &fl6.saddr, NULL, 0))
		return ERR_PTR(-EADDRNOTAVAIL);
	return ipv6_stub->ipv6_dst_lookup_flow(net, np->sk6, &fl6, NULL);
#else
	return ERR_PTR(-EAFNOSUPPORT);
#endif
}

/* What one skb may carry: GSO limits count the link header too, and must not be reached. */
static void mroce_route_limits(struct mroce_route *rt, const struct dst_entry *dst)
{
	const netdev_features_t whole = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM |
					NETIF_F_GSO_UDP_L4;
	bool v4 = rt->dst_addr.family == MROCE_AF_INET;
	const struct net_device *dev = dst->dev;
	unsigned int iphdr = v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	unsigned int mtu, bytes, segs;

	mtu = clamp_t(unsigned int, dst_mtu(dst), v4 ? MROCE_MIN_MTU4 : MROCE_MIN_MTU6, 0xffff);
	bytes = min_t(unsigned int, mroce_gso_max_size(dev, v4), GSO_LEGACY_MAX_SIZE);
	bytes -= min_t(unsigned int, bytes, 1 + dev->hard_header_len);
	bytes = min_t(unsigned int, bytes, 0xffff);	/* IPv4 counts its own header */
	bytes = max(bytes, mtu) - iphdr - sizeof(struct udphdr);
	segs = min_t(unsigned int, READ_ONCE(dev->gso_max_segs),
		     bytes / (mtu - iphdr - sizeof(struct udphdr)));

	rt->mtu = mtu;
	rt->max_bytes = bytes;
	rt->max_segs = clamp_t(unsigned int, segs, 1, MROCE_MAX_SEGS);
	rt->gso_segs = clamp_t(unsigned int, READ_ONCE(dev->gso_max_segs), 1, MROCE_MAX_SEGS);
	rt->frag_list = (dev->features & whole) == whole;
}

/* Puts a fresh route into @rt, unless the netns has begun to end. Consumes @dst. */
static int mroce_route_set(struct mroce_net_port *np, struct mroce_route *rt, struct dst_entry *dst)
{
	struct dst_entry *old;
	int err = 0;

	spin_lock_bh(&np->routes_lock);
	if (np->dead) {
		old = dst;
		err = -ENETDOWN;
	} else {
		old = rt->dst;
		WRITE_ONCE(rt->dst, dst);
		rt->cookie = 0;
#if IS_ENABLED(CONFIG_IPV6)
		if (rt->dst_addr.family == MROCE_AF_INET6)
			rt->cookie = rt6_get_cookie(container_of(dst, struct rt6_info, dst));
#endif
		if (!rt->np) {
			rt->np = np;
			list_add_tail(&rt->node, &np->routes);
		}
	}
	spin_unlock_bh(&np->routes_lock);
	dst_release(old);
	return err;
}

int mroce_route_refresh(struct mroce_net_port *np, struct mroce_route *rt)
{
	struct dst_entry *dst;
	struct net *net;
	int oif, err;

	rcu_read_lock();
	err = -ENETDOWN;
	net = mroce_net_port_net(np);
	if (!net)
		goto out;

	dst = READ_ONCE(rt->dst);
	if (!dst || !dst_check(dst, rt->cookie)) {
		oif = mroce_route_oif(net, rt);
		if (oif < 0)
			goto out;
		if (rt->dst_addr.family == MROCE_AF_INET)
			dst = mroce_route_lookup4(net, np, rt, oif);
		else
			dst = mroce_route_lookup6(net, np, rt, oif);
		err = PTR_ERR_OR_ZERO(dst);
		if (!err)
			err = mroce_route_set(np, rt, dst);
		if (err)
			goto out;
	}
	mroce_route_limits(rt, dst);
	err = netif_running(dst->dev) && netif_carrier_ok(dst->dev) ? 0 : -ENETDOWN;
out:
	rcu_read_unlock();
	return err;
}

void mroce_route_drop(struct mroce_route *rt)
{
	struct mroce_net_port *np = rt->np;
	struct dst_entry *dst;

	if (!np)
		return;
	spin_lock_bh(&np->routes_lock);
	dst = rt->dst;
	WRITE_ONCE(rt->dst, NULL);
	list_del(&rt->node);
	rt->np = NULL;
	spin_unlock_bh(&np->routes_lock);
	dst_release(dst);
}

void mroce_routes_kill(struct mroce_net_port *np)
{
	struct mroce_route *rt;

	spin_lock_bh(&np->routes_lock);
	WRITE_ONCE(np->dead, true);
	list_for_each_entry(rt, &np->routes, node) {
		struct dst_entry *dst = rt->dst;

		/* readers are in RCU sections; the memory of dst outlives these */
		WRITE_ONCE(rt->dst, NULL);
		dst_release(dst);
	}
	spin_unlock_bh(&np->routes_lock);
}
