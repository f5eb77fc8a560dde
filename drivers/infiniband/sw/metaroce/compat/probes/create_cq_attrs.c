// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ib_device_ops.create_cq takes the attribute bundle (since 6.11), udata before */
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

int probe(struct ib_device_ops *ops, struct ib_cq *cq, const struct ib_cq_init_attr *attr,
	  struct uverbs_attr_bundle *attrs);
int probe(struct ib_device_ops *ops, struct ib_cq *cq, const struct ib_cq_init_attr *attr,
	  struct uverbs_attr_bundle *attrs)
{
	return ops->create_cq(cq, attr, attrs);
}
