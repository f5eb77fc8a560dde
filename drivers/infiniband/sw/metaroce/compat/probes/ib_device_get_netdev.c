// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ib_device_get_netdev() is declared publicly and exported (since 6.12) */
#include <rdma/ib_verbs.h>

struct net_device *probe(struct ib_device *dev);
struct net_device *probe(struct ib_device *dev)
{
	return ib_device_get_netdev(dev, 1);
}
