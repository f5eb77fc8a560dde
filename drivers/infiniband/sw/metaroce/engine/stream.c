// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RC queue pairs and their streams. */
#include <linux/slab.h>

#include "internal.h"

/*
 * IBTA 9.7.6.1.3: a try lasts from 4.096 us * 2^timeout to four times that. Ours, on hosts that
 * may be busy, lasts as long as it may, and never less than the floor.
 */
#define TIMEOUT_UNIT	(4 * 4096ULL)
#define TIMEOUT_FLOOR	(64 * NSEC_PER_MSEC)

/* IBTA table 45, in us: what the 5-bit RNR NAK timer field means. */
static const u32 rnr_us[32] = {
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
	2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880,
	163840, 245760, 327680, 491520,
};

VISIBLE_FOR_KUNIT void mroce_stream_set_attr(struct mroce_qp *qp, struct mroce_stream *s)
{
	const struct ib_qp_attr *a = &qp->attr;

	s->attr.timeout_ns = a->timeout & 31 ?
			     max_t(u64, TIMEOUT_UNIT << (a->timeout & 31), TIMEOUT_FLOOR) : 0;
	s->attr.retry_cnt = a->retry_cnt;
	s->attr.rnr_retry = a->rnr_retry;
	s->attr.rnr_delay_us = rnr_us[a->min_rnr_timer & 31];
	s->attr.max_rd_atomic = a->max_rd_atomic;
	s->attr.max_dest_rd_atomic = a->max_dest_rd_atomic;
}

static int init_stream(struct mroce_qp *qp, struct mroce_stream *s, struct mroce_econn *econn)
{
	u32 answers = roundup_pow_of_two(max_t(u32, qp->attr.max_dest_rd_atomic, 1));
	u32 handle;
	int err;

	memset(s, 0, sizeof(*s));
	s->resp = kcalloc(answers, sizeof(*s->resp), GFP_KERNEL);
	if (!s->resp)
		return -ENOMEM;
	s->resp_mask = answers - 1;
	s->owner = qp;
	s->sq = qp->sq.wqes;
	s->sq_stride = qp->sq.stride;
	s->sq_mask = qp->sq.entries - 1;
	s->sq_tail = qp->sq.tail;
	s->sq_next = s->sq_tail;
	s->sq_seen = s->sq_tail;
	mroce_stream_set_attr(qp, s);
	/* cyclic: a late packet of an earlier stream must not find this one (MR-4.1-04) */
	err = xa_alloc_cyclic(&econn->streams, &handle, NULL, XA_LIMIT(1, 0xffffff),
			      &econn->next_handle, GFP_KERNEL);
	if (err < 0)
		goto err_resp;
	err = xa_insert(&econn->by_qpn, qp->ibqp.qp_num, s, GFP_KERNEL);
	if (err)
		goto err_handle;
	spin_lock_bh(&econn->lock);
	mroce_stream_init(s, &econn->conn, qp->ibqp.qp_num, qp->attr.dest_qp_num, handle,
			  get_random_u32());
	spin_unlock_bh(&econn->lock);
	/* the slot is allocated: this can't fail */
	xa_store(&econn->streams, handle, s, GFP_KERNEL);
	return 0;

err_handle:
	xa_erase(&econn->streams, handle);
err_resp:
	kfree(s->resp);
	s->resp = NULL;
	return err;
}

/* Takes a stopped stream out of its connection; its queues may be given back afterwards. */
static void exit_stream(struct mroce_stream *s)
{
	struct mroce_econn *econn = to_econn(s->conn);

	xa_erase(&econn->by_qpn, s->lqpn);
	xa_erase(&econn->streams, s->handle);
	wait_event(econn->idle_wq, ({
		bool idle;

		spin_lock_bh(&econn->lock);
		idle = !mroce_stream_busy(s);
		spin_unlock_bh(&econn->lock);
		idle;
	}));
	spin_lock_bh(&econn->lock);
	mroce_stream_unbind(s);
	spin_unlock_bh(&econn->lock);
	kfree(s->resp);
	s->resp = NULL;
}

/* A QP connected to itself: the stream asks on side 0, its second half answers on side 1. */
static int init_self(struct mroce_qp *qp, struct mroce_econn *econn)
{
	struct mroce_econn *twin = mroce_econn_attach(qp->dev, &qp->src, &qp->dst, econn->tclass,
						      econn->hop_limit, 1);
	int err;

	if (IS_ERR(twin))
		return PTR_ERR(twin);
	qp->self = kzalloc(sizeof(*qp->self), GFP_KERNEL);
	err = qp->self ? init_stream(qp, qp->self, twin) : -ENOMEM;
	if (err) {
		kfree(qp->self);
		qp->self = NULL;
		mroce_econn_detach(twin);
		return err;
	}
	qp->self->half = true;
	return 0;
}

static int connect(struct mroce_qp *qp)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&qp->attr.ah_attr);
	u32 self_qpn = qp->ibqp.qp_num, peer_qpn = qp->attr.dest_qp_num;
	bool self = mroce_addr_equal(&qp->src, &qp->dst);
	struct mroce_econn *econn;
	u8 side = self && self_qpn > peer_qpn;
	int err;

	econn = mroce_econn_attach(qp->dev, &qp->src, &qp->dst, grh->traffic_class & ~3,
				   grh->hop_limit, side);
	if (IS_ERR(econn))
		return PTR_ERR(econn);
	err = init_stream(qp, &qp->stream, econn);
	if (err)
		goto err_detach;
	WRITE_ONCE(qp->econn, econn);
	if (!self || self_qpn != peer_qpn)
		return 0;
	err = init_self(qp, econn);
	if (err)
		goto err_stream;
	return 0;

err_stream:
	WRITE_ONCE(qp->econn, NULL);
	spin_lock_bh(&econn->lock);
	mroce_stream_stop(&qp->stream, mroce_now());
	spin_unlock_bh(&econn->lock);
	exit_stream(&qp->stream);
err_detach:
	mroce_econn_detach(econn);
	return err;
}

int mroce_engine_qp_connect(struct mroce_qp *qp)
{
	int err, tries;

	/*
	 * The connection may have ended since it was attached to, and whoever ended it have looked
	 * for its streams before ours was one: mroce_econn_lost_work().
	 */
	for (tries = 0; tries < 3; tries++) {
		err = connect(qp);
		if (err || mroce_econn_listed(qp->econn))
			return err;
		mroce_engine_qp_disconnect(qp);
	}
	return -EAGAIN;
}

void mroce_engine_qp_update(struct mroce_qp *qp)
{
	struct mroce_econn *econn = qp->econn;
	MROCE_NOTIFY(notify);

	if (!econn)
		return;
	mroce_econn_lock(econn, &notify);
	mroce_stream_set_attr(qp, &qp->stream);
	mroce_stream_kick(&qp->stream, mroce_now());
	mroce_econn_unlock(econn);
	local_bh_disable();
	mroce_econn_pump(econn, mroce_now());
	local_bh_enable();
	mroce_notify_flush(&notify);
}

static void stop_stream(struct mroce_stream *s)
{
	struct mroce_econn *econn;

	if (!s || !s->conn)
		return;
	econn = to_econn(s->conn);
	spin_lock_bh(&econn->lock);
	mroce_stream_stop(s, mroce_now());
	spin_unlock_bh(&econn->lock);
	wait_event(econn->idle_wq, ({
		bool idle;

		spin_lock_bh(&econn->lock);
		idle = !mroce_stream_busy(s);
		spin_unlock_bh(&econn->lock);
		idle;
	}));
	/* packets that are void now still have to arrive */
	local_bh_disable();
	mroce_econn_pump(econn, mroce_now());
	local_bh_enable();
}

void mroce_engine_qp_stop(struct mroce_qp *qp)
{
	if (!qp->econn)
		return;
	stop_stream(&qp->stream);
	stop_stream(qp->self);
}

void mroce_engine_qp_disconnect(struct mroce_qp *qp)
{
	struct mroce_econn *econn = qp->econn, *twin;

	if (!econn)
		return;
	mroce_engine_qp_stop(qp);
	if (qp->self) {
		twin = to_econn(qp->self->conn);
		exit_stream(qp->self);
		kfree(qp->self);
		qp->self = NULL;
		mroce_econn_detach(twin);
	}
	exit_stream(&qp->stream);
	WRITE_ONCE(qp->econn, NULL);
	mroce_econn_detach(econn);
}

/* The QP may be on its way out in another thread: the caller puts the reference. */
static struct mroce_econn *get_econn(struct mroce_qp *qp)
{
	struct mroce_econn *econn;

	rcu_read_lock();
	econn = READ_ONCE(qp->econn);
	if (econn && !refcount_inc_not_zero(&econn->refs))
		econn = NULL;
	rcu_read_unlock();
	return econn;
}

bool mroce_engine_qp_info(struct mroce_qp *qp, struct mroce_stream_info *info)
{
	struct mroce_econn *econn = get_econn(qp);
	const struct mroce_stream *s = &qp->stream;
	bool bound;

	if (!econn)
		return false;
	spin_lock_bh(&econn->lock);
	bound = s->conn == &econn->conn;
	if (bound)
		*info = (struct mroce_stream_info) {
			.cid = econn->conn.cid,
			.conn_state = econn->conn.state,
			.state = s->state,
			.unacked_msgs = s->next_msn - s->acked_msn,
			.inflight_pkts = s->outstanding,
			.rx_msn = s->exec_msn,
		};
	spin_unlock_bh(&econn->lock);
	mroce_econn_put(econn);
	return bound;
}

void mroce_engine_qp_kick(struct mroce_qp *qp)
{
	struct mroce_econn *econn;
	u64 now, bytes = 0;
	MROCE_NOTIFY(notify);
	u32 head;

	local_bh_disable();
	econn = get_econn(qp);
	if (!econn) {
		local_bh_enable();
		return;
	}
	mroce_econn_lock(econn, &notify);
	now = mroce_now();
	/* before the request can be seen: another processor may be pumping */
	if (qp->stream.conn == &econn->conn && mroce_stream_replies(&qp->stream) &&
	    mroce_econn_next_ack(econn, now)) {
		mroce_econn_unlock(econn);
		mroce_econn_send_acks(econn, now);
		mroce_econn_lock(econn, &notify);
	}
	if (qp->stream.conn == &econn->conn) {
		/* the requests after the index: pairs with the release of who copied them */
		head = smp_load_acquire(&qp->sq.head);
		bytes = mroce_stream_post(&qp->stream, head, now);
		/* one that was not opened yet moves to another connection: lost.c */
		if (econn->conn.state == MROCE_CONN_DEAD && qp->stream.announced)
			mroce_stream_fail(&qp->stream, MROCE_FAIL_LOST, 0, now);
		else if (econn->conn.state == MROCE_CONN_CONNECTING && !econn->hs_tries)
			mroce_hs_start(econn, now);
	}
	mroce_econn_unlock(econn);
	mroce_econn_pump_post(econn, bytes, now);
	mroce_notify_flush(&notify);
	mroce_econn_put(econn);
}
