// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send queues. Work requests, from a process' ring or a kernel user's list, are
 * copied into the kernel's own queue, checked there, and handed to the transport
 * (RC) or sent (UD). A request that is wrong takes its place in the order and
 * fails when its turn comes.
 *
 *	tail (completed) <= head (copied)
 */
#include <linux/irqflags.h>

#include "../engine/engine.h"
#include "internal.h"

#define MROCE_SQ_CHUNK		64	/* requests per round of the lock */

/* What there is to know of an opcode. */
struct mroce_wr_info {
	u8 op;			/* enum mroce_op */
	u8 msg_flags;		/* enum mroce_msg_flags */
	u8 wc_opcode;		/* enum ib_wc_opcode */
	u8 local_access;	/* IB_ACCESS_* that its local memory needs */
	u8 length;		/* its local memory must have; 0: any */
	bool inlinable;
	bool remote;		/* names remote memory */
	bool receive;		/* takes a receive, so may be solicited */
	u16 qp_types;		/* BIT(enum ib_qp_type) */
};

#define MROCE_RC	BIT(IB_QPT_RC)
#define MROCE_DGRAM	(BIT(IB_QPT_UD) | BIT(IB_QPT_GSI))

static const struct mroce_wr_info mroce_wr_table[] = {
	[IB_WR_RDMA_WRITE] = {
		.op = MROCE_OP_WRITE, .wc_opcode = IB_WC_RDMA_WRITE,
		.inlinable = true, .remote = true, .qp_types = MROCE_RC,
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		.op = MROCE_OP_WRITE, .msg_flags = MROCE_MSG_IMM, .wc_opcode = IB_WC_RDMA_WRITE,
		.inlinable = true, .remote = true, .receive = true, .qp_types = MROCE_RC,
	},
	[IB_WR_SEND] = {
		.op = MROCE_OP_SEND, .wc_opcode = IB_WC_SEND,
		.inlinable = true, .receive = true, .qp_types = MROCE_RC | MROCE_DGRAM,
	},
	[IB_WR_SEND_WITH_IMM] = {
		.op = MROCE_OP_SEND, .msg_flags = MROCE_MSG_IMM, .wc_opcode = IB_WC_SEND,
		.inlinable = true, .receive = true, .qp_types = MROCE_RC | MROCE_DGRAM,
	},
	[IB_WR_RDMA_READ] = {
		.op = MROCE_OP_READ, .wc_opcode = IB_WC_RDMA_READ,
		.local_access = IB_ACCESS_LOCAL_WRITE, .remote = true, .qp_types = MROCE_RC,
	},
	[IB_WR_ATOMIC_CMP_AND_SWP] = {
		.op = MROCE_OP_CMP_SWAP, .wc_opcode = IB_WC_COMP_SWAP, .length = 8,
		.local_access = IB_ACCESS_LOCAL_WRITE, .remote = true, .qp_types = MROCE_RC,
	},
	[IB_WR_ATOMIC_FETCH_AND_ADD] = {
		.op = MROCE_OP_FETCH_ADD, .wc_opcode = IB_WC_FETCH_ADD, .length = 8,
		.local_access = IB_ACCESS_LOCAL_WRITE, .remote = true, .qp_types = MROCE_RC,
	},
};

static_assert(MROCE_WQE_FENCE == (int)IB_SEND_FENCE);
static_assert(MROCE_WQE_SIGNALED == (int)IB_SEND_SIGNALED);
static_assert(MROCE_WQE_SOLICITED == (int)IB_SEND_SOLICITED);
static_assert(MROCE_WQE_INLINE == (int)IB_SEND_INLINE);

/* Return: NULL if this kind of QP doesn't have it. */
static const struct mroce_wr_info *mroce_wr_info(const struct mroce_qp *qp, u32 opcode)
{
	if (opcode >= ARRAY_SIZE(mroce_wr_table) ||
	    !(mroce_wr_table[opcode].qp_types & BIT(qp->ibqp.qp_type)))
		return NULL;
	return &mroce_wr_table[opcode];
}

/* ---- checks ---- */

/* Are the local buffers there, with the rights the opcode needs? Adds up their lengths. */
static enum ib_wc_status mroce_swqe_check_sges(struct mroce_qp *qp, const struct mroce_swqe *wqe,
					       const struct mroce_wr_info *info, u64 *length)
{
	enum ib_wc_status status;
	u32 i;

	*length = 0;
	for (i = 0; i < wqe->num_sge; i++) {
		const struct mroce_sge *sge = &wqe->sge[i];

		mroce_mr_put(mroce_mr_get(qp->dev, qp->ibqp.pd, sge->lkey, sge->addr, sge->length,
					  info->local_access, false, &status));
		if (status != IB_WC_SUCCESS)
			return status;
		*length += sge->length;
	}
	return IB_WC_SUCCESS;
}

/* Checks a copied request and derives its length. Its number of SGEs was checked. */
static enum ib_wc_status mroce_swqe_check(struct mroce_qp *qp, struct mroce_swqe *wqe,
					  const struct mroce_wr_info *info)
{
	enum ib_wc_status status = IB_WC_SUCCESS;
	u64 length = wqe->inline_len;

	if (!(wqe->flags & MROCE_WQE_INLINE))
		status = mroce_swqe_check_sges(qp, wqe, info, &length);
	else if (!info->inlinable)
		return IB_WC_LOC_QP_OP_ERR;
	if (status != IB_WC_SUCCESS)
		return status;
	if (length > MROCE_MAX_MSG_SIZE || (info->length && length != info->length))
		return IB_WC_LOC_LEN_ERR;
	wqe->msg.len = length;
	return IB_WC_SUCCESS;
}

/* Fills in the core's part of a checked request, the rest of which is set. */
static void mroce_swqe_finish(struct mroce_qp *qp, struct mroce_swqe *wqe,
			      const struct mroce_wr_info *info)
{
	struct mroce_txmsg *msg = &wqe->msg;

	if (info) {
		msg->op = info->op;
		msg->flags = info->msg_flags;
		if (wqe->status == IB_WC_SUCCESS)
			wqe->status = mroce_swqe_check(qp, wqe, info);
		if (info->receive && wqe->flags & MROCE_WQE_SOLICITED)
			msg->flags |= MROCE_MSG_SOLICITED;
	} else {
		wqe->status = IB_WC_LOC_QP_OP_ERR;
	}
	if (wqe->flags & MROCE_WQE_FENCE)
		msg->flags |= MROCE_MSG_FENCE;
	if (wqe->status != IB_WC_SUCCESS)
		msg->flags |= MROCE_MSG_FAILED;
}

static void mroce_swqe_start(struct mroce_swqe *wqe, u64 wr_id, u32 opcode, u32 flags)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr_id;
	wqe->opcode = opcode;
	wqe->flags = flags;
	wqe->status = IB_WC_SUCCESS;
}

/* The Q_Key of a datagram; one with its top bit set stands for the QP's own. */
static u32 mroce_ud_qkey(const struct mroce_qp *qp, u32 qkey)
{
	return qkey & BIT(31) ? qp->attr.qkey : qkey;
}

/* ---- from a process' ring ---- */

static void mroce_swqe_user_wr(struct mroce_qp *qp, struct mroce_swqe *wqe,
			       const struct mroce_wr_info *info, const struct mroce_send_wqe *u)
{
	struct mroce_txmsg *msg = &wqe->msg;

	msg->imm = (__force u32)u->ex.imm_data;
	if (info->remote) {
		msg->raddr = u->wr.rdma.remote_addr;
		msg->rkey = u->wr.rdma.rkey;
		msg->compare_add = u->wr.rdma.compare_add;
		msg->swap = u->wr.rdma.swap;
	} else if (info->qp_types & BIT(qp->ibqp.qp_type) & MROCE_DGRAM) {
		wqe->ud.ah_num = u->wr.ud.ah_num;
		wqe->ud.qpn = u->wr.ud.remote_qpn;
		wqe->ud.qkey = mroce_ud_qkey(qp, u->wr.ud.remote_qkey);
		if (!mroce_ah_copy_num(qp->dev, qp->ibqp.pd, wqe->ud.ah_num, wqe))
			wqe->status = IB_WC_LOC_QP_OP_ERR;
	}
}

/* @slot is the process' memory and may change under us: copy, and use the copy. */
static void mroce_sq_copy_user(struct mroce_qp *qp, struct mroce_swqe *wqe, const void *slot)
{
	const struct mroce_wr_info *info;
	struct mroce_send_wqe u;

	memcpy(&u, slot, sizeof(u));
	barrier_data(&u);
	slot += sizeof(u);

	mroce_swqe_start(wqe, u.wr_id, u.opcode, u.flags);
	info = mroce_wr_info(qp, u.opcode);
	if (u.flags & MROCE_WQE_INLINE) {
		if (u.inline_len > qp->sq.max_inline)
			wqe->status = IB_WC_LOC_LEN_ERR;
		else
			wqe->inline_len = u.inline_len;
		memcpy(wqe->data, slot, wqe->inline_len);
	} else {
		if (u.num_sge > qp->sq.max_sge)
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		else
			wqe->num_sge = u.num_sge;
		memcpy(wqe->sge, slot, wqe->num_sge * sizeof(wqe->sge[0]));
	}
	if (info)
		mroce_swqe_user_wr(qp, wqe, info, &u);
	mroce_swqe_finish(qp, wqe, info);
}

/* Copies up to a chunk of the ring. Return: requests copied, -EINVAL if its index is nonsense. */
static int mroce_sq_fetch(struct mroce_qp *qp)
{
	struct mroce_wq *sq = &qp->sq;
	u32 producer, room, n;
	void *slot;

	lockdep_assert_held(&sq->lock);
	/* the entries after the index; pairs with user space's release */
	producer = smp_load_acquire(&sq->ring.hdr->producer);
	/* the tail before the slots that it freed are written again */
	room = sq->entries - (sq->head - smp_load_acquire(&sq->tail));
	/* also one that went back: counting up to it would pass the slots of requests under way */
	if (producer - sq->head > room)
		return -EINVAL;

	for (n = 0; n < MROCE_SQ_CHUNK && sq->head != producer; n++) {
		slot = sq->ring.slots +
		       (size_t)(sq->head & (sq->entries - 1)) * sq->ring.entry_size;
		mroce_sq_copy_user(qp, mroce_sq_wqe(sq, sq->head), slot);
		/* the copy before the index; pairs with the engine's acquire */
		smp_store_release(&sq->head, sq->head + 1);
	}
	return n;
}

/* ---- from a kernel user ---- */

static int mroce_swqe_kernel_data(struct mroce_qp *qp, struct mroce_swqe *wqe,
				  const struct ib_send_wr *wr)
{
	int i;

	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	if (!(wr->send_flags & IB_SEND_INLINE)) {
		wqe->num_sge = wr->num_sge;
		for (i = 0; i < wr->num_sge; i++) {
			wqe->sge[i].addr = wr->sg_list[i].addr;
			wqe->sge[i].length = wr->sg_list[i].length;
			wqe->sge[i].lkey = wr->sg_list[i].lkey;
		}
		return 0;
	}
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->sq.max_inline - wqe->inline_len)
			return -EINVAL;
		memcpy(wqe->data + wqe->inline_len, (void *)(uintptr_t)sge->addr, sge->length);
		wqe->inline_len += sge->length;
	}
	return 0;
}

static int mroce_sq_copy_kernel(struct mroce_qp *qp, struct mroce_swqe *wqe,
				const struct ib_send_wr *wr)
{
	const struct mroce_wr_info *info = mroce_wr_info(qp, wr->opcode);
	struct mroce_txmsg *msg = &wqe->msg;
	int err;

	if (!info)
		return -EINVAL;
	mroce_swqe_start(wqe, wr->wr_id, wr->opcode,
			 wr->send_flags & (MROCE_WQE_FENCE | MROCE_WQE_SIGNALED |
					   MROCE_WQE_SOLICITED | MROCE_WQE_INLINE));
	err = mroce_swqe_kernel_data(qp, wqe, wr);
	if (err)
		return err;

	msg->imm = (__force u32)wr->ex.imm_data;
	if (info->length) {
		msg->raddr = atomic_wr(wr)->remote_addr;
		msg->rkey = atomic_wr(wr)->rkey;
		msg->compare_add = atomic_wr(wr)->compare_add;
		msg->swap = atomic_wr(wr)->swap;
	} else if (info->remote) {
		msg->raddr = rdma_wr(wr)->remote_addr;
		msg->rkey = rdma_wr(wr)->rkey;
	} else if (qp->ibqp.qp_type != IB_QPT_RC) {
		if (!mroce_ah_copy(to_mah(ud_wr(wr)->ah), wqe))
			return -EINVAL;
		wqe->ud.qpn = ud_wr(wr)->remote_qpn;
		wqe->ud.qkey = mroce_ud_qkey(qp, ud_wr(wr)->remote_qkey);
	}
	mroce_swqe_finish(qp, wqe, info);
	return 0;
}

static int mroce_sq_post_one(struct mroce_qp *qp, const struct ib_send_wr *wr)
{
	struct mroce_wq *sq = &qp->sq;
	int err;

	/* pairs with mroce_sq_complete(), which is done with the slot then */
	if (sq->head - smp_load_acquire(&sq->tail) >= sq->max_wr)
		return -ENOMEM;
	err = mroce_sq_copy_kernel(qp, mroce_sq_wqe(sq, sq->head), wr);
	if (err)
		return err;
	/* the copy before the index; pairs with the engine's acquire */
	smp_store_release(&sq->head, sq->head + 1);
	return 0;
}

/* ---- completion ---- */

void mroce_sq_complete(struct mroce_qp *qp, struct mroce_swqe *wqe, enum ib_wc_status status,
		       u32 vendor_err, struct mroce_notify *notify)
{
	const struct mroce_wr_info *info = mroce_wr_info(qp, wqe->opcode);
	struct mroce_wq *sq = &qp->sq;
	struct ib_wc wc = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = info ? info->wc_opcode : IB_WC_SEND,
		.vendor_err = vendor_err,
		.byte_len = wqe->msg.len,
		.qp = &qp->ibqp,
		.port_num = MROCE_PORT,
	};
	bool signal = status != IB_WC_SUCCESS || qp->sq_sig_all ||
		      wqe->flags & MROCE_WQE_SIGNALED;

	WARN_ON_ONCE(wqe != mroce_sq_wqe(sq, sq->tail));

	/* The room before the completion: who polls may post at once. wqe is gone after it. */
	smp_store_release(&sq->tail, sq->tail + 1);
	if (sq->ring.hdr) {
		/* pairs with user space's acquire */
		smp_store_release(&sq->ring.hdr->consumer, sq->tail);
	}
	if (signal)
		mroce_cq_post(qp->scq, &wc, false, notify);
}

void mroce_sq_fail_oldest(struct mroce_qp *qp, enum ib_wc_status status, u32 vendor_err)
{
	qp->sq.oldest_err = vendor_err;
	qp->sq.oldest = status;
}

static void mroce_sq_flush_one(struct mroce_qp *qp, struct mroce_notify *notify)
{
	struct mroce_wq *sq = &qp->sq;
	enum ib_wc_status status = sq->oldest ?: IB_WC_WR_FLUSH_ERR;
	u32 err = sq->oldest ? sq->oldest_err : 0;

	lockdep_assert_held(&sq->lock);
	sq->oldest = IB_WC_SUCCESS;
	mroce_sq_complete(qp, mroce_sq_wqe(sq, sq->tail), status, err, notify);
}

/* Flushes what is posted, unless the QP is reset meanwhile. Bounded by the queue's depth. */
static void mroce_sq_flush_posted(struct mroce_qp *qp, struct mroce_notify *notify)
{
	struct mroce_wq *sq = &qp->sq;
	u32 rounds = sq->entries / MROCE_SQ_CHUNK + 1;
	unsigned long flags;
	bool done;
	u32 n;

	do {
		spin_lock_irqsave(&sq->lock, flags);
		if (sq->flush && sq->ring.hdr)
			mroce_sq_fetch(qp);
		for (n = 0; n < MROCE_SQ_CHUNK && sq->flush && sq->tail != sq->head; n++)
			mroce_sq_flush_one(qp, notify);
		done = !n;
		spin_unlock_irqrestore(&sq->lock, flags);
	} while (!done && --rounds);
}

/**
 * mroce_sq_flush - flush requests of a QP in ERR, and from now on new ones at once
 * @qp: QP, which the engine has stopped
 * @notify: CQs to notify
 *
 * Process context, modify_lock held: no reset comes between.
 */
void mroce_sq_flush(struct mroce_qp *qp, struct mroce_notify *notify)
{
	struct mroce_wq *sq = &qp->sq;
	unsigned long flags;

	lockdep_assert_held(&qp->modify_lock);
	spin_lock_irqsave(&sq->lock, flags);
	sq->flush = true;
	spin_unlock_irqrestore(&sq->lock, flags);
	mroce_sq_flush_posted(qp, notify);
}

/* ---- posting ---- */

static void mroce_sq_send_datagrams(struct mroce_qp *qp)
{
	struct mroce_wq *sq = &qp->sq;
	enum ib_wc_status status;
	struct mroce_swqe *wqe;
	u32 n;
	MROCE_NOTIFY(notify);

	spin_lock_bh(&sq->lock);
	for (n = 0; n < sq->entries && sq->tail != sq->head && !sq->flush; n++) {
		wqe = mroce_sq_wqe(sq, sq->tail);
		status = wqe->status;
		if (status == IB_WC_SUCCESS)
			status = mroce_engine_ud_send(qp, wqe);
		mroce_sq_complete(qp, wqe, status, 0, &notify);
		if (status != IB_WC_SUCCESS) {
			mroce_qp_fail(qp, -1);
			break;
		}
	}
	spin_unlock_bh(&sq->lock);
	mroce_notify_flush(&notify);
}

/* Hands on what was copied. Interrupts are on, no lock is held. */
static void mroce_sq_run(struct mroce_qp *qp)
{
	if (READ_ONCE(qp->sq.flush)) {
		MROCE_NOTIFY(notify);

		mroce_sq_flush_posted(qp, &notify);
		mroce_notify_flush(&notify);
	} else if (READ_ONCE(qp->state) != IB_QPS_RTS) {
		return;		/* error_work will flush it */
	} else if (qp->ibqp.qp_type == IB_QPT_RC) {
		mroce_engine_qp_kick(qp);
	} else {
		mroce_sq_send_datagrams(qp);
	}
}

void mroce_sq_send_work(struct work_struct *work)
{
	mroce_sq_run(container_of(work, struct mroce_qp, send_work));
}

static bool mroce_sq_may_post(const struct mroce_qp *qp)
{
	switch (READ_ONCE(qp->state)) {
	case IB_QPS_RTS:
	case IB_QPS_SQD:
	case IB_QPS_SQE:
	case IB_QPS_ERR:
		return true;
	default:
		return false;
	}
}

/* The doorbell of a process: takes what is in the ring now, no more than it holds. */
static int mroce_sq_doorbell(struct mroce_qp *qp)
{
	struct mroce_wq *sq = &qp->sq;
	u32 left = sq->entries;
	int n;

	do {
		spin_lock_bh(&sq->lock);
		n = mroce_sq_may_post(qp) ? mroce_sq_fetch(qp) : -EINVAL;
		spin_unlock_bh(&sq->lock);
		if (n > 0) {
			mroce_sq_run(qp);
			left -= min_t(u32, n, left);
		}
	} while (n == MROCE_SQ_CHUNK && left);
	return min(n, 0);
}

int mroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct mroce_wq *sq = &qp->sq;
	unsigned long flags;
	int err = 0;

	if (qp->is_user) {
		*bad_wr = wr;
		return wr ? -EINVAL : mroce_sq_doorbell(qp);
	}

	spin_lock_irqsave(&sq->lock, flags);
	if (!mroce_sq_may_post(qp))
		err = -EINVAL;
	while (wr && !err) {
		err = mroce_sq_post_one(qp, wr);
		if (!err)
			wr = wr->next;
	}
	spin_unlock_irqrestore(&sq->lock, flags);
	if (err)
		*bad_wr = wr;

	/* ib_mad posts with interrupts off, where nothing can be sent */
	if (irqs_disabled())
		queue_work(mroce_wq, &qp->send_work);
	else
		mroce_sq_run(qp);
	return err;
}
