// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Posting work requests, and the doorbells. */
#include <errno.h>
#include <unistd.h>

#include "wqe.h"

enum {
	T_RC = 1 << 0,
	T_UC = 1 << 1,
	T_UD = 1 << 2,
	T_CONN = T_RC | T_UC,
	T_ALL = T_RC | T_UC | T_UD,

	F_DATA = 1 << 8,	/* has a scatter list */
	F_INLINE = 1 << 9,	/* or data instead */
	F_REMOTE = 1 << 10,	/* remote_addr and rkey */
	F_ATOMIC = 1 << 11,
	F_IMM = 1 << 12,
	F_INV = 1 << 13,
	F_BIND = 1 << 14,
};

static const uint16_t op_info[] = {
	[IBV_WR_RDMA_WRITE] = T_CONN | F_DATA | F_INLINE | F_REMOTE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = T_CONN | F_DATA | F_INLINE | F_REMOTE |
				       F_IMM,
	[IBV_WR_SEND] = T_ALL | F_DATA | F_INLINE,
	[IBV_WR_SEND_WITH_IMM] = T_ALL | F_DATA | F_INLINE | F_IMM,
	[IBV_WR_RDMA_READ] = T_RC | F_DATA | F_REMOTE,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = T_RC | F_DATA | F_ATOMIC,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = T_RC | F_DATA | F_ATOMIC,
	[IBV_WR_LOCAL_INV] = T_CONN | F_INV,
	[IBV_WR_BIND_MW] = T_CONN | F_BIND,
	[IBV_WR_SEND_WITH_INV] = T_CONN | F_DATA | F_INLINE | F_INV,
};

static uint32_t op_lookup(const struct ibv_qp *qp, uint32_t opcode)
{
	uint32_t info, type;

	if (opcode >= sizeof(op_info) / sizeof(op_info[0]))
		return 0;
	info = op_info[opcode];
	switch (qp->qp_type) {
	case IBV_QPT_RC:
		type = T_RC;
		break;
	case IBV_QPT_UC:
		type = T_UC;
		break;
	case IBV_QPT_UD:
		type = T_UD;
		break;
	default:
		return 0;
	}
	return info & type ? info : 0;
}

/* One system call that says "look at the ring": a post of no work requests. */
static int ring_doorbell(const struct ibv_context *context, const void *cmd,
			 size_t size)
{
	ssize_t n;

	do {
		n = write(context->cmd_fd, cmd, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	return (size_t)n == size ? 0 : EIO;
}

/**
 * mroce_send_doorbell - make the kernel drain a send queue
 * @qp: the QP; its new work requests are published
 *
 * Return: 0 or an errno value (EIO: the device is gone).
 */
int mroce_send_doorbell(struct ibv_qp *qp)
{
	struct ib_uverbs_post_send_resp resp;
	struct ibv_post_send cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(cmd) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.core_payload = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp->handle,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};

	return ring_doorbell(qp->context, &cmd, sizeof(cmd));
}

static int recv_doorbell(struct ibv_qp *qp)
{
	struct ib_uverbs_post_recv_resp resp;
	struct ibv_post_recv cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_RECV,
			.in_words = sizeof(cmd) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.core_payload = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp->handle,
			.wqe_size = sizeof(struct ib_uverbs_recv_wr),
		},
	};

	return ring_doorbell(qp->context, &cmd, sizeof(cmd));
}

static int srq_doorbell(struct ibv_srq *srq)
{
	struct ib_uverbs_post_srq_recv_resp resp;
	struct ibv_post_srq_recv cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SRQ_RECV,
			.in_words = sizeof(cmd) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.core_payload = {
			.response = (uintptr_t)&resp,
			.srq_handle = srq->handle,
			.wqe_size = sizeof(struct ib_uverbs_recv_wr),
		},
	};

	return ring_doorbell(srq->context, &cmd, sizeof(cmd));
}

static int write_data(const struct mroce_qp *qp, struct mroce_send_wqe *wqe,
		      const struct ibv_send_wr *wr, uint32_t info)
{
	int i;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->max_send_sge)
		return EINVAL;

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		mroce_wqe_set_sges(mroce_wqe_sges(wqe), wr->sg_list,
				   (size_t)wr->num_sge);
		wqe->num_sge = (uint32_t)wr->num_sge;
		return 0;
	}

	if (!(info & F_INLINE))
		return EINVAL;
	wqe->flags |= MROCE_WQE_INLINE;
	for (i = 0; i < wr->num_sge; i++)
		if (!mroce_wqe_add_inline(qp, wqe,
					  (void *)(uintptr_t)wr->sg_list[i].addr,
					  wr->sg_list[i].length))
			return EINVAL;
	return 0;
}

/* Writes @wr into @wqe. What is wrong here is the caller's bad_wr. */
static int write_send_wqe(const struct mroce_qp *qp,
			  struct mroce_send_wqe *wqe,
			  const struct ibv_send_wr *wr)
{
	uint32_t info = op_lookup(&qp->vqp.qp, wr->opcode);

	if (!info || (wr->send_flags & ~(MROCE_WQE_PLAIN_FLAGS |
					 (unsigned int)IBV_SEND_INLINE)))
		return EINVAL;

	mroce_wqe_head(qp, wqe, wr->wr_id, wr->opcode, wr->send_flags);
	if (info & F_IMM)
		wqe->ex.imm_data = wr->imm_data;
	if (info & F_INV)
		wqe->ex.invalidate_rkey = wr->invalidate_rkey;

	if (info & F_REMOTE) {
		wqe->wr.rdma.remote_addr = wr->wr.rdma.remote_addr;
		wqe->wr.rdma.rkey = wr->wr.rdma.rkey;
	} else if (info & F_ATOMIC) {
		wqe->wr.rdma.remote_addr = wr->wr.atomic.remote_addr;
		wqe->wr.rdma.compare_add = wr->wr.atomic.compare_add;
		wqe->wr.rdma.swap = wr->wr.atomic.swap;
		wqe->wr.rdma.rkey = wr->wr.atomic.rkey;
	} else if (info & F_BIND) {
		if (!wr->bind_mw.mw)
			return EINVAL;
		mroce_wqe_set_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
				   &wr->bind_mw.bind_info);
	} else if (info & T_UD && qp->vqp.qp.qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		wqe->wr.ud.ah_num = to_mah(wr->wr.ud.ah)->ah_num;
		wqe->wr.ud.remote_qpn = wr->wr.ud.remote_qpn;
		wqe->wr.ud.remote_qkey = wr->wr.ud.remote_qkey;
	}

	return info & F_DATA ? write_data(qp, wqe, wr, info) : 0;
}

int mroce_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct ibv_send_wr *first = wr;
	uint32_t idx;
	bool posted;
	int err = 0;

	pthread_spin_lock(&qp->sq_lock);
	for (idx = qp->sq.pos; wr; wr = wr->next) {
		if (!mroce_qp_can_send(ibqp))
			err = EINVAL;
		else if (!qp->sq.hdr || !mroce_ring_has_room(&qp->sq, idx))
			err = ENOMEM;
		else
			err = write_send_wqe(qp, mroce_ring_slot(&qp->sq, idx),
					     wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
		idx++;
	}
	posted = qp->sq.hdr && idx != qp->sq.pos;
	if (posted)
		mroce_ring_publish(&qp->sq, idx);
	pthread_spin_unlock(&qp->sq_lock);

	/* Outside the lock: the ring alone decides the order. */
	if (posted) {
		int db_err = mroce_send_doorbell(ibqp);

		if (db_err && !err) {
			*bad_wr = first;
			err = db_err;
		}
	}
	return err;
}

static int write_recv_wqe(struct mroce_recv_wqe *wqe,
			  const struct ibv_recv_wr *wr, uint32_t max_sge)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = (uint32_t)wr->num_sge;
	wqe->rsvd = 0;
	mroce_wqe_set_sges(wqe->sge, wr->sg_list, (size_t)wr->num_sge);
	return 0;
}

/*
 * The common half of both receive queues, under the queue's lock. Each request
 * is published at once: a message may already be waiting for it.
 */
static int post_recv_list(struct mroce_ring *ring, uint32_t max_sge,
			  struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err = 0;

	for (; wr; wr = wr->next) {
		if (!mroce_ring_has_room(ring, ring->pos))
			err = ENOMEM;
		else
			err = write_recv_wqe(mroce_ring_slot(ring, ring->pos),
					     wr, max_sge);
		if (err) {
			*bad_wr = wr;
			break;
		}
		mroce_ring_publish(ring, ring->pos + 1);
	}
	return err;
}

int mroce_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct ibv_recv_wr *first = wr;
	bool wanted;
	int err;

	if (ibqp->srq || ibqp->state == IBV_QPS_RESET || !qp->rq.hdr) {
		*bad_wr = wr;
		return ibqp->srq || qp->rq.hdr ? EINVAL : ENOMEM;
	}

	pthread_spin_lock(&qp->rq_lock);
	err = post_recv_list(&qp->rq, qp->max_recv_sge, wr, bad_wr);
	wanted = mroce_ring_wants_doorbell(&qp->rq);
	pthread_spin_unlock(&qp->rq_lock);

	/* In ERR somebody must flush what was posted. */
	if (wanted || ibqp->state == IBV_QPS_ERR) {
		int db_err = recv_doorbell(ibqp);

		if (db_err && !err) {
			*bad_wr = first;
			err = db_err;
		}
	}
	return err;
}

int mroce_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct mroce_srq *srq = to_msrq(ibsrq);
	struct ibv_recv_wr *first = wr;
	bool wanted;
	int err;

	pthread_spin_lock(&srq->lock);
	err = post_recv_list(&srq->ring, srq->max_sge, wr, bad_wr);
	wanted = mroce_ring_wants_doorbell(&srq->ring);
	pthread_spin_unlock(&srq->lock);

	if (wanted) {
		int db_err = srq_doorbell(ibsrq);

		if (db_err && !err) {
			*bad_wr = first;
			err = db_err;
		}
	}
	return err;
}
