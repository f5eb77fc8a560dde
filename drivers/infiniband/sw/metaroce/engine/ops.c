// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The core's actions, carried out. Called under econn->lock. */
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "internal.h"

#define HOLD_BYTES	(16 << 20)	/* payload held out of order per connection */

static u32 rq_posted(struct mroce_stream *s)
{
	return mroce_rq_posted(s->owner);
}

/*
 * A small packet held by reference would pin its whole merged skb, and UDP has uncharged
 * that already: copy it out unless most of the skb is ours.
 */
static bool hold(struct mroce_conn *c, struct mroce_rxpkt *pkt)
{
	struct mroce_econn *econn = to_econn(c);
	struct sk_buff *skb = pkt->payload;
	void *copy;

	if (atomic_read(&econn->held_bytes) + pkt->plen > HOLD_BYTES)
		return false;
	if (pkt->plen && pkt->plen < skb->truesize / 4) {
		copy = kmalloc(pkt->plen, GFP_ATOMIC | __GFP_NOWARN);
		if (!copy)
			return false;
		if (skb_copy_bits(skb, pkt->payload_off, copy, pkt->plen)) {
			kfree(copy);
			return false;
		}
		pkt->payload = copy;
		pkt->copied = true;
	} else if (pkt->plen) {
		pkt->payload = skb_get(skb);
		pkt->copied = false;
	} else {
		pkt->payload = NULL;
		pkt->copied = true;
	}
	atomic_add(pkt->plen, &econn->held_bytes);
	return true;
}

static void unhold(struct mroce_conn *c, struct mroce_rxpkt *pkt)
{
	atomic_sub(pkt->plen, &to_econn(c)->held_bytes);
	if (pkt->copied)
		kfree(pkt->payload);
	else
		consume_skb(pkt->payload);
	pkt->payload = NULL;
}

static u8 received(struct mroce_stream *s, u32 rqn, u8 op, u8 flags, u32 imm, u32 len, u8 nak)
{
	struct mroce_qp *qp = s->owner;
	struct mroce_rwqe *wqe;
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = op == MROCE_OP_SEND ? IB_WC_RECV : IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = len,
		.src_qp = s->rqpn,
	};

	/* placing looks at bytes; a length may be claimed without them */
	if (!nak && op == MROCE_OP_SEND) {
		wqe = mroce_rq_get(qp, rqn);
		if (wqe && len > wqe->length)
			nak = MROCE_NAK_INV_REQ;
	}
	if (nak) {
		/* a message that is too long, or a buffer that can't be used */
		wc.status = nak == MROCE_NAK_INV_REQ ? IB_WC_LOC_LEN_ERR : IB_WC_LOC_PROT_ERR;
		wc.vendor_err = nak;
	} else if (flags & MROCE_F_IMM) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = (__force __be32)imm;
	}
	mroce_rq_complete(qp, rqn, &wc, flags & MROCE_F_SOLICITED, to_econn(s->conn)->notify);
	return nak;
}

static int needed_access(u8 op)
{
	return op == MROCE_OP_READ ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_ATOMIC;
}

static u8 check(struct mroce_stream *s, u8 op, u32 rkey, u64 va, u32 len)
{
	struct mroce_qp *qp = s->owner;
	enum ib_wc_status status;
	struct mroce_mr *mr;

	if (!(qp->attr.qp_access_flags & needed_access(op)))
		return MROCE_NAK_ACCESS;
	if (op != MROCE_OP_READ && va & 7)
		return MROCE_NAK_INV_REQ;
	mr = mroce_mr_get(qp->dev, qp->ibqp.pd, rkey, va, len, needed_access(op), true, &status);
	if (mr)
		mroce_mr_put(mr);
	return status == IB_WC_SUCCESS ? MROCE_NAK_NONE : MROCE_NAK_ACCESS;
}

/* Atomic towards other atomics of the device and towards the CPUs (IB_ATOMIC_GLOB). */
static u8 atomic(struct mroce_stream *s, u8 op, u32 rkey, u64 va, u64 compare_add, u64 swap,
		 u64 *original)
{
	struct mroce_qp *qp = s->owner;
	enum ib_wc_status status;
	struct mroce_mr *mr;
	struct page *page;
	atomic64_t *word;
	size_t off;

	mr = mroce_mr_get(qp->dev, qp->ibqp.pd, rkey, va, 8, IB_ACCESS_REMOTE_ATOMIC, true,
			  &status);
	if (!mr)
		return MROCE_NAK_ACCESS;
	mroce_mr_page(mr, va, 8, &page, &off);
	if (off & 7) {
		mroce_mr_put(mr);
		return MROCE_NAK_INV_REQ;
	}
	word = page_address(page) + off;
	if (op == MROCE_OP_FETCH_ADD)
		*original = atomic64_fetch_add(compare_add, word);
	else
		*original = atomic64_cmpxchg(word, compare_add, swap);
	mroce_mr_put(mr);
	return MROCE_NAK_NONE;
}

static void completed(struct mroce_stream *s, u32 index, struct mroce_txmsg *m)
{
	mroce_sq_complete(s->owner, container_of(m, struct mroce_swqe, msg), IB_WC_SUCCESS, 0,
			  to_econn(s->conn)->notify);
}

static enum ib_wc_status nak_status(u8 nak)
{
	switch (nak) {
	case MROCE_NAK_INV_REQ:
		return IB_WC_REM_INV_REQ_ERR;
	case MROCE_NAK_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	case MROCE_NAK_GONE:
		/* what a peer that went away looks like to RC's users */
		return IB_WC_RETRY_EXC_ERR;
	default:
		return IB_WC_REM_OP_ERR;
	}
}

static enum ib_wc_status fail_status(const struct mroce_swqe *wqe, enum mroce_fail why, u8 nak)
{
	switch (why) {
	case MROCE_FAIL_NAK:
		return nak_status(nak);
	case MROCE_FAIL_LOCAL:
		return wqe->status != IB_WC_SUCCESS ? wqe->status : IB_WC_LOC_PROT_ERR;
	case MROCE_FAIL_RNR:
		return IB_WC_RNR_RETRY_EXC_ERR;
	default:
		return IB_WC_RETRY_EXC_ERR;
	}
}

/* The affiliated event of a side that refuses: IBTA 11.6.3.2 */
static int nak_event(u8 nak)
{
	switch (nak) {
	case MROCE_NAK_ACCESS:
		return IB_EVENT_QP_ACCESS_ERR;
	case MROCE_NAK_INV_REQ:
		return IB_EVENT_QP_REQ_ERR;
	default:
		return IB_EVENT_QP_FATAL;
	}
}

static void failed(struct mroce_stream *s, u32 index, struct mroce_txmsg *m, enum mroce_fail why,
		   u8 nak)
{
	struct mroce_econn *econn = to_econn(s->conn);
	struct mroce_qp *qp = s->owner;
	struct mroce_swqe *wqe;

	if (!m) {
		mroce_qp_fail(qp, why == MROCE_FAIL_NAK ? nak_event(nak) : -1);
		return;
	}
	wqe = container_of(m, struct mroce_swqe, msg);
	if (m->pins)	/* flushing completes it, with this */
		mroce_sq_fail_oldest(qp, fail_status(wqe, why, nak), why << 8 | nak);
	else
		mroce_sq_complete(qp, wqe, fail_status(wqe, why, nak), why << 8 | nak,
				  econn->notify);
	mroce_qp_fail(qp, -1);
}

static struct mroce_stream *by_handle(struct mroce_conn *c, u32 handle)
{
	return xa_load(&to_econn(c)->streams, handle);
}

static struct mroce_stream *find_stream(struct mroce_conn *c, u32 dst_qpn, u32 src_qpn)
{
	struct mroce_stream *s = xa_load(&to_econn(c)->by_qpn, dst_qpn);

	/* bound: one that is being made is in there already */
	return s && s->conn && s->rqpn == src_qpn ? s : NULL;
}

static void grow(struct mroce_conn *c)
{
	mroce_econn_grow(to_econn(c));
}

static void way_silent(struct mroce_conn *c, u8 way)
{
	mroce_ways_silent(to_econn(c), way);
}

const struct mroce_core_ops mroce_engine_ops = {
	.rq_posted = rq_posted,
	.hold = hold,
	.unhold = unhold,
	.received = received,
	.check = check,
	.atomic = atomic,
	.completed = completed,
	.failed = failed,
	.way_silent = way_silent,
	.grow = grow,
	.find_stream = find_stream,
	.by_handle = by_handle,
	.conn_event = mroce_econn_conn_event,
	.path_event = mroce_econn_path_event,
	.stream_event = mroce_trace_stream_event,
	.repair = mroce_trace_repair,
	.refused = mroce_trace_refused,
};
