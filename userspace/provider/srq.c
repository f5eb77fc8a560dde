// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared receive queues; posting to them is in post.c. */
#include <errno.h>
#include <stdlib.h>

#include "metaroce.h"

static void srq_free(struct mroce_srq *srq)
{
	mroce_ring_unmap(&srq->ring);
	pthread_spin_destroy(&srq->lock);
	free(srq);
}

struct ibv_srq *mroce_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct {
		struct ib_uverbs_create_srq_resp ib;
		struct mroce_create_srq_resp drv;
	} resp = {};
	struct ibv_create_srq cmd;
	struct mroce_srq *srq;
	int err;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	pthread_spin_init(&srq->lock, PTHREAD_PROCESS_PRIVATE);

	if (ibv_cmd_create_srq(pd, &srq->ibsrq, attr, &cmd, sizeof(cmd),
			       &resp.ib, sizeof(resp)))
		goto err_free;

	srq->max_sge = attr->attr.max_sge;
	err = mroce_ring_map(&srq->ring, pd->context->cmd_fd, &resp.drv.rq,
			     sizeof(struct mroce_recv_wqe) +
			     srq->max_sge * sizeof(struct mroce_sge));
	if (err)
		goto err_destroy;
	mroce_ring_reload(&srq->ring);
	return &srq->ibsrq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->ibsrq);
	errno = err;
err_free:
	srq_free(srq);
	return NULL;
}

int mroce_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct {
		struct ibv_modify_srq ib;
		struct mroce_modify_srq_cmd drv;
	} cmd = {};

	/* The command has no answer in which a new ring could come back. */
	if (mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd.ib, sizeof(cmd));
}

int mroce_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int mroce_destroy_srq(struct ibv_srq *ibsrq)
{
	int err = ibv_cmd_destroy_srq(ibsrq);

	if (!err)
		srq_free(to_msrq(ibsrq));
	return err;
}
