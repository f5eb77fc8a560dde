// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs: create, query, modify, destroy. Posting is in post.c and wr.c. */
#include <errno.h>
#include <stdlib.h>

#include "metaroce.h"

#define QP_COMP_MASK (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

static void qp_free(struct mroce_qp *qp)
{
	mroce_ring_unmap(&qp->sq);
	mroce_ring_unmap(&qp->rq);
	pthread_spin_destroy(&qp->sq_lock);
	pthread_spin_destroy(&qp->rq_lock);
	free(qp);
}

/* Takes over what the kernel granted; the slots must be large enough for it. */
static int qp_map(struct mroce_qp *qp, int cmd_fd,
		  const struct ibv_qp_init_attr_ex *attr,
		  const struct mroce_create_qp_resp *resp)
{
	size_t sges = attr->cap.max_send_sge * sizeof(struct mroce_sge);
	size_t data = attr->cap.max_inline_data;
	int err;

	qp->max_send_sge = attr->cap.max_send_sge;
	qp->max_inline = attr->cap.max_inline_data;
	qp->max_recv_sge = attr->cap.max_recv_sge;
	qp->sq_sig_all = attr->sq_sig_all;

	if (resp->sq.mmap_size) {
		err = mroce_ring_map(&qp->sq, cmd_fd, &resp->sq,
				     sizeof(struct mroce_send_wqe) +
				     (sges > data ? sges : data));
		if (err)
			return err;
		mroce_ring_reload(&qp->sq);
	}
	if (resp->rq.mmap_size) {
		err = mroce_ring_map(&qp->rq, cmd_fd, &resp->rq,
				     sizeof(struct mroce_recv_wqe) +
				     attr->cap.max_recv_sge *
				     sizeof(struct mroce_sge));
		if (err)
			return err;
		mroce_ring_reload(&qp->rq);
	}
	return 0;
}

static int qp_init_ops(struct mroce_qp *qp,
		       const struct ibv_qp_init_attr_ex *attr)
{
	int err;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return 0;
	err = mroce_wr_set_ops(qp, attr->send_ops_flags);
	if (!err)
		qp->vqp.comp_mask |= VERBS_QP_EX;
	return err;
}

struct ibv_qp *mroce_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct {
		struct ib_uverbs_create_qp_resp ib;
		struct mroce_create_qp_resp drv;
	} resp = {};
	struct ibv_create_qp cmd;
	struct mroce_qp *qp;
	int err;

	if ((attr->comp_mask & ~(uint32_t)QP_COMP_MASK) ||
	    (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	     attr->qp_type != IBV_QPT_UD)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	pthread_spin_init(&qp->sq_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp->rq_lock, PTHREAD_PROCESS_PRIVATE);

	if (ibv_cmd_create_qp_ex(context, &qp->vqp, attr, &cmd, sizeof(cmd),
				 &resp.ib, sizeof(resp)))
		goto err_free;
	err = qp_map(qp, context->cmd_fd, attr, &resp.drv);
	if (!err)
		err = qp_init_ops(qp, attr);
	if (err)
		goto err_destroy;
	return &qp->vqp.qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
	errno = err;
err_free:
	qp_free(qp);
	return NULL;
}

struct ibv_qp *mroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = mroce_create_qp_ex(pd->context, &attr_ex);

	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

int mroce_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

static void qp_clean_cqs(struct mroce_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	mroce_cq_clean(to_mcq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		mroce_cq_clean(to_mcq(ibqp->recv_cq), ibqp->qp_num);
}

/* RESET forgets all work: the kernel has set the indices of the rings to 0. */
static void qp_reset(struct mroce_qp *qp)
{
	qp_clean_cqs(qp);

	pthread_spin_lock(&qp->sq_lock);
	if (qp->sq.hdr)
		mroce_ring_reload(&qp->sq);
	pthread_spin_unlock(&qp->sq_lock);

	pthread_spin_lock(&qp->rq_lock);
	if (qp->rq.hdr)
		mroce_ring_reload(&qp->rq);
	pthread_spin_unlock(&qp->rq_lock);
}

int mroce_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask)
{
	struct ibv_modify_qp cmd;
	int err;

	err = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (!err && (attr_mask & IBV_QP_STATE) &&
	    attr->qp_state == IBV_QPS_RESET)
		qp_reset(to_mqp(ibqp));
	return err;
}

/* A program that destroys a QP has often freed what its wr_ids point to. */
int mroce_destroy_qp(struct ibv_qp *ibqp)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	int err = ibv_cmd_destroy_qp(ibqp);

	if (err)
		return err;
	qp_clean_cqs(qp);
	qp_free(qp);
	return 0;
}

/*
 * What the receiver guarantees by default is 128-byte lines in ascending order
 * for RC writes. Libraries that can't say so take any answer for "the whole
 * message", which is more than we promise.
 */
int mroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
				 uint32_t flags)
{
	(void)flags;
#ifdef MROCE_HAVE_DATA_IN_ORDER_CAPS
	if (qp->qp_type == IBV_QPT_RC && (op == IBV_WR_RDMA_WRITE ||
					  op == IBV_WR_RDMA_WRITE_WITH_IMM))
		return IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES;
#else
	(void)qp;
	(void)op;
#endif
	return 0;
}
