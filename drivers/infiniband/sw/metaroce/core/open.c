// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A stream is one pair of QPs. Each side names it by a handle of its own, which it tells
 * the other with OPEN or OPEN_ACK:
 *
 *	asks                                  answers
 *	IDLE -> OPENING   OPEN ------------>  find the QP, take peer's handle and incarnation
 *	OPEN         <------------ OPEN_ACK   -> OPEN
 *	OPENING again after a pause <- OPEN_NAK  (no such QP yet, or another incarnation)
 *
 * Both sides may ask at once; each then learns the other's handle twice. MR-4.*
 */
#include "internal.h"

static u32 open_packet(struct mroce_conn *c, struct mroce_stream *s, u8 op)
{
	u32 cpn = mroce_tx_alloc(c);
	struct mroce_txrec *r = mroce_rec(c, cpn);

	r->stream = s;
	r->op = op;
	mroce_tx_queue(c, cpn);
	return cpn;
}

void mroce_stream_open(struct mroce_stream *s, u64 now)
{
	struct mroce_conn *c = s->conn;

	if (s->state == MROCE_STREAM_IDLE) {
		mroce_stream_set_state(s, MROCE_STREAM_OPENING);
		s->progress_at = now;
	}
	if (c->state != MROCE_CONN_UP || !mroce_tx_room(c)) {
		s->open_at = c->state == MROCE_CONN_UP ? now + MROCE_NSEC_PER_MSEC : MROCE_NEVER;
		mroce_stream_arm(s);
		return;
	}
	s->open_at = MROCE_NEVER;
	open_packet(c, s, MROCE_OP_OPEN);
	mroce_stream_arm(s);
}

void mroce_stream_open_later(struct mroce_stream *s, u64 now)
{
	s->open_backoff_us = s->open_backoff_us ?
			     min_t(u32, 2 * s->open_backoff_us, 64 * MROCE_OPEN_RETRY_US) :
			     MROCE_OPEN_RETRY_US;
	s->open_at = now + s->open_backoff_us * MROCE_NSEC_PER_USEC;
	mroce_stream_arm(s);
}

static void bind_peer(struct mroce_stream *s, const struct mroce_hdr *h)
{
	s->peer_handle = h->src_handle;
	s->peer_incarnation = h->incarnation;
	if (s->announced)
		return;
	s->announced = true;
	/* its packets may have overtaken its OPEN_ACK */
	mroce_stream_news(s);
	mroce_stream_activate(s);
}

static void opened(struct mroce_stream *s, u64 now)
{
	if (s->state == MROCE_STREAM_OPEN || s->state == MROCE_STREAM_ERROR)
		return;
	mroce_stream_set_state(s, MROCE_STREAM_OPEN);
	s->open_at = MROCE_NEVER;
	s->open_backoff_us = 0;
	s->progress_at = now;
	mroce_cnt(s->conn, MROCE_CNT_STREAM_OPEN);
	mroce_stream_activate(s);
}

static void send_nak(struct mroce_conn *c, const struct mroce_hdr *h)
{
	u32 cpn = mroce_tx_alloc(c);
	struct mroce_txrec *r = mroce_rec(c, cpn);

	r->op = MROCE_OP_OPEN_NAK;
	r->index = h->src_handle;
	r->offset = h->incarnation;
	r->nak = MROCE_NAK_NOT_READY;
	mroce_tx_queue(c, cpn);
	mroce_cnt(c, MROCE_CNT_STREAM_REJECT);
}

static void rx_open(struct mroce_conn *c, const struct mroce_hdr *h, u64 now)
{
	struct mroce_stream *s = c->ops->find_stream(c, h->dst_qpn, h->src_qpn);

	/* another incarnation than the one we talk to: our side must be reset first */
	if (!s || s->state == MROCE_STREAM_ERROR ||
	    (s->announced && s->peer_incarnation != h->incarnation)) {
		send_nak(c, h);
		return;
	}
	bind_peer(s, h);
	opened(s, now);
	open_packet(c, s, MROCE_OP_OPEN_ACK);
}

static void rx_open_ack(struct mroce_conn *c, const struct mroce_hdr *h, u64 now)
{
	struct mroce_stream *s = c->ops->by_handle(c, h->handle);

	if (!s || s->rqpn != h->src_qpn || s->lqpn != h->dst_qpn ||
	    (s->announced && s->peer_incarnation != h->incarnation)) {
		mroce_cnt(c, MROCE_CNT_RX_NO_STREAM);
		return;
	}
	bind_peer(s, h);
	opened(s, now);
}

static void rx_open_nak(struct mroce_conn *c, const struct mroce_hdr *h, u64 now)
{
	struct mroce_stream *s = c->ops->by_handle(c, h->handle);

	if (!s || s->incarnation != h->incarnation || s->state != MROCE_STREAM_OPENING) {
		mroce_cnt(c, MROCE_CNT_RX_NO_STREAM);
		return;
	}
	mroce_stream_open_later(s, now);
}

bool mroce_open_rx(struct mroce_conn *c, const struct mroce_hdr *h, u64 now)
{
	switch (h->op) {
	case MROCE_OP_OPEN:
		if (!mroce_tx_room(c))
			return false;
		rx_open(c, h, now);
		return true;
	case MROCE_OP_OPEN_ACK:
		rx_open_ack(c, h, now);
		return true;
	default:
		rx_open_nak(c, h, now);
		return true;
	}
}
