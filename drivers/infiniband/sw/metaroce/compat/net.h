/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Kernel APIs of net/ that changed over time. */
#ifndef _METAROCE_COMPAT_NET_H
#define _METAROCE_COMPAT_NET_H

#include <linux/netdevice.h>
#include <net/flow.h>
#include <net/inet_dscp.h>

#include <mroce_probes.h>

#ifndef GSO_LEGACY_MAX_SIZE
#define GSO_LEGACY_MAX_SIZE	65536U
#endif

static inline unsigned int mroce_gso_max_size(const struct net_device *dev, bool v4)
{
#ifdef MROCE_HAVE_NETDEV_GSO_IPV4_MAX_SIZE
	if (v4)
		return READ_ONCE(dev->gso_ipv4_max_size);
#endif
	return READ_ONCE(dev->gso_max_size);
}

static inline void mroce_flowi4_set_dsfield(struct flowi4 *fl4, u8 tclass)
{
#ifdef MROCE_HAVE_FLOWI4_DSCP
	fl4->flowi4_dscp = inet_dsfield_to_dscp(tclass);
#else
	fl4->flowi4_tos = tclass & INET_DSCP_MASK;
#endif
}

#endif /* _METAROCE_COMPAT_NET_H */
