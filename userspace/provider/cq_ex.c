// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended polling. Each entry is copied out and consumed at once, so the
 * readers look at memory of our own and end_poll has nothing to count: after
 * next_poll found nothing it can't step past the producer.
 */
#include <errno.h>

#include "metaroce.h"

static int cq_take(struct mroce_cq *cq)
{
	const struct mroce_cqe *cqe = mroce_ring_peek(&cq->ring);

	if (!cqe)
		return ENOENT;
	cq->cqe = *cqe;
	cq->vcq.cq_ex.wr_id = cq->cqe.wr_id;
	cq->vcq.cq_ex.status = (enum ibv_wc_status)cq->cqe.status;
	cq->ring.pos++;
	mroce_ring_release(&cq->ring);
	return 0;
}

/* The lock is held until end_poll, unless there is nothing to poll. */
static int cq_start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct mroce_cq *cq = to_mcq_ex(ibcq);
	int err;

	if (attr->comp_mask)
		return EINVAL;

	pthread_spin_lock(&cq->lock);
	err = cq_take(cq);
	if (err)
		pthread_spin_unlock(&cq->lock);
	return err;
}

static int cq_next_poll(struct ibv_cq_ex *ibcq)
{
	return cq_take(to_mcq_ex(ibcq));
}

static void cq_end_poll(struct ibv_cq_ex *ibcq)
{
	pthread_spin_unlock(&to_mcq_ex(ibcq)->lock);
}

static enum ibv_wc_opcode cq_read_opcode(struct ibv_cq_ex *ibcq)
{
	return (enum ibv_wc_opcode)to_mcq_ex(ibcq)->cqe.opcode;
}

static uint32_t cq_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.vendor_err;
}

static uint32_t cq_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.byte_len;
}

/* Also reads an invalidated rkey: ibv_wc_read_invalidated_rkey() asks here. */
static __be32 cq_read_imm_data(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.ex.imm_data;
}

static uint32_t cq_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.qp_num;
}

static uint32_t cq_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.src_qp;
}

static unsigned int cq_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.wc_flags;
}

static uint32_t cq_read_slid(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.slid;
}

static uint8_t cq_read_sl(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.sl;
}

static uint8_t cq_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.dlid_path_bits;
}

static uint64_t cq_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_mcq_ex(ibcq)->cqe.timestamp;
}

void mroce_cq_ex_set_ops(struct mroce_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = cq_start_poll;
	ex->next_poll = cq_next_poll;
	ex->end_poll = cq_end_poll;
	ex->read_opcode = cq_read_opcode;
	ex->read_vendor_err = cq_read_vendor_err;
	ex->read_wc_flags = cq_read_wc_flags;

	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = cq_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = cq_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = cq_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = cq_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = cq_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = cq_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = cq_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = cq_read_completion_ts;
}
