// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* struct net_device has a GSO limit of its own for IPv4 (since 6.3) */
#include <linux/netdevice.h>

unsigned int probe(const struct net_device *dev);
unsigned int probe(const struct net_device *dev)
{
	return dev->gso_ipv4_max_size;
}
