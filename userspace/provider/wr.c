// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended posting (ibv_wr_*). Requests are written into the ring as the calls
 * come; wr_complete publishes the batch with one doorbell, wr_abort forgets it.
 * After the first error qp->wr.wqe is NULL and all setters do nothing;
 * wr_complete then returns the error and posts none of the batch.
 */
#include <errno.h>

#include "wqe.h"

static void wr_fail(struct mroce_qp *qp, int err)
{
	if (!qp->wr.err)
		qp->wr.err = err;
	qp->wr.wqe = NULL;
}

static struct mroce_send_wqe *wr_next(struct ibv_qp_ex *ex,
				      enum ibv_wr_opcode opcode)
{
	struct mroce_qp *qp = to_mqp_ex(ex);

	if (qp->wr.err)
		return NULL;
	if (!mroce_ring_has_room(&qp->sq, qp->wr.idx)) {
		wr_fail(qp, ENOMEM);
		return NULL;
	}
	qp->wr.wqe = mroce_ring_slot(&qp->sq, qp->wr.idx++);
	mroce_wqe_head(qp, qp->wr.wqe, ex->wr_id, opcode, ex->wr_flags);
	return qp->wr.wqe;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct mroce_qp *qp = to_mqp_ex(ex);

	pthread_spin_lock(&qp->sq_lock);
	qp->wr.idx = qp->sq.pos;
	qp->wr.wqe = NULL;
	qp->wr.err = 0;
	if (!mroce_qp_can_send(&ex->qp_base))
		wr_fail(qp, EINVAL);
	else if (!qp->sq.hdr)
		wr_fail(qp, ENOMEM);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct mroce_qp *qp = to_mqp_ex(ex);
	bool posted = false;
	int err = qp->wr.err;

	if (!err && qp->wr.idx != qp->sq.pos) {
		mroce_ring_publish(&qp->sq, qp->wr.idx);
		posted = true;
	}
	pthread_spin_unlock(&qp->sq_lock);
	return posted ? mroce_send_doorbell(&ex->qp_base) : err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_spin_unlock(&to_mqp_ex(ex)->sq_lock);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	wr_next(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct mroce_send_wqe *wqe = wr_next(ex, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->ex.imm_data = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct mroce_send_wqe *wqe = wr_next(ex, IBV_WR_SEND_WITH_INV);

	if (wqe)
		wqe->ex.invalidate_rkey = rkey;
}

static struct mroce_send_wqe *wr_remote(struct ibv_qp_ex *ex,
					enum ibv_wr_opcode opcode,
					uint32_t rkey, uint64_t remote_addr)
{
	struct mroce_send_wqe *wqe = wr_next(ex, opcode);

	if (wqe) {
		wqe->wr.rdma.remote_addr = remote_addr;
		wqe->wr.rdma.rkey = rkey;
	}
	return wqe;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey,
			  uint64_t remote_addr)
{
	wr_remote(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct mroce_send_wqe *wqe = wr_remote(ex, IBV_WR_RDMA_WRITE_WITH_IMM,
					       rkey, remote_addr);

	if (wqe)
		wqe->ex.imm_data = imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey,
			 uint64_t remote_addr)
{
	wr_remote(ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct mroce_send_wqe *wqe = wr_remote(ex, IBV_WR_ATOMIC_CMP_AND_SWP,
					       rkey, remote_addr);

	if (wqe) {
		wqe->wr.rdma.compare_add = compare;
		wqe->wr.rdma.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	struct mroce_send_wqe *wqe = wr_remote(ex, IBV_WR_ATOMIC_FETCH_AND_ADD,
					       rkey, remote_addr);

	if (wqe)
		wqe->wr.rdma.compare_add = add;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct mroce_send_wqe *wqe = wr_next(ex, IBV_WR_LOCAL_INV);

	if (wqe)
		wqe->ex.invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct mroce_send_wqe *wqe = wr_next(ex, IBV_WR_BIND_MW);

	if (wqe)
		mroce_wqe_set_bind(wqe, mw, rkey, info);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct mroce_send_wqe *wqe = to_mqp_ex(ex)->wr.wqe;

	if (wqe) {
		wqe->wr.ud.ah_num = to_mah(ah)->ah_num;
		wqe->wr.ud.remote_qpn = remote_qpn;
		wqe->wr.ud.remote_qkey = remote_qkey;
	}
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct mroce_qp *qp = to_mqp_ex(ex);
	struct mroce_send_wqe *wqe = qp->wr.wqe;

	if (!wqe)
		return;
	if (num_sge > qp->max_send_sge) {
		wr_fail(qp, EINVAL);
		return;
	}
	mroce_wqe_set_sges(mroce_wqe_sges(wqe), sg_list, num_sge);
	wqe->num_sge = (uint32_t)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct mroce_qp *qp = to_mqp_ex(ex);
	struct mroce_send_wqe *wqe = qp->wr.wqe;
	size_t i;

	if (!wqe)
		return;
	wqe->num_sge = 0;
	wqe->inline_len = 0;
	wqe->flags |= MROCE_WQE_INLINE;
	for (i = 0; i < num_buf; i++) {
		if (!mroce_wqe_add_inline(qp, wqe, buf_list[i].addr,
					  buf_list[i].length)) {
			wr_fail(qp, EINVAL);
			return;
		}
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

#define WR_UD_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define WR_UC_OPS (WR_UD_OPS | IBV_QP_EX_WITH_SEND_WITH_INV |		\
		   IBV_QP_EX_WITH_RDMA_WRITE |				\
		   IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |			\
		   IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define WR_RC_OPS (WR_UC_OPS | IBV_QP_EX_WITH_RDMA_READ |		\
		   IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |			\
		   IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static uint64_t wr_ops_of(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return WR_RC_OPS;
	case IBV_QPT_UC:
		return WR_UC_OPS;
	case IBV_QPT_UD:
		return WR_UD_OPS;
	default:
		return 0;
	}
}

static void wr_set_opcodes(struct ibv_qp_ex *ex, uint64_t flags)
{
	if (flags & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (flags & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	if (flags & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = wr_send_inv;
	if (flags & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = wr_rdma_write;
	if (flags & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if (flags & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = wr_rdma_read;
	if (flags & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (flags & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (flags & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = wr_local_inv;
	if (flags & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = wr_bind_mw;
}

int mroce_wr_set_ops(struct mroce_qp *qp, uint64_t send_ops_flags)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	if (send_ops_flags & ~wr_ops_of(ex->qp_base.qp_type))
		return EOPNOTSUPP;

	wr_set_opcodes(ex, send_ops_flags);
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (ex->qp_base.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	return 0;
}
