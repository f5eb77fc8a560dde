// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What the device says of itself, and its table of operations. */
#include <linux/etherdevice.h>
#include <linux/module.h>

#include "internal.h"

#define MROCE_FW_VERSION	1
#define MROCE_MAX_QP		0x10000
#define MROCE_MAX_CQ		0x20000
#define MROCE_MAX_MR		0x100000
#define MROCE_MAX_PD		0x10000
#define MROCE_MAX_AH		0x100000

static int mroce_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	if (udata->inlen || udata->outlen)
		return -EINVAL;

	*attr = (struct ib_device_attr) {
		.fw_ver = MROCE_FW_VERSION,
		.sys_image_guid = ibdev->node_guid,
		.max_mr_size = U64_MAX >> 1,
		/* regions are arrays of pages: any size from PAGE_SIZE on */
		.page_size_cap = U32_MAX & PAGE_MASK,
		.hw_ver = 1,
		.max_qp = MROCE_MAX_QP,
		.max_qp_wr = MROCE_MAX_QP_WR,
		.device_cap_flags = IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_SYS_IMAGE_GUID |
				    IB_DEVICE_CURR_QP_STATE_MOD,
		.kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY,
		.max_send_sge = MROCE_MAX_SGE,
		.max_recv_sge = MROCE_MAX_SGE,
		.max_sge_rd = MROCE_MAX_SGE,
		.max_cq = MROCE_MAX_CQ,
		.max_cqe = MROCE_MAX_CQE,
		.max_mr = MROCE_MAX_MR,
		.max_pd = MROCE_MAX_PD,
		.max_qp_rd_atom = MROCE_MAX_RD_ATOMIC,
		.max_res_rd_atom = MROCE_MAX_RD_ATOMIC * MROCE_MAX_QP,
		.max_qp_init_rd_atom = MROCE_MAX_RD_ATOMIC,
		.atomic_cap = IB_ATOMIC_GLOB,
		.max_ah = MROCE_MAX_AH,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
	};
	return 0;
}

static void mroce_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%d", MROCE_FW_VERSION);
}

/*
 * Netdevs may share a MAC (VLAN, macvlan, bond), and ULPs tell devices apart by
 * their GUID: so the middle of the EUI-64 is the device's index.
 */
static __be64 mroce_node_guid(const struct mroce_dev *dev, const struct net_device *ndev)
{
	u8 mac[ETH_ALEN];
	union {
		u8 byte[8];
		__be64 guid;
	} u;

	if (ndev->addr_len == ETH_ALEN && is_valid_ether_addr(ndev->dev_addr))
		ether_addr_copy(mac, ndev->dev_addr);
	else
		eth_random_addr(mac);

	memcpy(u.byte, mac, 3);
	u.byte[0] ^= 2;
	u.byte[3] = (dev->index + 1) >> 8;
	u.byte[4] = dev->index + 1;
	memcpy(u.byte + 5, mac + 3, 3);
	return u.guid;
}

void mroce_dev_init_attrs(struct mroce_dev *dev, const struct net_device *ndev)
{
	struct ib_device *ibdev = &dev->ibdev;

	strscpy(ibdev->node_desc, MROCE_NAME, sizeof(ibdev->node_desc));
	ibdev->node_guid = mroce_node_guid(dev, ndev);
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->local_dma_lkey = MROCE_LOCAL_DMA_LKEY;
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				  BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
}

const struct ib_device_ops mroce_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)MROCE_DRIVER_ID,
	.uverbs_abi_ver = MROCE_UVERBS_ABI_VERSION,

	.alloc_hw_port_stats = mroce_alloc_hw_port_stats,
	.alloc_pd = mroce_alloc_pd,
	.alloc_ucontext = mroce_alloc_ucontext,
	.create_ah = mroce_create_ah,
	.create_cq = mroce_create_cq,
	.create_qp = mroce_create_qp,
	.create_user_ah = mroce_create_ah,
	.dealloc_driver = mroce_dealloc_driver,
	.dealloc_pd = mroce_dealloc_pd,
	.dealloc_ucontext = mroce_dealloc_ucontext,
	.dereg_mr = mroce_dereg_mr,
	.destroy_ah = mroce_destroy_ah,
	.destroy_cq = mroce_destroy_cq,
	.destroy_qp = mroce_destroy_qp,
	/* rings stay mapped, their pages live as long as the mapping */
	.disassociate_ucontext = mroce_disassociate_ucontext,
	.fill_res_cq_entry = mroce_fill_res_cq_entry,
	.fill_res_qp_entry = mroce_fill_res_qp_entry,
	.get_dev_fw_str = mroce_get_dev_fw_str,
	.get_dma_mr = mroce_get_dma_mr,
	.get_hw_stats = mroce_get_hw_stats,
	.get_link_layer = mroce_get_link_layer,
	.get_port_immutable = mroce_get_port_immutable,
	.mmap = mroce_mmap,
	.mmap_free = mroce_mmap_free,
	.modify_qp = mroce_modify_qp,
	.poll_cq = mroce_poll_cq,
	.post_recv = mroce_post_recv,
	.post_send = mroce_post_send,
	.process_mad = mroce_process_mad,
	.query_ah = mroce_query_ah,
	.query_device = mroce_query_device,
	.query_pkey = mroce_query_pkey,
	.query_port = mroce_query_port,
	.query_qp = mroce_query_qp,
	.reg_user_mr = mroce_reg_user_mr,
	.req_notify_cq = mroce_req_notify_cq,
	.rereg_user_mr = mroce_rereg_user_mr,
	.resize_cq = mroce_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, mroce_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, mroce_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, mroce_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, mroce_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, mroce_ucontext, ibuc),
};
