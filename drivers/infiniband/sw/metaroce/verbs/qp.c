// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs: creation, destruction, references, and going to the error state. */
#include <linux/log2.h>

#include "../engine/engine.h"
#include "internal.h"

#define MROCE_GSI_QPN		1
#define MROCE_QPN_LIMIT		XA_LIMIT(MROCE_MIN_QPN, MROCE_MAX_QPN)

struct mroce_qp *mroce_qp_find(struct mroce_dev *dev, u32 qpn)
{
	struct mroce_qp *qp;

	/* the lock, not RCU: the core frees a QP without a grace period */
	xa_lock_bh(&dev->qps);
	qp = xa_load(&dev->qps, qpn);
	if (qp) {
		switch (READ_ONCE(qp->state)) {
		case IB_QPS_RTR:
		case IB_QPS_RTS:
		case IB_QPS_SQD:
		case IB_QPS_SQE:
			mroce_qp_get(qp);
			break;
		default:
			qp = NULL;
		}
	}
	xa_unlock_bh(&dev->qps);
	return qp;
}

void mroce_qp_get(struct mroce_qp *qp)
{
	refcount_inc(&qp->refs);
}

void mroce_qp_put(struct mroce_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->idle);
}

void mroce_qp_fail(struct mroce_qp *qp, int event)
{
	unsigned long flags;
	bool failed;

	spin_lock_irqsave(&qp->state_lock, flags);
	failed = qp->state >= IB_QPS_RTR && qp->state < IB_QPS_ERR;
	if (failed) {
		WRITE_ONCE(qp->state, IB_QPS_ERR);
		qp->error_event = event;
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (!failed)
		return;

	mroce_qp_get(qp);
	if (!queue_work(mroce_wq, &qp->error_work))
		mroce_qp_put(qp);
}

/**
 * mroce_qp_flush - bring a QP in ERR to rest
 * @qp: QP
 *
 * Completes all that is posted with IB_WC_WR_FLUSH_ERR, and from now on what will be.
 * Process context, modify_lock held.
 */
void mroce_qp_flush(struct mroce_qp *qp)
{
	MROCE_NOTIFY(notify);

	lockdep_assert_held(&qp->modify_lock);
	if (qp->ibqp.qp_type == IB_QPT_RC)
		mroce_engine_qp_stop(qp);
	mroce_sq_flush(qp, &notify);
	/* a datagram that is being copied completes first */
	spin_lock_bh(&qp->ud_rx_lock);
	mroce_rq_flush(qp, &notify);
	spin_unlock_bh(&qp->ud_rx_lock);
	mroce_notify_flush(&notify);
}

static void mroce_qp_event(struct mroce_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

static void mroce_qp_error_work(struct work_struct *work)
{
	struct mroce_qp *qp = container_of(work, struct mroce_qp, error_work);
	int event = -1;

	mutex_lock(&qp->modify_lock);
	/* it may have been reset since */
	if (READ_ONCE(qp->state) == IB_QPS_ERR) {
		mroce_qp_flush(qp);
		spin_lock_irq(&qp->state_lock);
		swap(event, qp->error_event);
		spin_unlock_irq(&qp->state_lock);
	}
	mutex_unlock(&qp->modify_lock);

	if (event >= 0)
		mroce_qp_event(qp, event);
	mroce_qp_put(qp);
}

/* ---- work queues ---- */

static u32 mroce_wq_entries(u32 max_wr)
{
	return roundup_pow_of_two(max(max_wr, 1U));
}

static int mroce_wq_alloc(struct mroce_wq *wq, u32 max_wr, u32 max_sge, u32 stride)
{
	spin_lock_init(&wq->lock);
	wq->entries = mroce_wq_entries(max_wr);
	wq->max_wr = wq->entries;
	wq->max_sge = max_sge;
	wq->stride = ALIGN(stride, 8);
	wq->wqes = kvcalloc(wq->entries, wq->stride, GFP_KERNEL_ACCOUNT);
	return wq->wqes ? 0 : -ENOMEM;
}

static void mroce_wq_free(struct mroce_wq *wq)
{
	mroce_ring_destroy(&wq->ring);
	kvfree(wq->wqes);
	wq->wqes = NULL;
}

static void mroce_wq_reset(struct mroce_wq *wq)
{
	unsigned long flags;

	spin_lock_irqsave(&wq->lock, flags);
	wq->head = 0;
	wq->fetched = 0;
	wq->tail = 0;
	wq->flush = false;
	wq->oldest = IB_WC_SUCCESS;
	if (wq->ring.hdr) {
		WRITE_ONCE(wq->ring.hdr->flags, 0);
		WRITE_ONCE(wq->ring.hdr->producer, 0);
		WRITE_ONCE(wq->ring.hdr->consumer, 0);
	}
	spin_unlock_irqrestore(&wq->lock, flags);
}

/* Empties both queues. Process context; the engine knows the QP no more. */
void mroce_qp_reset(struct mroce_qp *qp)
{
	cancel_work_sync(&qp->send_work);
	mroce_wq_reset(&qp->sq);
	spin_lock_bh(&qp->ud_rx_lock);
	mroce_wq_reset(&qp->rq);
	spin_unlock_bh(&qp->ud_rx_lock);
	mroce_cq_forget(qp->scq, &qp->ibqp);
	mroce_cq_forget(qp->rcq, &qp->ibqp);
}

/* ---- creation ---- */

static int mroce_qp_check(const struct ib_qp_init_attr *init, bool is_user)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_GSI:
		if (is_user || init->port_num != MROCE_PORT)
			return -EINVAL;
		break;
	case IB_QPT_RC:
	case IB_QPT_UD:
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags || init->srq)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > MROCE_MAX_QP_WR || cap->max_recv_wr > MROCE_MAX_QP_WR ||
	    cap->max_send_sge > MROCE_MAX_SGE || cap->max_recv_sge > MROCE_MAX_SGE ||
	    cap->max_inline_data > MROCE_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static int mroce_qp_alloc_queues(struct mroce_qp *qp, struct ib_qp_cap *cap)
{
	u32 room = max_t(u32, cap->max_send_sge * sizeof(struct mroce_sge),
			 ALIGN(cap->max_inline_data, 8));
	int err;

	err = mroce_wq_alloc(&qp->sq, cap->max_send_wr, cap->max_send_sge,
			     sizeof(struct mroce_swqe) + room);
	if (err)
		return err;
	err = mroce_wq_alloc(&qp->rq, cap->max_recv_wr, cap->max_recv_sge,
			     sizeof(struct mroce_rwqe) +
			     cap->max_recv_sge * sizeof(struct mroce_sge));
	if (err) {
		mroce_wq_free(&qp->sq);
		return err;
	}

	/* the caller is told what it really has */
	qp->sq.max_inline = room;
	cap->max_send_wr = qp->sq.max_wr;
	cap->max_recv_wr = qp->rq.max_wr;
	cap->max_inline_data = room;
	qp->cap = *cap;
	return 0;
}

static int mroce_qp_create_rings(struct mroce_qp *qp, struct mroce_create_qp_resp *resp,
				 struct ib_udata *udata)
{
	int err;

	err = mroce_ring_create(&qp->sq.ring, udata, qp->sq.entries,
				sizeof(struct mroce_send_wqe) + qp->sq.max_inline, &resp->sq);
	if (err)
		return err;
	return mroce_ring_create(&qp->rq.ring, udata, qp->rq.entries,
				 sizeof(struct mroce_recv_wqe) +
				 qp->rq.max_sge * sizeof(struct mroce_sge), &resp->rq);
}

/* Makes the QP known, by its number. It is complete but in RESET. */
static int mroce_qp_publish(struct mroce_qp *qp)
{
	struct mroce_dev *dev = qp->dev;
	u32 qpn = MROCE_GSI_QPN;
	int err;

	if (qp->ibqp.qp_type == IB_QPT_GSI)
		err = xa_insert_bh(&dev->qps, qpn, qp, GFP_KERNEL);
	else
		err = xa_alloc_cyclic_bh(&dev->qps, &qpn, qp, MROCE_QPN_LIMIT, &dev->next_qpn,
					 GFP_KERNEL);
	if (err < 0)
		return err;
	qp->ibqp.qp_num = qpn;
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		WRITE_ONCE(dev->closing, false);
	return 0;
}

static void mroce_qp_init(struct mroce_qp *qp, const struct ib_qp_init_attr *init, bool is_user)
{
	qp->dev = to_mdev(qp->ibqp.device);
	qp->is_user = is_user;
	qp->sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->scq = to_mcq(init->send_cq);
	qp->rcq = to_mcq(init->recv_cq);
	mutex_init(&qp->modify_lock);
	spin_lock_init(&qp->state_lock);
	spin_lock_init(&qp->ud_rx_lock);
	qp->state = IB_QPS_RESET;
	qp->error_event = -1;
	refcount_set(&qp->refs, 1);
	init_completion(&qp->idle);
	INIT_WORK(&qp->error_work, mroce_qp_error_work);
	INIT_WORK(&qp->send_work, mroce_sq_send_work);
}

int mroce_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct mroce_create_qp_resp resp = {};
	struct mroce_qp *qp = to_mqp(ibqp);
	int err;

	err = mroce_qp_check(init, udata);
	if (err)
		return err;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;

	mroce_qp_init(qp, init, udata);
	err = mroce_qp_alloc_queues(qp, &init->cap);
	if (err)
		return err;
	if (init->qp_type != IB_QPT_RC) {
		err = mroce_engine_ud_init(qp);
		if (err)
			goto err_queues;
	}
	if (udata) {
		err = mroce_qp_create_rings(qp, &resp, udata);
		if (err)
			goto err_queues;
	}
	err = mroce_qp_publish(qp);
	if (err)
		goto err_queues;
	if (udata) {
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto err_publish;
	}
	return 0;

err_publish:
	xa_erase_bh(&qp->dev->qps, ibqp->qp_num);
err_queues:
	mroce_engine_ud_exit(qp);
	mroce_wq_free(&qp->rq);
	mroce_wq_free(&qp->sq);
	mutex_destroy(&qp->modify_lock);
	return err;
}

int mroce_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct mroce_qp *qp = to_mqp(ibqp);

	/* the core is about to wait for references to the device: packets shall not renew them */
	if (ibqp->qp_type == IB_QPT_GSI)
		WRITE_ONCE(qp->dev->closing, true);
	/* no new references */
	xa_erase_bh(&qp->dev->qps, ibqp->qp_num);

	mutex_lock(&qp->modify_lock);
	spin_lock_irq(&qp->state_lock);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	spin_unlock_irq(&qp->state_lock);
	if (ibqp->qp_type == IB_QPT_RC)
		mroce_engine_qp_disconnect(qp);
	mutex_unlock(&qp->modify_lock);

	if (cancel_work_sync(&qp->error_work))
		mroce_qp_put(qp);
	cancel_work_sync(&qp->send_work);
	mroce_qp_put(qp);
	wait_for_completion(&qp->idle);

	mroce_cq_forget(qp->scq, ibqp);
	mroce_cq_forget(qp->rcq, ibqp);
	mroce_engine_ud_exit(qp);
	mroce_wq_free(&qp->rq);
	mroce_wq_free(&qp->sq);
	mutex_destroy(&qp->modify_lock);
	return 0;
}

int mroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct mroce_qp *qp = to_mqp(ibqp);

	mutex_lock(&qp->modify_lock);
	*attr = qp->attr;
	mutex_unlock(&qp->modify_lock);

	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	attr->port_num = MROCE_PORT;
	/* the core's reference, not the caller's */
	attr->ah_attr.grh.sgid_attr = NULL;

	*init = (struct ib_qp_init_attr) {
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = qp->cap,
		.sq_sig_type = qp->sq_sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = ibqp->qp_type,
		.port_num = MROCE_PORT,
	};
	return 0;
}
