// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive queues. A process posts into its ring without telling; entries are
 * copied and checked when the transport first looks at them, in order.
 *
 *	tail (completed) <= fetched (copied) <= posted
 */
#include "../engine/engine.h"
#include "internal.h"

/* How far the user's producer index is believed: no further than the ring. */
static u32 mroce_rq_producer(const struct mroce_wq *rq)
{
	u32 tail = READ_ONCE(rq->tail);
	u32 producer;

	if (!rq->ring.hdr) {
		/* the entries after the index; pairs with mroce_rq_post_one() */
		return smp_load_acquire(&rq->head);
	}
	/* the entries after the index; pairs with user space's release */
	producer = smp_load_acquire(&rq->ring.hdr->producer);
	if (producer - tail > rq->entries)
		return READ_ONCE(rq->fetched);
	return producer;
}

u32 mroce_rq_posted(struct mroce_qp *qp)
{
	return mroce_rq_producer(&qp->rq);
}

/* The sum of lengths, or the status that the request fails with. */
static void mroce_rwqe_check(struct mroce_rwqe *wqe)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++)
		length += wqe->sge[i].length;
	wqe->status = length > MROCE_MAX_MSG_SIZE ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
	wqe->length = min_t(u64, length, MROCE_MAX_MSG_SIZE);
}

/* Copies a slot of the user's ring, and only then looks at it. */
static void mroce_rq_copy_user(struct mroce_wq *rq, u32 index, struct mroce_rwqe *wqe)
{
	const struct mroce_recv_wqe *slot =
		rq->ring.slots + (size_t)(index & (rq->ring.entries - 1)) * rq->ring.entry_size;

	wqe->wr_id = READ_ONCE(slot->wr_id);
	wqe->num_sge = READ_ONCE(slot->num_sge);
	if (wqe->num_sge > rq->max_sge) {
		wqe->num_sge = 0;
		wqe->length = 0;
		wqe->status = IB_WC_LOC_QP_OP_ERR;
		return;
	}
	memcpy(wqe->sge, slot->sge, wqe->num_sge * sizeof(wqe->sge[0]));
	mroce_rwqe_check(wqe);
}

static void mroce_rq_fetch(struct mroce_wq *rq, u32 end)
{
	lockdep_assert_held(&rq->lock);
	for (; rq->fetched != end; rq->fetched++)
		mroce_rq_copy_user(rq, rq->fetched, mroce_rq_wqe(rq, rq->fetched));
}

struct mroce_rwqe *mroce_rq_get(struct mroce_qp *qp, u32 rqn)
{
	struct mroce_rwqe *wqe = NULL;
	struct mroce_wq *rq = &qp->rq;

	spin_lock(&rq->lock);
	if (rq->flush || rqn - rq->tail >= mroce_rq_producer(rq) - rq->tail)
		goto out;
	if (rq->ring.hdr && rqn - rq->tail >= rq->fetched - rq->tail)
		mroce_rq_fetch(rq, rqn + 1);
	wqe = mroce_rq_wqe(rq, rqn);
out:
	spin_unlock(&rq->lock);
	return wqe;
}

static void mroce_rq_finish(struct mroce_qp *qp, struct ib_wc *wc, bool solicited,
			    struct mroce_notify *notify)
{
	struct mroce_wq *rq = &qp->rq;

	lockdep_assert_held(&rq->lock);
	wc->wr_id = mroce_rq_wqe(rq, rq->tail)->wr_id;
	wc->qp = &qp->ibqp;
	wc->port_num = MROCE_PORT;

	/* the room before the completion: who polls may post at once */
	WRITE_ONCE(rq->tail, rq->tail + 1);
	if (rq->ring.hdr) {
		/* after the last look at the slot; pairs with user space's acquire */
		smp_store_release(&rq->ring.hdr->consumer, rq->tail);
	}
	mroce_cq_post(qp->rcq, wc, solicited, notify);
}

void mroce_rq_complete(struct mroce_qp *qp, u32 rqn, struct ib_wc *wc, bool solicited,
		       struct mroce_notify *notify)
{
	struct mroce_wq *rq = &qp->rq;

	spin_lock(&rq->lock);
	/* otherwise it was flushed while a datagram was being copied */
	if (rqn == rq->tail && !rq->flush) {
		/* without payload nobody has looked at it: immediate data, zero length */
		if (rq->ring.hdr && rq->fetched == rq->tail)
			mroce_rq_fetch(rq, rq->tail + 1);
		mroce_rq_finish(qp, wc, solicited, notify);
	}
	spin_unlock(&rq->lock);
}

/* Return: false if there may be more. */
static bool mroce_rq_flush_some(struct mroce_qp *qp, struct mroce_notify *notify)
{
	struct mroce_wq *rq = &qp->rq;
	u32 budget = 256;
	u32 posted;

	posted = mroce_rq_producer(rq);
	while (rq->tail != posted && budget--) {
		struct ib_wc wc = {
			.status = IB_WC_WR_FLUSH_ERR,
			.opcode = IB_WC_RECV,
		};

		if (rq->ring.hdr && rq->fetched == rq->tail)
			mroce_rq_fetch(rq, rq->tail + 1);
		mroce_rq_finish(qp, &wc, false, notify);
	}
	return rq->tail == posted;
}

/* Flushes what is posted, unless the QP is reset meanwhile. Bounded by the queue's depth. */
static void mroce_rq_flush_posted(struct mroce_qp *qp, struct mroce_notify *notify)
{
	struct mroce_wq *rq = &qp->rq;
	u32 rounds = rq->entries / 256 + 1;
	unsigned long flags;
	bool done;

	do {
		spin_lock_irqsave(&rq->lock, flags);
		done = !rq->flush || mroce_rq_flush_some(qp, notify);
		spin_unlock_irqrestore(&rq->lock, flags);
	} while (!done && --rounds);
}

/**
 * mroce_rq_flush - flush receives of a QP in ERR, and from now on new ones at once
 * @qp: QP
 * @notify: CQs to notify
 *
 * modify_lock held: no reset comes between.
 */
void mroce_rq_flush(struct mroce_qp *qp, struct mroce_notify *notify)
{
	struct mroce_wq *rq = &qp->rq;
	unsigned long flags;

	lockdep_assert_held(&qp->modify_lock);
	spin_lock_irqsave(&rq->lock, flags);
	rq->flush = true;
	if (rq->ring.hdr) {
		WRITE_ONCE(rq->ring.hdr->flags, MROCE_RING_F_NEED_DOORBELL);
		/* flag before index; user space has them the other way round */
		smp_mb();
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	mroce_rq_flush_posted(qp, notify);
}

static int mroce_rq_post_one(struct mroce_wq *rq, const struct ib_recv_wr *wr)
{
	struct mroce_rwqe *wqe;
	u32 i;

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (rq->head - rq->tail >= rq->max_wr)
		return -ENOMEM;

	wqe = mroce_rq_wqe(rq, rq->head);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	for (i = 0; i < wqe->num_sge; i++) {
		wqe->sge[i].addr = wr->sg_list[i].addr;
		wqe->sge[i].length = wr->sg_list[i].length;
		wqe->sge[i].lkey = wr->sg_list[i].lkey;
	}
	mroce_rwqe_check(wqe);
	rq->fetched++;
	/* pairs with mroce_rq_producer() */
	smp_store_release(&rq->head, rq->head + 1);
	return 0;
}

int mroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct mroce_wq *rq = &qp->rq;
	unsigned long flags;
	int err = 0;
	bool flush;
	MROCE_NOTIFY(notify);

	/* a process' posts are in its ring; it calls with none, as a doorbell */
	if (qp->is_user && wr) {
		*bad_wr = wr;
		return -EINVAL;
	}

	spin_lock_irqsave(&rq->lock, flags);
	if (READ_ONCE(qp->state) == IB_QPS_RESET && wr)
		err = -EINVAL;
	while (wr && !err) {
		err = mroce_rq_post_one(rq, wr);
		if (!err)
			wr = wr->next;
	}
	if (err)
		*bad_wr = wr;
	flush = rq->flush;
	spin_unlock_irqrestore(&rq->lock, flags);

	if (flush) {
		mroce_rq_flush_posted(qp, &notify);
		mroce_notify_flush(&notify);
	}
	return err;
}
