// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgments, three answers in one packet: path blocks (arrived and owned), stream
 * blocks (executed; they alone complete requests), refusals (come back later). MR-2.4-*
 */
#include "internal.h"

void mroce_conn_rx_ack(struct mroce_conn *c, const struct mroce_ack *a, u64 now)
{
	u32 i;

	if (c->state != MROCE_CONN_UP)
		return;
	mroce_cnt(c, MROCE_CNT_RX_ACKS);
	if (mroce_diff32(a->serial, c->peer_ack_serial) > 0) {
		c->peer_ack_serial = a->serial;
		c->hint = a->hint;
	}
	/* refusals first: their packets are missing from the bitmaps, and not lost */
	for (i = 0; i < a->nrefused; i++)
		mroce_path_refused(c, &a->refused[i], now);
	/* what is executed before what has arrived: nobody need ask whether it is */
	for (i = 0; i < a->nstreams; i++)
		mroce_stream_acked(c, &a->streams[i], now);
	for (i = 0; i < a->npaths; i++)
		mroce_path_acked(c, &a->paths[i], now);
}

/* Notes that a packet was refused; runs of sequences share an entry. */
void mroce_ack_refuse(struct mroce_conn *c, const struct mroce_rxpkt *pkt, u8 nak, u32 handle,
		      u32 delay_us)
{
	struct mroce_ack_refused *r = c->nrefused ? &c->refused[c->nrefused - 1] : NULL;

	c->ack_now = true;
	c->ack_urgent = true;
	if (c->ops->refused)
		c->ops->refused(c, pkt, nak);
	if (r && r->path == pkt->h.path && r->handle == handle && r->nak == nak &&
	    r->pseq + r->count == pkt->h.pseq && r->count < 0xffff) {
		r->count++;
		return;
	}
	/* no room: the sender takes it for lost and tries again, which is right too */
	if (c->nrefused == MROCE_ACK_MAX_REFUSED)
		return;
	r = &c->refused[c->nrefused++];
	r->path = pkt->h.path;
	r->count = 1;
	r->pseq = pkt->h.pseq;
	r->handle = handle;
	r->nak = nak;
	r->delay_us = delay_us;
}

static void add_paths(struct mroce_conn *c, struct mroce_ack *a, u64 now)
{
	u32 i;

	a->npaths = 0;
	/* round: none waits for ever while others always have news */
	while (a->npaths < MROCE_ACK_MAX_PATHS &&
	       mroce_bit_next(c->rxdirty, MROCE_MAX_PATHS, c->rxdirty_from, &i)) {
		const struct mroce_rxpath *p = &c->rxpaths[i];
		struct mroce_ack_path *b = &a->paths[a->npaths++];

		c->rxdirty[i / 64] &= ~(1ULL << (i % 64));
		c->rxdirty_from = (i + 1) % MROCE_MAX_PATHS;
		b->path = i;
		b->ce = p->ce;
		b->highest = p->highest;
		/* another processor may have looked at the clock later, and been here first */
		b->delay_us = min_t(u64, div_u64(now - min_t(u64, now, p->highest_at),
						 MROCE_NSEC_PER_USEC), 0xffffff);
		b->spurious = p->spurious;
		memcpy(b->bitmap, p->bitmap, sizeof(b->bitmap));
	}
}

static void add_streams(struct mroce_conn *c, struct mroce_ack *a)
{
	struct mroce_stream *s, *first = NULL;

	a->nstreams = 0;
	/* those that were reported go to the end: no stream starves the others */
	while (!list_empty(&c->newsy) && a->nstreams < MROCE_ACK_MAX_STREAMS) {
		struct mroce_ack_stream *b;

		s = list_first_entry(&c->newsy, struct mroce_stream, newsy);
		if (s == first)
			break;
		b = &a->streams[a->nstreams++];
		b->handle = s->peer_handle;
		b->msn = s->exec_msn;
		b->nak = s->rx_nak;
		if (!--s->news) {
			list_del_init(&s->newsy);
			continue;
		}
		list_move_tail(&s->newsy, &c->newsy);
		if (!first)
			first = s;
	}
}

bool mroce_conn_ack_urgent(const struct mroce_conn *c)
{
	return c->ack_now && (c->ack_urgent || c->ack_batches >= MROCE_ACK_BATCHES);
}

bool mroce_stream_replies(const struct mroce_stream *s)
{
	return s->news == MROCE_NEWS_REPEAT && s->conn->ack_now && s->sq_tail == s->sq_seen;
}

bool mroce_conn_next_ack(struct mroce_conn *c, struct mroce_ack *a, u64 now)
{
	u32 i;

	if (!c->ack_now || c->state != MROCE_CONN_UP)
		return false;
	a->dcid = c->peer_cid;
	a->serial = ++c->ack_serial;
	a->cpn_base = c->rx_base;
	a->hint = 0;
	add_paths(c, a, now);
	add_streams(c, a);
	a->nrefused = c->nrefused;
	memcpy(a->refused, c->refused, c->nrefused * sizeof(c->refused[0]));
	c->nrefused = 0;
	c->ack_now = false;
	c->ack_urgent = false;
	c->ack_batches = 0;
	if (mroce_bit_next(c->rxdirty, MROCE_MAX_PATHS, 0, &i))
		c->ack_now = true;
	if (a->nstreams == MROCE_ACK_MAX_STREAMS && !list_empty(&c->newsy))
		c->ack_now = true;
	mroce_cnt(c, MROCE_CNT_TX_ACKS);
	return true;
}
