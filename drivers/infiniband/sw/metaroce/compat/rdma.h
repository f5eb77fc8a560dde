/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The RDMA core's API as the newest kernel has it, for older ones. */
#ifndef _METAROCE_COMPAT_RDMA_H
#define _METAROCE_COMPAT_RDMA_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include <mroce_probes.h>

#ifndef MROCE_HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
/* Older kernels can't tell udev; its rule files have to leave us alone. */
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/* What ib_device_ops.create_cq gets of a user's request. */
#ifdef MROCE_HAVE_CREATE_CQ_ATTRS
#define mroce_create_cq_arg	uverbs_attr_bundle

static inline struct ib_udata *mroce_create_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
#define mroce_create_cq_arg	ib_udata

static inline struct ib_udata *mroce_create_cq_udata(struct ib_udata *udata)
{
	return udata;
}
#endif

#endif /* _METAROCE_COMPAT_RDMA_H */
