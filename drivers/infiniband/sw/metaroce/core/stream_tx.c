// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The asking side of a stream: requests become packets, acknowledgments complete them.
 *
 *	   tail              next              seen
 *	    v                 v                 v
 *	[ sent, not done ][ to be cut        ]
 *
 * A request completes when it is the oldest, the peer has executed it, its answer (READ,
 * atomics) is placed, and no burst is being built from it.
 */
#include "internal.h"

#define PATIENCE	16	/* times what the verbs attributes say */

static bool is_read(const struct mroce_txmsg *m)
{
	return m->op == MROCE_OP_READ || m->op == MROCE_OP_FETCH_ADD || m->op == MROCE_OP_CMP_SWAP;
}

u32 mroce_stream_chunk(const struct mroce_conn_cfg *cfg, u8 op, u8 flags, u64 addr, u32 offset,
		       u32 len, bool *last)
{
	u32 limit = flags & (MROCE_MSG_IMM | MROCE_MSG_INV) ? cfg->payload_ext : cfg->payload;
	/* MR-7.2-02: lines of 128 bytes, counted from the aligned target, stay whole */
	u32 skew = op == MROCE_OP_WRITE ? addr & (MROCE_LINE - 1) : 0;
	u32 done = (skew + offset) & (MROCE_LINE - 1);
	u32 span = skew + len;
	u32 even;

	*last = len - offset <= limit - done;
	if (*last)
		return len - offset;
	/* MR-7.2-01: as few as possible, and as even: packets of one length share bursts */
	even = DIV_ROUND_UP(span, DIV_ROUND_UP(span, limit));
	return round_up(even, MROCE_LINE) - done;
}

void mroce_stream_activate(struct mroce_stream *s)
{
	if (list_empty(&s->active) && s->state != MROCE_STREAM_ERROR)
		list_add_tail(&s->active, &s->conn->active);
}

u64 mroce_stream_post(struct mroce_stream *s, u32 head, u64 now)
{
	bool was_idle = s->sq_tail == s->sq_seen;
	u64 bytes = 0;

	if (s->state == MROCE_STREAM_ERROR || head == s->sq_seen)
		return 0;
	if (was_idle)
		s->progress_at = now;
	for (; s->sq_seen != head; s->sq_seen++) {
		struct mroce_txmsg *m = mroce_stream_msg(s, s->sq_seen);

		m->msn = s->next_msn;
		m->rqn = s->next_rqn;
		m->sent = 0;
		m->sent_all = 0;
		m->got = 0;
		m->pins = 0;
		m->nak = 0;
		m->local_err = 0;
		if (!(m->flags & (MROCE_MSG_LOCAL | MROCE_MSG_FAILED))) {
			s->next_msn++;
			if (m->op == MROCE_OP_SEND ||
			    (m->op == MROCE_OP_WRITE && m->flags & MROCE_MSG_IMM))
				s->next_rqn++;
		}
		if (!is_read(m))
			bytes += m->len;
		mroce_overlap_mark(s, s->sq_seen);
	}
	mroce_stream_kick(s, now);
	return bytes;
}

void mroce_stream_kick(struct mroce_stream *s, u64 now)
{
	if (s->sq_tail == s->sq_seen && !mroce_answer_pending(s))
		return;
	if (s->state == MROCE_STREAM_IDLE)
		mroce_stream_open(s, now);
	mroce_stream_arm(s);
	mroce_stream_activate(s);
	mroce_stream_complete(s, now);
}

/* Nothing of this request may go out yet. */
static bool request_blocked(const struct mroce_stream *s, const struct mroce_txmsg *m)
{
	if (m->flags & MROCE_MSG_FAILED)
		return true;
	if (m->flags & MROCE_MSG_FENCE && s->rd_outstanding && !m->sent)
		return true;
	return is_read(m) && s->rd_outstanding >= s->attr.max_rd_atomic;
}

static bool request_ready(struct mroce_stream *s)
{
	if (s->state != MROCE_STREAM_OPEN || s->refused != MROCE_NONE || s->half)
		return false;
	/* requests without packets are passed over; they are done when they are the oldest */
	while (s->sq_next != s->sq_seen &&
	       mroce_stream_msg(s, s->sq_next)->flags & MROCE_MSG_LOCAL)
		s->sq_next++;
	if (s->sq_next == s->sq_seen)
		return false;
	return !request_blocked(s, mroce_stream_msg(s, s->sq_next));
}

/* Neither a large request nor a large answer may keep the other waiting for all of it. */
void mroce_stream_turn(struct mroce_stream *s, u32 len, bool answer_next)
{
	s->turn_left -= len + MROCE_DATA_LEN;
	if (s->turn_left > 0)
		return;
	s->turn_left = s->conn->cfg.quantum / 2;
	s->answer_turn = answer_next;
}

static u32 request_cut(struct mroce_conn *c, struct mroce_stream *s)
{
	struct mroce_txmsg *m = mroce_stream_msg(s, s->sq_next);
	u32 cpn = mroce_tx_alloc(c);
	struct mroce_txrec *r = mroce_rec(c, cpn);
	bool last = true;

	r->stream = s;
	r->op = m->op;
	r->index = s->sq_next;
	r->offset = m->sent;
	if (is_read(m)) {
		s->rd_outstanding++;
	} else {
		r->len = mroce_stream_chunk(&c->cfg, m->op, m->flags, m->raddr, m->sent, m->len,
					    &last);
		m->sent += r->len;
	}
	s->outstanding++;
	s->query_at = MROCE_NEVER;
	mroce_stream_turn(s, r->len, true);
	if (last) {
		m->sent_all = 1;
		s->sq_next++;
	}
	return cpn;
}

/* A refused piece is cut again, under a new number. */
static u32 refused_cut(struct mroce_conn *c, struct mroce_stream *s)
{
	u32 i = s->refused, prev = MROCE_NONE, cpn;
	struct mroce_txrec *r;

	if (s->resume_at != MROCE_NEVER)
		return MROCE_NONE;
	/* one whose retries are exhausted waits for earlier ones to complete */
	while (i != MROCE_NONE && s->rnr_over &&
	       mroce_stream_msg(s, c->pieces[i].index)->nak) {
		prev = i;
		i = c->pieces[i].next;
	}
	if (i == MROCE_NONE)
		return MROCE_NONE;
	cpn = mroce_tx_alloc(c);
	r = mroce_rec(c, cpn);
	r->stream = s;
	r->op = c->pieces[i].op;
	r->index = c->pieces[i].index;
	r->offset = c->pieces[i].offset;
	r->len = c->pieces[i].len;
	mroce_piece_free(c, s, i, prev);
	mroce_cnt(c, MROCE_CNT_RETX_REFUSED);
	mroce_note_repair(c, cpn, MROCE_REPAIR_REFUSED);
	return cpn;
}

u32 mroce_stream_cut(struct mroce_conn *c, struct mroce_stream *s)
{
	bool request = request_ready(s), answer;

	if (mroce_tx_room(c) <= MROCE_CTRL_RESERVE)
		return MROCE_NONE;
	if (s->refused != MROCE_NONE) {
		u32 cpn = refused_cut(c, s);

		if (cpn != MROCE_NONE)
			return cpn;
	}
	/*
	 * Answers go on while requests are refused; but the pieces that may be refused next must
	 * find room. It comes when the stream resumes: that activates it.
	 */
	answer = s->state != MROCE_STREAM_ERROR && mroce_answer_pending(s) &&
		 c->pieces_used <= c->window;
	if (answer && (s->answer_turn || !request))
		return mroce_answer_cut(c, s);
	if (request)
		return request_cut(c, s);
	return MROCE_NONE;
}

/* Return: whether the oldest request is done. */
static bool oldest_done(struct mroce_stream *s, struct mroce_txmsg *m)
{
	if (m->pins || m->local_err)
		return false;
	if (m->flags & MROCE_MSG_LOCAL)
		return true;
	if (s->sq_tail == s->sq_next || !mroce_lt(m->msn, s->acked_msn))
		return false;
	return !is_read(m) || m->got >= m->len;
}

static bool oldest_failed(struct mroce_stream *s, struct mroce_txmsg *m, u64 now)
{
	if (m->pins)
		return false;
	if (m->local_err || m->flags & MROCE_MSG_FAILED) {
		mroce_stream_fail(s, MROCE_FAIL_LOCAL, 0, now);
		return true;
	}
	if (m->nak == MROCE_NAK_RNR) {
		mroce_stream_fail(s, MROCE_FAIL_RNR, m->nak, now);
		return true;
	}
	/*
	 * Refused at this message; READs before it are still answered, unless the peer is
	 * gone or can't.
	 */
	if (s->peer_nak && (s->sq_tail != s->sq_next || m->sent) &&
	    (m->msn == s->acked_msn || s->peer_nak == MROCE_NAK_GONE ||
	     s->peer_nak == MROCE_NAK_OP)) {
		mroce_stream_fail(s, MROCE_FAIL_NAK, s->peer_nak, now);
		return true;
	}
	return false;
}

/* All has arrived, yet there is no word that all is done: ask before long. */
static void ask_later(struct mroce_stream *s, u16 path, u64 now)
{
	u64 pto = mroce_path_pto(s->conn, &s->conn->paths[path]);

	if (s->outstanding || s->sq_tail == s->sq_next)
		return;
	s->query_at = now + min_t(u64, pto << s->query_backoff, 64 * MROCE_NSEC_PER_MSEC);
	mroce_stream_arm(s);
}

/* Pieces of requests that the peer calls done although it refused them. */
static void drop_stale_pieces(struct mroce_conn *c, struct mroce_stream *s)
{
	u32 i, prev = MROCE_NONE, next;

	for (i = s->refused; i != MROCE_NONE; i = next) {
		struct mroce_piece *p = &c->pieces[i];

		next = p->next;
		if (p->op == MROCE_OP_READ_RESP || p->op == MROCE_OP_ATOMIC_RESP ||
		    !mroce_lt(p->index, s->sq_tail)) {
			prev = i;
			continue;
		}
		mroce_piece_free(c, s, i, prev);
		s->outstanding--;
	}
}

void mroce_stream_complete(struct mroce_stream *s, u64 now)
{
	while (s->sq_tail != s->sq_seen && s->state != MROCE_STREAM_ERROR) {
		struct mroce_txmsg *m = mroce_stream_msg(s, s->sq_tail);

		if (!oldest_done(s, m)) {
			oldest_failed(s, m, now);
			break;
		}
		if (is_read(m) && !(m->flags & MROCE_MSG_LOCAL))
			s->rd_outstanding--;
		if (s->sq_next == s->sq_tail)
			s->sq_next++;
		s->conn->ops->completed(s, s->sq_tail, m);
		s->sq_tail++;
		if (s->refused != MROCE_NONE)
			drop_stale_pieces(s->conn, s);
		s->progress_at = now;
		s->query_at = MROCE_NEVER;
		s->query_backoff = 0;
		mroce_stream_activate(s);
	}
	if (s->state == MROCE_STREAM_OPEN && s->query_at == MROCE_NEVER)
		ask_later(s, 0, now);
	if (s->sq_tail == s->sq_seen && s->refused == MROCE_NONE && s->state == MROCE_STREAM_OPEN)
		list_del_init(&s->timed);
}

/* A VOID that names a stream asks for its state; it is repaired like any packet. */
static void ask(struct mroce_stream *s, u64 now)
{
	struct mroce_conn *c = s->conn;
	struct mroce_txrec *r;
	u32 cpn;

	s->query_at = MROCE_NEVER;
	if (!mroce_tx_room(c)) {
		ask_later(s, 0, now);
		return;
	}
	if (s->query_backoff < 10)
		s->query_backoff++;
	cpn = mroce_tx_alloc(c);
	r = mroce_rec(c, cpn);
	r->stream = s;
	r->op = MROCE_OP_VOID;
	mroce_tx_queue(c, cpn);
}

void mroce_stream_delivered(struct mroce_stream *s, struct mroce_txrec *r, u64 now)
{
	switch (r->op) {
	case MROCE_OP_OPEN:
		/* its answer may never come: the peer's end may be stopped before it is sent */
		if (s->state == MROCE_STREAM_OPENING)
			mroce_stream_open_later(s, now);
		break;
	case MROCE_OP_OPEN_ACK:
		break;
	case MROCE_OP_VOID:
		ask_later(s, r->path, now);
		break;
	case MROCE_OP_READ_RESP:
	case MROCE_OP_ATOMIC_RESP:
		mroce_answer_delivered(s, r->index, now);
		break;
	default:
		s->progress_at = now;
		s->query_backoff = 0;
		s->outstanding--;
		ask_later(s, r->path, now);
	}
}

void mroce_stream_acked(struct mroce_conn *c, const struct mroce_ack_stream *a, u64 now)
{
	struct mroce_stream *s = c->ops->by_handle(c, a->handle);
	u32 msn, sent;

	if (!s || s->state == MROCE_STREAM_ERROR)
		return;		/* ended meanwhile: nothing is wrong with that */
	msn = mroce_expand24(a->msn, s->acked_msn);
	sent = s->sq_next == s->sq_seen ? s->next_msn : mroce_stream_msg(s, s->sq_next)->msn;
	if (mroce_lt(sent, msn) || a->nak > MROCE_NAK_GONE) {
		mroce_cnt(c, MROCE_CNT_RX_BAD_ACK);
		return;
	}
	if (mroce_lt(msn, s->acked_msn))
		return;		/* overtaken */
	s->acked_msn = msn;
	if (mroce_lt(s->rnr_msn, msn))
		s->rnr_count = 0;
	s->peer_nak = a->nak;
	if (a->nak == MROCE_NAK_GONE)
		mroce_stream_peer_gone(s);
	mroce_stream_complete(s, now);
}

void mroce_stream_fail(struct mroce_stream *s, enum mroce_fail why, u8 nak, u64 now)
{
	struct mroce_txmsg *m = NULL;
	u32 index = s->sq_tail;

	if (s->state == MROCE_STREAM_ERROR)
		return;
	if (why == MROCE_FAIL_RETRY)
		mroce_cnt(s->conn, MROCE_CNT_TIMEOUT_FAILS);
	mroce_stream_stop(s, now);
	if (s->sq_tail != s->sq_seen) {
		m = mroce_stream_msg(s, index);
		m->nak = nak;
		/* its memory may be in use: the caller completes it once nothing is (_busy) */
		if (!m->pins)
			s->sq_tail++;
	}
	s->conn->ops->failed(s, index, m, why, nak);
}

/* Another try has failed for want of a receive. */
static void count_rnr(struct mroce_stream *s, u32 msn, u64 sent_at)
{
	if (sent_at < s->resumed_at || s->attr.rnr_retry == 7)
		return;
	if (!s->rnr_count)
		s->rnr_msn = msn;
	if (s->rnr_count++ >= s->attr.rnr_retry)
		s->rnr_over = true;
}

void mroce_stream_refuse(struct mroce_stream *s, u32 cpn, u8 nak, u32 delay_us, u64 now)
{
	struct mroce_conn *c = s->conn;
	struct mroce_txrec *r = mroce_rec(c, cpn);
	bool first = s->resume_at == MROCE_NEVER, request = r->op >= MROCE_OP_SEND &&
		     r->op != MROCE_OP_READ_RESP && r->op != MROCE_OP_ATOMIC_RESP;
	u64 sent_at = r->sent_at;
	u32 index = r->index;
	u16 path = r->path;

	if (r->op < MROCE_OP_SEND) {
		mroce_tx_queue(c, cpn);		/* nobody refuses these */
		return;
	}
	if (request && mroce_lt(index, s->sq_tail)) {
		/* called done before, and refused now: the peer's own fault */
		s->outstanding--;
		mroce_tx_release(c, cpn);
		return;
	}
	mroce_tx_park(c, cpn);
	s->progress_at = now;
	if (first) {
		/* room to hold comes with a repair, and that takes a round trip: ask in between */
		if (nak == MROCE_NAK_HOLD)
			delay_us = max_t(u32, delay_us, c->paths[path].srtt_us / 4);
		s->resume_at = now + max_t(u32, delay_us, 20) * MROCE_NSEC_PER_USEC;
		mroce_stream_arm(s);
	}
	if (nak != MROCE_NAK_RNR || !request)
		return;
	if (first) {
		mroce_cnt(c, MROCE_CNT_RNR_WAITS);
		count_rnr(s, mroce_stream_msg(s, index)->msn, sent_at);
	}
	if (s->rnr_over) {
		/* it fails when it is the oldest */
		mroce_stream_msg(s, index)->nak = MROCE_NAK_RNR;
		mroce_stream_complete(s, now);
	}
}

static void resume(struct mroce_stream *s, u64 now)
{
	s->resume_at = MROCE_NEVER;
	s->resumed_at = now;
	s->progress_at = now;
	mroce_stream_activate(s);
}

static u64 try_time(const struct mroce_stream *s)
{
	return s->attr.timeout_ns * (s->attr.retry_cnt + 1);
}

static u64 progress_deadline(const struct mroce_stream *s)
{
	/* a refusal is progress, and so is waiting for it */
	if (!s->attr.timeout_ns || s->sq_tail == s->sq_seen || s->resume_at != MROCE_NEVER)
		return MROCE_NEVER;
	return max_t(u64, s->progress_at + try_time(s), s->patience_at);
}

/*
 * Out of time. While the connection lives the stream may just be waiting for its share of it,
 * here or at the peer: that gets more patience, not endless.
 */
static void out_of_time(struct mroce_stream *s, u64 now)
{
	u64 limit = try_time(s);

	if (s->conn->alive_at + limit > now && s->progress_at + PATIENCE * limit > now) {
		s->patience_at = now + limit / 2;
		return;
	}
	mroce_stream_fail(s, MROCE_FAIL_RETRY, 0, now);
}

u64 mroce_stream_deadline(const struct mroce_stream *s)
{
	u64 at = progress_deadline(s);

	at = min_t(u64, at, s->resume_at);
	if (s->state == MROCE_STREAM_OPENING)
		at = min_t(u64, at, s->open_at);
	return min_t(u64, at, s->query_at);
}

void mroce_stream_arm(struct mroce_stream *s)
{
	struct mroce_conn *c = s->conn;

	if (s->state == MROCE_STREAM_ERROR)
		return;
	if (list_empty(&s->timed))
		list_add_tail(&s->timed, &c->timed);
	c->timed_at = min_t(u64, c->timed_at, mroce_stream_deadline(s));
}

void mroce_stream_timeout(struct mroce_stream *s, u64 now)
{
	if (s->resume_at <= now)
		resume(s, now);
	if (s->state == MROCE_STREAM_OPENING && s->open_at <= now)
		mroce_stream_open(s, now);
	if (s->query_at <= now)
		ask(s, now);
	if (progress_deadline(s) <= now)
		out_of_time(s, now);
}
