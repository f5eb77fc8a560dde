// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues. A process polls its ring itself; kernel users poll entries
 * of struct ib_wc here.
 */
#include <linux/ktime.h>
#include <linux/log2.h>

#include "internal.h"

/* What IBV_WC_WITH_INV is to user space; the kernel's own flag has another value. */
#define MROCE_UWC_WITH_INV	BIT(3)

static void mroce_cq_put(struct mroce_cq *cq)
{
	if (refcount_dec_and_test(&cq->refs))
		complete(&cq->idle);
}

/* Nothing a process writes there can harm anybody but itself. */
u32 mroce_cq_consumer(const struct mroce_cq *cq)
{
	return cq->ring.hdr ? READ_ONCE(cq->ring.hdr->consumer) : cq->consumer;
}

static void *mroce_cq_slot(const struct mroce_cq *cq, u32 index)
{
	return cq->ring.slots + (size_t)(index & (cq->ring.entries - 1)) * cq->ring.entry_size;
}

static void mroce_cq_fill(const struct mroce_cq *cq, struct mroce_cqe *cqe, const struct ib_wc *wc)
{
	u32 flags = wc->wc_flags & (IB_WC_GRH | IB_WC_WITH_IMM);

	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		flags |= MROCE_UWC_WITH_INV;

	*cqe = (struct mroce_cqe) {
		.wr_id = wc->wr_id,
		/* reading the clock may cost more than all the rest */
		.timestamp = cq->timestamps ? ktime_get_raw_ns() : 0,
		.status = wc->status,
		.opcode = wc->opcode,
		.vendor_err = wc->vendor_err,
		.byte_len = wc->byte_len,
		.ex.imm_data = wc->ex.imm_data,
		.qp_num = wc->qp->qp_num,
		.src_qp = wc->src_qp,
		.wc_flags = flags,
		.pkey_index = wc->pkey_index,
		.slid = wc->slid,
		.sl = wc->sl,
		.dlid_path_bits = wc->dlid_path_bits,
	};
}

static void mroce_cq_queue(struct mroce_cq *cq, struct mroce_notify *notify)
{
	lockdep_assert_held(&cq->lock);
	if (cq->queued)
		return;
	cq->queued = true;
	refcount_inc(&cq->refs);
	list_add_tail(&cq->notify, &notify->cqs);
}

void mroce_cq_post(struct mroce_cq *cq, const struct ib_wc *wc, bool solicited,
		   struct mroce_notify *notify)
{
	void *slot;

	spin_lock(&cq->lock);
	if (cq->dead)
		goto out;
	if (cq->producer - mroce_cq_consumer(cq) >= cq->ring.entries) {
		cq->dead = true;
		cq->overflow = true;
		mroce_cq_queue(cq, notify);
		goto out;
	}

	slot = mroce_cq_slot(cq, cq->producer++);
	if (cq->is_user) {
		mroce_cq_fill(cq, slot, wc);
		/* the entry before the index; pairs with user space's acquire */
		smp_store_release(&cq->ring.hdr->producer, cq->producer);
	} else {
		*(struct ib_wc *)slot = *wc;
	}

	if (cq->armed == IB_CQ_NEXT_COMP ||
	    (cq->armed == IB_CQ_SOLICITED && (solicited || wc->status != IB_WC_SUCCESS))) {
		cq->armed = 0;
		cq->events++;
		mroce_cq_queue(cq, notify);
	}
out:
	spin_unlock(&cq->lock);
}

static void mroce_cq_overflow_event(struct mroce_cq *cq)
{
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	ibdev_err_ratelimited(cq->ibcq.device, "CQ of %u entries has overflowed\n",
			      cq->ring.entries);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

void mroce_notify_flush(struct mroce_notify *notify)
{
	struct mroce_cq *cq;
	unsigned long flags;
	bool overflow;
	u32 events;

	while (!list_empty(&notify->cqs)) {
		cq = list_first_entry(&notify->cqs, struct mroce_cq, notify);

		/* off the list first: what comes now needs an event of its own */
		spin_lock_irqsave(&cq->lock, flags);
		list_del(&cq->notify);
		cq->queued = false;
		overflow = cq->overflow;
		cq->overflow = false;
		events = cq->events;
		cq->events = 0;
		spin_unlock_irqrestore(&cq->lock, flags);

		if (overflow)
			mroce_cq_overflow_event(cq);
		while (events--)
			cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		mroce_cq_put(cq);
	}
}

int mroce_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct mroce_cq *cq = to_mcq(ibcq);
	const struct ib_wc *src;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	while (n < num && cq->consumer != cq->producer) {
		src = mroce_cq_slot(cq, cq->consumer++);
		/* NULL: of a QP that was destroyed */
		if (src->qp)
			wc[n++] = *src;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int mroce_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	/* of a caller who sets both, the wider */
	u8 kind = flags & IB_CQ_NEXT_COMP ? IB_CQ_NEXT_COMP : flags & IB_CQ_SOLICITED;
	struct mroce_cq *cq = to_mcq(ibcq);
	unsigned long irqflags;
	int missed;

	spin_lock_irqsave(&cq->lock, irqflags);
	/* arming twice takes the wider of the two */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = kind;
	missed = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->producer != mroce_cq_consumer(cq);
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return missed;
}

/**
 * mroce_cq_forget - drop the completions of a QP that ends or is reset
 * @cq: kernel CQ; user space cleans its own
 * @ibqp: it
 */
void mroce_cq_forget(struct mroce_cq *cq, const struct ib_qp *ibqp)
{
	struct ib_wc *wc;
	unsigned long flags;
	u32 i;

	if (cq->is_user)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	for (i = cq->consumer; i != cq->producer; i++) {
		wc = mroce_cq_slot(cq, i);
		if (wc->qp == ibqp)
			wc->qp = NULL;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * A small CQ has more than it was asked for: some programs leave a completion behind now and then
 * and live by the slack that other devices have.
 */
static u32 mroce_cq_entries(u32 cqe)
{
	return max_t(u32, roundup_pow_of_two(cqe), MROCE_MIN_CQE);
}

static int mroce_cq_create_user(struct mroce_cq *cq, u32 entries, struct ib_udata *udata)
{
	struct mroce_create_cq_resp resp = {};
	int err;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	err = mroce_ring_create(&cq->ring, udata, entries, sizeof(struct mroce_cqe), &resp.cq);
	if (err)
		return err;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		mroce_ring_destroy(&cq->ring);
	return err;
}

static int mroce_cq_create_kernel(struct mroce_cq *cq, u32 entries)
{
	cq->ring.entries = entries;
	cq->ring.entry_size = sizeof(struct ib_wc);
	cq->ring.slots = kvcalloc(entries, sizeof(struct ib_wc), GFP_KERNEL);
	return cq->ring.slots ? 0 : -ENOMEM;
}

int mroce_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct mroce_create_cq_arg *arg)
{
	struct ib_udata *udata = mroce_create_cq_udata(arg);
	struct mroce_cq *cq = to_mcq(ibcq);
	u32 entries;
	int err;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > MROCE_MAX_CQE)
		return -EINVAL;

	spin_lock_init(&cq->lock);
	refcount_set(&cq->refs, 1);
	init_completion(&cq->idle);
	cq->is_user = udata;
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;

	entries = mroce_cq_entries(attr->cqe);
	err = udata ? mroce_cq_create_user(cq, entries, udata) :
		      mroce_cq_create_kernel(cq, entries);
	if (err)
		return err;
	ibcq->cqe = entries;
	return 0;
}

int mroce_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct mroce_cq *cq = to_mcq(ibcq);
	struct mroce_ring ring;

	/* no QP posts any more; wait for those who are about to call its handler */
	mroce_cq_put(cq);
	wait_for_completion(&cq->idle);
	/* some kernels let mroce_fill_res_cq_entry() look until after this call */
	spin_lock_bh(&cq->lock);
	ring = cq->ring;
	cq->ring = (struct mroce_ring) {};
	spin_unlock_bh(&cq->lock);
	if (cq->is_user)
		mroce_ring_destroy(&ring);
	else
		kvfree(ring.slots);
	return 0;
}

/* Moves to @ring what the process hasn't consumed. Return: -EINVAL if that is more than @cqe. */
VISIBLE_FOR_KUNIT int mroce_cq_switch(struct mroce_cq *cq, struct mroce_ring *ring, u32 cqe)
{
	struct mroce_ring old = cq->ring;
	u32 consumer, i;

	lockdep_assert_held(&cq->lock);
	consumer = mroce_cq_consumer(cq);
	if (cq->producer - consumer > min3(old.entries, ring->entries, cqe))
		return -EINVAL;

	ring->hdr->consumer = consumer;
	ring->hdr->producer = cq->producer;
	cq->ring = *ring;
	for (i = consumer; i != cq->producer; i++)
		memcpy(mroce_cq_slot(cq, i),
		       old.slots + (size_t)(i & (old.entries - 1)) * old.entry_size,
		       old.entry_size);
	*ring = old;
	return 0;
}

int mroce_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct mroce_resize_cq_resp resp = {};
	struct mroce_cq *cq = to_mcq(ibcq);
	struct mroce_ring ring = {};
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > MROCE_MAX_CQE || udata->outlen < sizeof(resp))
		return -EINVAL;

	err = mroce_ring_create(&ring, udata, mroce_cq_entries(cqe), sizeof(struct mroce_cqe),
				&resp.cq);
	if (err)
		return err;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!err) {
		spin_lock_bh(&cq->lock);
		err = mroce_cq_switch(cq, &ring, cqe);
		spin_unlock_bh(&cq->lock);
	}
	if (!err)
		ibcq->cqe = cq->ring.entries;
	/* the old one, or on failure the new one */
	mroce_ring_destroy(&ring);
	return err;
}
