// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Addresses, and address handles of UD sends. */
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "internal.h"

#define MROCE_DEFAULT_HOP_LIMIT	64

void mroce_gid_to_addr(struct mroce_addr *addr, const union ib_gid *gid, u32 scope_id)
{
	const struct in6_addr *in6 = (const struct in6_addr *)gid->raw;

	memset(addr, 0, sizeof(*addr));
	if (ipv6_addr_v4mapped(in6)) {
		addr->family = MROCE_AF_INET;
		addr->v4 = in6->s6_addr32[3];
		return;
	}
	addr->family = MROCE_AF_INET6;
	memcpy(addr->v6, gid->raw, sizeof(addr->v6));
	if (ipv6_addr_type(in6) & IPV6_ADDR_LINKLOCAL)
		addr->scope_id = scope_id;
}

int mroce_ah_attr_addrs(const struct rdma_ah_attr *attr, struct mroce_addr *src,
			struct mroce_addr *dst)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	struct net_device *ndev;
	u32 scope_id = 0;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	if (!sgid || rdma_is_zero_gid(&sgid->gid) || rdma_is_zero_gid(&grh->dgid))
		return -EINVAL;
	if (rdma_is_multicast_addr((struct in6_addr *)grh->dgid.raw))
		return -EOPNOTSUPP;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid);
	if (!IS_ERR(ndev))
		scope_id = ndev->ifindex;
	rcu_read_unlock();

	mroce_gid_to_addr(src, &sgid->gid, scope_id);
	mroce_gid_to_addr(dst, &grh->dgid, scope_id);
	return src->family == dst->family ? 0 : -EINVAL;
}

int mroce_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ibah->device);
	struct mroce_create_ah_resp resp = {};
	struct mroce_ah *ah = to_mah(ibah);
	int err;

	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;

	err = mroce_ah_attr_addrs(init->ah_attr, &ah->src, &ah->dst);
	if (err)
		return err;
	ah->attr = *init->ah_attr;
	/* the core holds that reference for the length of this call only */
	ah->attr.grh.sgid_attr = NULL;
	ah->num = 0;
	if (!udata)
		return 0;

	/* user space posts with the number; it always comes in process context */
	err = xa_alloc_cyclic_bh(&dev->ahs, &ah->num, ah, xa_limit_31b, &dev->next_ah, GFP_KERNEL);
	if (err < 0)
		return err;
	resp.ah_num = ah->num;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		xa_erase_bh(&dev->ahs, ah->num);
	return err;
}

int mroce_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_mah(ibah)->attr;
	return 0;
}

int mroce_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct mroce_ah *ah = to_mah(ibah);

	/* posts copy handles under this lock, so none reads it after */
	if (ah->num)
		xa_erase_bh(&to_mdev(ibah->device)->ahs, ah->num);
	return 0;
}

static void mroce_ah_fill(const struct mroce_ah *ah, struct mroce_swqe *wqe)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&ah->attr);

	wqe->ud.src = ah->src;
	wqe->ud.dst = ah->dst;
	wqe->ud.tclass = grh->traffic_class;
	wqe->ud.hop_limit = grh->hop_limit ? grh->hop_limit : MROCE_DEFAULT_HOP_LIMIT;
}

/* Copies what a send needs of a kernel user's handle, which may go once the post is done. */
bool mroce_ah_copy(const struct mroce_ah *ah, struct mroce_swqe *wqe)
{
	if (!ah)
		return false;
	mroce_ah_fill(ah, wqe);
	return true;
}

/* The same for a process' handle, which it names by @num. Return: false if it has none such. */
bool mroce_ah_copy_num(struct mroce_dev *dev, struct ib_pd *pd, u32 num, struct mroce_swqe *wqe)
{
	struct mroce_ah *ah;

	xa_lock_bh(&dev->ahs);
	ah = xa_load(&dev->ahs, num);
	if (ah && ah->ibah.pd != pd)
		ah = NULL;
	if (ah)
		mroce_ah_fill(ah, wqe);
	xa_unlock_bh(&dev->ahs);
	return ah;
}
