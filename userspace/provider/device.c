// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Registration with libibverbs, the device, the context and its table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "metaroce.h"

/* The clock of mroce_cqe.timestamp counts nanoseconds. */
#define MROCE_CLOCK_KHZ		1000000

static int mroce_query_device_ex(struct ibv_context *context,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr,
				 size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	uint64_t fw;
	int err;

	err = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (err)
		return err;

	fw = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw >> 32 & 0xffff),
		 (unsigned int)(fw >> 16 & 0xffff),
		 (unsigned int)(fw & 0xffff));

	/* A caller of the first versions of the structure lacks these fields. */
	if (attr_size >= offsetof(struct ibv_device_attr_ex, hca_core_clock) +
			 sizeof(attr->hca_core_clock)) {
		attr->completion_timestamp_mask = UINT64_MAX;
		attr->hca_core_clock = MROCE_CLOCK_KHZ;
	}
	return 0;
}

static int mroce_query_port(struct ibv_context *context, uint8_t port_num,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port_num, attr, &cmd, sizeof(cmd));
}

static int mroce_query_rt_values(struct ibv_context *context,
				 struct ibv_values_ex *values)
{
	struct timespec now;

	(void)context;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
			return errno;
		/* By convention the device's ticks stand in tv_nsec alone. */
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = now.tv_sec * 1000000000L +
					    now.tv_nsec;
	}
	return 0;
}

static void mroce_free_context(struct ibv_context *context)
{
	struct mroce_context *ctx = to_mctx(context);

	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

/* What is not here libibverbs answers with EOPNOTSUPP. */
static const struct verbs_context_ops mroce_context_ops = {
	.alloc_mw = mroce_alloc_mw,
	.alloc_pd = mroce_alloc_pd,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = mroce_bind_mw,
	.create_ah = mroce_create_ah,
	.create_cq = mroce_create_cq,
	.create_cq_ex = mroce_create_cq_ex,
	.create_qp = mroce_create_qp,
	.create_qp_ex = mroce_create_qp_ex,
	.create_srq = mroce_create_srq,
	.dealloc_mw = mroce_dealloc_mw,
	.dealloc_pd = mroce_dealloc_pd,
	.dereg_mr = mroce_dereg_mr,
	.destroy_ah = mroce_destroy_ah,
	.destroy_cq = mroce_destroy_cq,
	.destroy_qp = mroce_destroy_qp,
	.destroy_srq = mroce_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = mroce_free_context,
	.modify_qp = mroce_modify_qp,
	.modify_srq = mroce_modify_srq,
	.poll_cq = mroce_poll_cq,
	.post_recv = mroce_post_recv,
	.post_send = mroce_post_send,
	.post_srq_recv = mroce_post_srq_recv,
	.query_device_ex = mroce_query_device_ex,
	.query_port = mroce_query_port,
	.query_qp = mroce_query_qp,
	.query_qp_data_in_order = mroce_query_qp_data_in_order,
	.query_rt_values = mroce_query_rt_values,
	.query_srq = mroce_query_srq,
	.reg_mr = mroce_reg_mr,
	.req_notify_cq = ibv_cmd_req_notify_cq,
	.rereg_mr = mroce_rereg_mr,
	.resize_cq = mroce_resize_cq,
};

static struct verbs_context *mroce_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd, void *private_data)
{
	struct {
		struct ib_uverbs_get_context_resp ib;
		struct mroce_alloc_ucontext_resp drv;
	} resp = {};
	struct ibv_get_context cmd;
	struct mroce_context *ctx;

	(void)private_data;
	/* The fourth argument is an offset in the guise of a pointer. */
	ctx = _verbs_init_and_alloc_context(ibdev, cmd_fd, sizeof(*ctx),
		(struct verbs_context *)offsetof(struct mroce_context, vctx),
		MROCE_DRIVER_ID);
	if (!ctx)
		return NULL;

	if (ibv_cmd_get_context(&ctx->vctx, &cmd, sizeof(cmd), &resp.ib,
				sizeof(resp)))
		goto err_uninit;

	if (resp.drv.abi_version != MROCE_UVERBS_ABI_VERSION) {
		fprintf(stderr,
			"libmetaroce: %s: the driver speaks ABI version %u, this library %u; please install matching versions of both\n",
			ibdev->name, resp.drv.abi_version,
			MROCE_UVERBS_ABI_VERSION);
		errno = EPROTONOSUPPORT;
		goto err_uninit;
	}

	ctx->max_inline = resp.drv.max_inline;
	ctx->max_sge = resp.drv.max_sge;
	verbs_set_ops(&ctx->vctx, &mroce_context_ops);
	return &ctx->vctx;

err_uninit:
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	return NULL;
}

static struct verbs_device *mroce_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	(void)sysfs_dev;
	return calloc(1, sizeof(struct verbs_device));
}

static void mroce_uninit_device(struct verbs_device *device)
{
	free(device);
}

/* By driver id alone: users choose the device's name and udev renames it. */
static const struct verbs_match_ent mroce_match_table[] = {
	{ .u.driver_id = MROCE_DRIVER_ID, .kind = VERBS_MATCH_DRIVER_ID },
	{},
};

static const struct verbs_device_ops mroce_device_ops = {
	.name = "metaroce",
	.match_min_abi_version = MROCE_UVERBS_ABI_VERSION,
	.match_max_abi_version = MROCE_UVERBS_ABI_VERSION,
	.match_table = mroce_match_table,
	.alloc_context = mroce_alloc_context,
	.alloc_device = mroce_alloc_device,
	.uninit_device = mroce_uninit_device,
};

static __attribute__((constructor)) void mroce_register_driver(void)
{
	verbs_register_driver(&mroce_device_ops);
}
