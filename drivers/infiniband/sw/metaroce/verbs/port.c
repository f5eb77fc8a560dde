// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The device's one port: the netdev as verbs clients see it. */
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>

#include "internal.h"

#define MROCE_GID_TBL_LEN	256
#define MROCE_SUBNET_TIMEOUT	18

/* Any context. */
bool mroce_port_is_up(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_carrier_ok(ndev);
}

/* The largest IB MTU whose datagram fits into one packet; always a valid value. */
static enum ib_mtu mroce_port_mtu(const struct net_device *ndev)
{
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));

	return mtu ? mtu : IB_MTU_256;
}

int mroce_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct net_device *ndev = mroce_netdev_get(to_mdev(ibdev));
	bool up = ndev && mroce_planes_up(to_mdev(ibdev));

	/* zeroed by the core; lid stays 0: clients take another one for InfiniBand */
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ndev ? mroce_port_mtu(ndev) : IB_MTU_256;
	attr->gid_tbl_len = MROCE_GID_TBL_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = MROCE_MAX_MSG_SIZE;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->subnet_timeout = MROCE_SUBNET_TIMEOUT;

	/* a netdev that is going has no speed, and must not be asked */
	if (!ndev || ib_get_eth_speed(ibdev, port, &attr->active_speed, &attr->active_width)) {
		attr->active_speed = IB_SPEED_SDR;
		attr->active_width = IB_WIDTH_1X;
	}
	dev_put(ndev);
	return 0;
}

int mroce_get_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *imm)
{
	imm->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	imm->max_mad_size = IB_MGMT_MAD_SIZE;
	imm->pkey_tbl_len = 1;
	imm->gid_tbl_len = MROCE_GID_TBL_LEN;
	return 0;
}

enum rdma_link_layer mroce_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

int mroce_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}
