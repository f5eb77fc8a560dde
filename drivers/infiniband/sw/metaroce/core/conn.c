// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A connection: one pair of devices, many streams above, many paths below. */
#include "internal.h"

#define CLAIMED_WORDS	(MROCE_MAX_WINDOW / 64)

static const struct mroce_conn_cfg default_cfg = {
	.probe_floor = 500 * MROCE_NSEC_PER_USEC,
	.ack_delay_max = 0,
	/* above what a busy host adds: its scheduler's slices, not queues in the network */
	.delay_target = 25 * MROCE_NSEC_PER_MSEC,
	.init_cwnd = 64,
	.max_cwnd = MROCE_BITMAP_BITS - 1,
	.paths = 4,
	.max_paths = MROCE_MAX_PATHS,
	.payload = 1408,
	.payload_ext = 1408,
	.quantum = 65536,
};

size_t mroce_conn_mem(void)
{
	return 3 * CLAIMED_WORDS * sizeof(u64) +
	       MROCE_HOLD_POOL * sizeof(struct mroce_rxpkt) +
	       MROCE_MSG_POOL * sizeof(struct mroce_rxmsg);
}

void mroce_cfg_default(struct mroce_conn_cfg *cfg)
{
	*cfg = default_cfg;
}

void mroce_cfg_mtu(struct mroce_conn_cfg *cfg, u32 mtu, bool ipv6)
{
	u32 room = mtu - (ipv6 ? 40 : 20) - 8 - MROCE_DATA_LEN;

	/* MR-7.2-01: whole lines */
	cfg->payload = round_down(room, MROCE_LINE);
	cfg->payload_ext = round_down(room - MROCE_EXT_IMM_LEN, MROCE_LINE);
}

static void init_pools(struct mroce_conn *c, void *mem)
{
	u32 i;

	c->claimed = mem;
	c->voided = c->claimed + CLAIMED_WORDS;
	c->hold_mem = (struct mroce_rxpkt *)(c->voided + 2 * CLAIMED_WORDS);
	c->msg_mem = (struct mroce_rxmsg *)(c->hold_mem + MROCE_HOLD_POOL);
	for (i = MROCE_HOLD_POOL; i--;) {
		c->hold_mem[i].next = c->hold_free;
		c->hold_free = &c->hold_mem[i];
	}
	for (i = MROCE_MSG_POOL; i--;) {
		c->msg_mem[i].next = c->msg_free;
		c->msg_free = &c->msg_mem[i];
	}
	c->msg_left = MROCE_MSG_POOL;
}

void mroce_conn_init(struct mroce_conn *c, void *mem, void *txmem,
		     const struct mroce_core_ops *ops, const struct mroce_conn_cfg *cfg, u32 cid,
		     u64 seed)
{
	c->ops = ops;
	c->cc = &mroce_cc_default;
	c->sched = &mroce_sched_default;
	c->cfg = *cfg;
	c->cid = cid;
	c->rng = seed | 1;
	c->state = MROCE_CONN_CONNECTING;
	c->timed_at = MROCE_NEVER;
	c->paths_at = MROCE_NEVER;
	c->resend = MROCE_NONE;
	INIT_LIST_HEAD(&c->active);
	INIT_LIST_HEAD(&c->timed);
	INIT_LIST_HEAD(&c->newsy);
	init_pools(c, mem);
	mroce_txmem_init(c, txmem);
}

void mroce_conn_up(struct mroce_conn *c, u32 peer_cid, u32 rtt_us, u64 now)
{
	struct mroce_stream *s, *tmp;
	u32 paths;

	if (c->state != MROCE_CONN_CONNECTING)
		return;
	c->state = MROCE_CONN_UP;
	c->peer_cid = peer_cid;
	c->bw_at = now;
	paths = min_t(u32, c->cfg.paths, c->cfg.max_paths);
	paths = clamp_t(u32, paths, 1, min_t(u32, c->max_paths, c->peer_paths));
	c->ways_up = 1;
	while (c->npaths < paths)
		mroce_path_add(c, 0, rtt_us, now);
	mroce_cnt(c, MROCE_CNT_CONN_UP);
	if (c->ops->conn_event)
		c->ops->conn_event(c);
	list_for_each_entry_safe(s, tmp, &c->timed, timed)
		if (s->state == MROCE_STREAM_OPENING)
			mroce_stream_open(s, now);
}

void mroce_conn_lost(struct mroce_conn *c, u64 now)
{
	bool up = c->state == MROCE_CONN_UP;

	c->state = MROCE_CONN_DEAD;
	if (!up)
		return;
	mroce_cnt(c, MROCE_CNT_CONN_LOST);
	if (c->ops->conn_event)
		c->ops->conn_event(c);
}

bool mroce_conn_backlog(const struct mroce_conn *c)
{
	return c->resend != MROCE_NONE || !list_empty(&c->active) || c->probes_due;
}

/* ---------------------------------------------------------------------- sending */

/* Is this packet still needed? A request that completed has been executed. */
static bool stale(struct mroce_conn *c, const struct mroce_txrec *r)
{
	return (r->op == MROCE_OP_SEND || r->op == MROCE_OP_WRITE || r->op == MROCE_OP_READ ||
		r->op == MROCE_OP_FETCH_ADD || r->op == MROCE_OP_CMP_SWAP) &&
	       mroce_lt(r->index, r->stream->sq_tail);
}

static void pop_resend(struct mroce_conn *c)
{
	c->resend = mroce_rec(c, c->resend)->next;
	c->resend_count--;
}

/* The first packet to be sent again, or MROCE_NONE. */
static u32 peek_resend(struct mroce_conn *c, u64 now)
{
	while (c->resend != MROCE_NONE) {
		u32 cpn = c->resend;
		struct mroce_txrec *r = mroce_rec(c, cpn);

		if (!stale(c, r))
			return cpn;
		pop_resend(c);
		mroce_stream_delivered(r->stream, r, now);
		mroce_tx_release(c, cpn);
	}
	return MROCE_NONE;
}

/* Deficit round robin over streams, in bytes (RFC 8290 4.1's shape). */
static u32 cut_next(struct mroce_conn *c, u64 now)
{
	struct mroce_stream *skipped = NULL;

	while (!list_empty(&c->active)) {
		struct mroce_stream *s = list_first_entry(&c->active, struct mroce_stream, active);
		u32 cpn;

		if (mroce_tx_room(c) <= MROCE_CTRL_RESERVE) {
			mroce_want_window(c, now);
			return MROCE_NONE;
		}
		/* whatever is in flight may be refused: conn->pieces must hold it */
		if (c->pieces_used > c->window && s->refused == MROCE_NONE) {
			if (s == skipped)
				return MROCE_NONE;
			if (!skipped)
				skipped = s;
			list_move_tail(&s->active, &c->active);
			continue;
		}
		if (s->deficit <= 0) {
			s->deficit += c->cfg.quantum;
			list_move_tail(&s->active, &c->active);
			continue;
		}
		cpn = mroce_stream_cut(c, s);
		if (cpn != MROCE_NONE) {
			s->deficit -= mroce_rec(c, cpn)->len + MROCE_DATA_LEN;
			return cpn;
		}
		list_del_init(&s->active);
		s->deficit = 0;
	}
	return MROCE_NONE;
}

/* MR-6.1-03: a lost packet goes on the path that lost it. Return: NULL: any will do. */
static struct mroce_path *home_path(struct mroce_conn *c, u32 cpn)
{
	struct mroce_path *p;

	if (cpn == MROCE_NONE || !mroce_rec(c, cpn)->tries)
		return NULL;
	p = &c->paths[mroce_rec(c, cpn)->path];
	if (p->state == MROCE_PATH_FAILED || !mroce_way_ready(c, p))
		return NULL;
	if (p->state == MROCE_PATH_ACTIVE && mroce_path_room(c, p))
		return p;
	/*
	 * Probes leave whatever the window says. Those of a suspect path try another one:
	 * if that delivers, this one has failed.
	 */
	if (p->state == MROCE_PATH_SUSPECT && c->nactive)
		return NULL;
	if (p->probes && p->state != MROCE_PATH_PROBING)
		return p;
	return NULL;
}

static struct mroce_path *pick_path(struct mroce_conn *c, u64 now)
{
	struct mroce_path *p = home_path(c, peek_resend(c, now));

	return p ? p : c->sched->pick(c, now);
}

/* A NOP on a path that is to come back. */
static bool send_probe(struct mroce_conn *c, struct mroce_burst *b, u64 now)
{
	bool waiting = false;
	u32 i;

	if (likely(!c->probes_due))
		return false;
	for (i = 0; i < c->npaths; i++) {
		struct mroce_path *p = &c->paths[i];
		struct mroce_hdr h;

		if (!p->want_probe)
			continue;
		if (!mroce_way_ready(c, p)) {
			waiting = true;
			continue;
		}
		p->want_probe = false;
		h = (struct mroce_hdr) {
			.path = i,
			.dcid = c->peer_cid,
			.op = MROCE_OP_NOP,
			.pseq = p->next_seq++,
		};
		b->path = p->id;
		b->way = p->way;
		b->sport = p->sport;
		b->count = 1;
		b->pkts[0].stream = NULL;
		b->pkts[0].cpn = MROCE_NONE;
		b->pkts[0].hdr_len = mroce_wire_put_data(&h, b->pkts[0].hdr);
		b->pkts[0].source = MROCE_SRC_NONE;
		b->pkts[0].len = 0;
		b->seg_size = b->pkts[0].hdr_len;
		return true;
	}
	c->probes_due = waiting;
	return false;
}

/*
 * The packet that @b takes next, on path @p; it is in front of conn->resend then. Return:
 * MROCE_NONE: the burst ends here.
 */
static u32 burst_next(struct mroce_conn *c, const struct mroce_burst *b, struct mroce_path *p,
		      unsigned int *size, u64 now)
{
	struct mroce_path *home;
	u32 cpn = peek_resend(c, now);

	if (cpn == MROCE_NONE) {
		cpn = cut_next(c, now);
		if (cpn == MROCE_NONE)
			return MROCE_NONE;
		/* cut is cut: if it does not fit behind the others it waits in front */
		mroce_tx_queue(c, cpn);
	}
	*size = mroce_packet_size(c, cpn);
	if (!b->count)
		return cpn;
	home = home_path(c, cpn);
	return *size > b->seg_size || (home && home != p) ? MROCE_NONE : cpn;
}

u32 mroce_conn_next_burst(struct mroce_conn *c, struct mroce_burst *b, u64 now)
{
	unsigned int size = 0;
	struct mroce_path *p;
	u32 limit, cpn;

	b->count = 0;
	b->bytes = 0;
	b->seg_size = 0;
	if (c->state != MROCE_CONN_UP)
		return 0;
	c->ways_ready = b->ways;
	if (unlikely(c->ways_short))
		mroce_ways_fill(c, now);
	if (send_probe(c, b, now))
		return 1;
	if (!mroce_conn_backlog(c))
		return 0;
	c->lane = b->lane;
	c->want = b->max_count;
	p = pick_path(c, now);
	if (!p && mroce_want_paths(c, now))
		p = pick_path(c, now);
	if (!p)
		return 0;
	b->path = p->id;
	b->way = p->way;
	b->sport = p->sport;
	p->lane = b->lane;
	limit = min_t(u32, b->max_count, MROCE_BURST_MAX);
	limit = min_t(u32, limit, max_t(u32, mroce_path_room(c, p), 1));
	while (b->count < limit) {
		cpn = burst_next(c, b, p, &size, now);
		if (cpn == MROCE_NONE)
			break;
		pop_resend(c);
		mroce_path_sent(c, p, cpn, now);
		mroce_packet_fill(c, cpn, &b->pkts[b->count]);
		b->bytes += b->pkts[b->count].len;
		if (!b->count++)
			b->seg_size = size;
		else if (size < b->seg_size)
			break;
	}
	if (b->count)
		mroce_path_arm(c, p, now);
	return b->count;
}

void mroce_conn_burst_sent(struct mroce_conn *c, struct mroce_burst *b, u64 now)
{
	u32 i;

	c->counters[MROCE_CNT_TX_PKTS] += b->count;
	c->counters[MROCE_CNT_TX_BYTES] += b->bytes;
	c->counters[MROCE_CNT_TX_BURSTS]++;
	for (i = 0; i < b->count; i++) {
		struct mroce_txpkt *t = &b->pkts[i];
		struct mroce_stream *s = t->stream;

		if (t->source == MROCE_SRC_NONE)
			continue;
		s->pins--;
		if (t->source == MROCE_SRC_REQUEST) {
			struct mroce_txmsg *m = mroce_stream_msg(s, t->index);

			if (!--m->pins && t->index == s->sq_tail)
				mroce_stream_complete(s, now);
		} else {
			mroce_resp_at(s, t->index)->pins--;
			mroce_answer_reap(s, now);
		}
	}
}

void mroce_conn_local_error(struct mroce_conn *c, struct mroce_txpkt *t, u64 now)
{
	struct mroce_stream *s = t->stream;

	if (s->state == MROCE_STREAM_ERROR)
		return;
	if (t->source == MROCE_SRC_REQUEST) {
		mroce_stream_msg(s, t->index)->local_err = 1;
		return;		/* it fails when it is the oldest: mroce_conn_burst_sent() */
	}
	/* what the READ names went away under it: no later answer is of use to the peer */
	s->rx_nak = MROCE_NAK_OP;
	mroce_stream_stop(s, now);
	s->conn->ops->failed(s, 0, NULL, MROCE_FAIL_NAK, MROCE_NAK_OP);
}

/* -------------------------------------------------------------------- receiving */

static void rx_stream_packet(struct mroce_conn *c, struct mroce_rxpkt *pkt,
			     struct mroce_rxbatch *b, u64 now)
{
	struct mroce_rxpath *rp = &c->rxpaths[pkt->h.path];
	struct mroce_stream *s = c->ops->by_handle(c, pkt->h.handle);
	enum mroce_take take = MROCE_TAKE_OK;
	u8 nak = MROCE_NAK_NONE;

	if (s)
		take = mroce_stream_rx(c, s, pkt, b, &nak, now);
	else
		mroce_cnt(c, MROCE_CNT_RX_NO_STREAM);
	switch (take) {
	case MROCE_TAKE_OK:
		mroce_rx_claim_cpn(c, pkt->h.cpn, false);
		mroce_rxpath_own(rp, pkt->h.pseq);
		break;
	case MROCE_TAKE_REFUSE:
		mroce_rx_claim_cpn(c, pkt->h.cpn, true);
		mroce_ack_refuse(c, pkt, nak, s->peer_handle,
				 nak == MROCE_NAK_RNR ? s->attr.rnr_delay_us : 0);
		break;
	case MROCE_TAKE_LOST:
		break;
	}
}

static void rx_packet(struct mroce_conn *c, struct mroce_rxpkt *pkt, struct mroce_rxbatch *b,
		      u64 now)
{
	const struct mroce_hdr *h = &pkt->h;
	struct mroce_rxpath *rp;
	u32 expected;

	pkt->verdict = MROCE_RX_DROP;
	pkt->held = false;
	if (h->path >= MROCE_MAX_PATHS) {
		mroce_cnt(c, MROCE_CNT_RX_NO_PATH);
		return;
	}
	rp = &c->rxpaths[h->path];
	c->ack_now = true;
	c->rxdirty[h->path / 64] |= 1ULL << (h->path % 64);
	expected = rp->highest + 1;
	if (pkt->ce || (rp->seen && h->pseq != expected) || h->flags & MROCE_F_RETX ||
	    h->op <= MROCE_OP_OPEN_NAK)
		c->ack_urgent = true;
	switch (mroce_rxpath_see(rp, h->pseq, now)) {
	case MROCE_ARRIVAL_DUP:
		mroce_cnt(c, MROCE_CNT_RX_DUP_PATH);
		return;
	case MROCE_ARRIVAL_OLD:
		mroce_cnt(c, MROCE_CNT_RX_OUT_OF_WINDOW);
		return;
	case MROCE_ARRIVAL_NEW:
		break;
	}
	if (pkt->ce) {
		rp->ce++;
		mroce_cnt(c, MROCE_CNT_RX_CE);
	}
	if (h->op == MROCE_OP_NOP) {
		mroce_rxpath_own(rp, h->pseq);
		return;
	}
	switch (mroce_rx_probe_cpn(c, h->cpn)) {
	case MROCE_CLAIM_DUP:
		mroce_cnt(c, MROCE_CNT_RX_DUP_CPN);
		rp->spurious++;
		mroce_rxpath_own(rp, h->pseq);
		return;
	case MROCE_CLAIM_REFUSED:
		/* the refusal was lost on its way back */
		mroce_ack_refuse(c, pkt, MROCE_NAK_HOLD, 0, 0);
		return;
	case MROCE_CLAIM_BEYOND:
		mroce_cnt(c, MROCE_CNT_RX_OUT_OF_WINDOW);
		return;
	case MROCE_CLAIM_NEW:
		break;
	}
	if (h->op > MROCE_OP_OPEN_NAK) {
		rx_stream_packet(c, pkt, b, now);
		return;
	}
	if (h->op == MROCE_OP_VOID) {
		struct mroce_stream *s = h->handle ? c->ops->by_handle(c, h->handle) : NULL;

		if (s)
			mroce_stream_news(s);
	} else if (!mroce_open_rx(c, h, now)) {
		return;
	}
	pkt->verdict = MROCE_RX_DONE;
	mroce_rx_claim_cpn(c, h->cpn, false);
	mroce_rxpath_own(rp, h->pseq);
}

void mroce_conn_rx(struct mroce_conn *c, struct mroce_rxpkt *pkts, u32 n, struct mroce_rxbatch *b,
		   u64 now)
{
	u32 i;

	b->first = NULL;
	b->last = NULL;
	if (c->state != MROCE_CONN_UP)
		return;
	b->serial = ++c->batch_serial;
	c->ack_batches++;
	c->counters[MROCE_CNT_RX_BATCHES]++;
	c->counters[MROCE_CNT_RX_PKTS] += n;
	for (i = 0; i < n; i++) {
		c->counters[MROCE_CNT_RX_BYTES] += pkts[i].plen;
		rx_packet(c, &pkts[i], b, now);
	}
}

bool mroce_conn_placed(struct mroce_conn *c, struct mroce_rxbatch *b, u64 now)
{
	struct mroce_rxpkt *pkt = b->first, *next;
	struct mroce_stream *s = NULL;

	b->first = NULL;
	b->last = NULL;
	b->serial = ++c->batch_serial;
	for (; pkt; pkt = next) {
		next = pkt->next;
		if (s && s != pkt->stream) {
			mroce_stream_advance(s, b, now);
			mroce_stream_complete(s, now);
		}
		s = pkt->stream;
		mroce_stream_placed(c, pkt, now);
	}
	if (s) {
		mroce_stream_advance(s, b, now);
		mroce_stream_complete(s, now);
	}
	return b->first;
}

/* ------------------------------------------------------------------------- time */

u64 mroce_conn_deadline(const struct mroce_conn *c)
{
	if (c->state == MROCE_CONN_DEAD)
		return MROCE_NEVER;
	return min_t(u64, c->timed_at, c->paths_at);
}

void mroce_conn_timeout(struct mroce_conn *c, u64 now)
{
	struct mroce_stream *s, *tmp;
	u64 at = MROCE_NEVER;
	u32 i;

	if (c->paths_at <= now) {
		for (i = 0; i < c->npaths; i++)
			mroce_path_timeout(c, &c->paths[i], now);
		for (i = 0; i < c->npaths; i++)
			at = min_t(u64, at, c->paths[i].probe_at);
		c->paths_at = at;
	}
	if (c->timed_at > now)
		return;
	list_for_each_entry_safe(s, tmp, &c->timed, timed)
		mroce_stream_timeout(s, now);
	c->timed_at = MROCE_NEVER;
	list_for_each_entry(s, &c->timed, timed)
		c->timed_at = min_t(u64, c->timed_at, mroce_stream_deadline(s));
}
