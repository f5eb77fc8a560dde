// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The answering side of a stream: what may be placed now, what must wait, and what is
 * executed in which order.
 *
 * Every packet is placed as it lands, except (MR-7.3-*)
 *   - the last packet of a message: after all earlier bytes of this message and of
 *     every earlier one ("closing");
 *   - a packet whose message may overlap an earlier, unfinished one (hdr.dep).
 * Those wait in the hold pool, or are refused when it is full.
 *
 * "After" on several CPUs: copies of one batch are made in the order of its list, so
 * an earlier packet of the same batch counts as placed. Copies of another batch count
 * when mroce_conn_placed() has said so.
 *
 *	exec_msn          rx_msn
 *	   v                v
 *	[ closed, being    ][ incomplete or out of order ]
 *	  copied           ]
 */
#include "internal.h"

/* ------------------------------------------------------------ message records */

static struct mroce_rxmsg *msg_find(struct mroce_stream *s, u32 msn)
{
	struct mroce_rxmsg *m;

	if (s->rxmsgs_last && mroce_lt(s->rxmsgs_last->msn, msn))
		return NULL;
	for (m = s->rxmsgs; m && !mroce_lt(msn, m->msn); m = m->next)
		if (m->msn == msn)
			return m;
	return NULL;
}

static struct mroce_rxmsg *msg_add(struct mroce_conn *c, struct mroce_stream *s,
				   const struct mroce_rxpkt *pkt)
{
	struct mroce_rxmsg **at = &s->rxmsgs, *m = c->msg_free;

	if (!m || (c->msg_left <= MROCE_HEAD_RESERVE && pkt->msn != s->rx_msn))
		return NULL;
	c->msg_free = m->next;
	c->msg_left--;
	memset(m, 0, sizeof(*m));
	m->msn = pkt->msn;
	m->op = pkt->h.op;
	m->addr = pkt->h.addr;
	m->rkey = pkt->h.rkey;
	m->rqn = pkt->h.rqn;
	if (s->rxmsgs_last && mroce_lt(s->rxmsgs_last->msn, m->msn))
		at = &s->rxmsgs_last->next;
	while (*at && mroce_lt((*at)->msn, m->msn))
		at = &(*at)->next;
	m->next = *at;
	*at = m;
	if (!m->next)
		s->rxmsgs_last = m;
	return m;
}

static void msg_free(struct mroce_conn *c, struct mroce_rxmsg *m)
{
	m->next = c->msg_free;
	c->msg_free = m;
	c->msg_left++;
}

/* Takes the oldest record off the list. */
static void msg_pop(struct mroce_stream *s)
{
	struct mroce_rxmsg *m = s->rxmsgs;

	s->rxmsgs = m->next;
	if (!m->next)
		s->rxmsgs_last = NULL;
	msg_free(s->conn, m);
}

/* A record that was made for a packet which is not taken after all. */
static void msg_undo(struct mroce_stream *s, struct mroce_rxmsg *m)
{
	struct mroce_rxmsg **at = &s->rxmsgs, *prev = NULL;

	while (*at != m) {
		prev = *at;
		at = &(*at)->next;
	}
	*at = m->next;
	if (s->rxmsgs_last == m)
		s->rxmsgs_last = prev;
	msg_free(s->conn, m);
}

/* -------------------------------------------------------------------- holding */

static void hold_free(struct mroce_conn *c, struct mroce_rxpkt *h)
{
	c->ops->unhold(c, h);
	h->next = c->hold_free;
	c->hold_free = h;
	c->hold_used--;
}

static bool hold(struct mroce_conn *c, struct mroce_stream *s, struct mroce_rxmsg *m,
		 struct mroce_rxpkt *pkt)
{
	struct mroce_rxpkt *h = c->hold_free, *next;

	if (!h)
		return false;
	next = h->next;
	*h = *pkt;
	h->held = true;
	h->msg = m;
	h->stream = s;
	if (!c->ops->hold(c, h)) {
		h->held = false;
		h->next = next;
		return false;
	}
	c->hold_free = next;
	c->hold_used++;
	h->next = m->held;
	m->held = h;
	s->rx_held++;
	s->rx_maxdep = max_t(u32, s->rx_maxdep, pkt->h.dep);
	mroce_cnt(c, MROCE_CNT_RX_HELD);
	return true;
}

static void drop_held(struct mroce_stream *s, struct mroce_rxmsg *m)
{
	while (m->held) {
		struct mroce_rxpkt *h = m->held;

		m->held = h->next;
		hold_free(s->conn, h);
		s->rx_held--;
	}
}

/* Records stay while copies refer to them; the last copy calls again. */
void mroce_stream_drop_held(struct mroce_stream *s)
{
	struct mroce_rxmsg *m;

	for (m = s->rxmsgs; m; m = m->next)
		drop_held(s, m);
	while (!s->rx_inflight && s->rxmsgs)
		msg_pop(s);
}

/* ------------------------------------------------------------------- ordering */

/* Copies of other batches that are not done. */
static u32 others(const struct mroce_stream *s)
{
	return s->rx_inflight - (s->rx_batch == s->conn->batch_serial ? s->rx_mine : 0);
}

/* May the last packet of @m be placed: is all before it placed, or ahead in this batch? */
static bool may_close(const struct mroce_stream *s, const struct mroce_rxmsg *m, u32 offset)
{
	if (m->msn != s->rx_msn || m->got != offset)
		return false;
	return !others(s) || (s->exec_msn == m->msn && !m->inflight);
}

static bool dep_satisfied(const struct mroce_stream *s, u32 msn, u8 dep)
{
	u32 target = msn - dep;

	if (!dep || mroce_lt(target, s->exec_msn))
		return true;
	return mroce_lt(target, s->rx_msn) && !others(s);
}

static bool may_place(const struct mroce_stream *s, const struct mroce_rxmsg *m,
		      const struct mroce_rxpkt *pkt)
{
	if (pkt->h.flags & MROCE_F_LAST)
		return may_close(s, m, pkt->h.offset);
	return dep_satisfied(s, pkt->msn, pkt->h.dep);
}

static void enlist(struct mroce_stream *s, struct mroce_rxpkt *pkt, struct mroce_rxbatch *b)
{
	pkt->verdict = MROCE_RX_PLACE;
	pkt->nak = 0;
	pkt->next = NULL;
	if (b->last)
		b->last->next = pkt;
	else
		b->first = pkt;
	b->last = pkt;
	if (s->rx_batch != s->conn->batch_serial) {
		s->rx_batch = s->conn->batch_serial;
		s->rx_mine = 0;
	}
	s->rx_mine++;
	s->rx_inflight++;
}

static void place(struct mroce_stream *s, struct mroce_rxmsg *m, struct mroce_rxpkt *pkt,
		  struct mroce_rxbatch *b)
{
	pkt->stream = s;
	pkt->msg = m;
	m->got += pkt->plen;
	if (pkt->plen || pkt->held) {
		m->inflight++;
		enlist(s, pkt, b);
	} else {
		pkt->verdict = MROCE_RX_DONE;
	}
	if (pkt->h.flags & MROCE_F_LAST) {
		m->closed = true;
		s->rx_msn++;
	}
}

/* Held packets of @m that may be placed now. */
static void release(struct mroce_stream *s, struct mroce_rxmsg *m, struct mroce_rxbatch *b)
{
	struct mroce_rxpkt **at = &m->held, **last = NULL;

	while (*at) {
		struct mroce_rxpkt *h = *at;

		if (h->h.flags & MROCE_F_LAST) {
			last = at;
			at = &h->next;
		} else if (may_place(s, m, h)) {
			*at = h->next;
			s->rx_held--;
			place(s, m, h, b);
		} else {
			at = &h->next;
		}
	}
	if (last && may_close(s, m, (*last)->h.offset)) {
		struct mroce_rxpkt *h = *last;

		*last = h->next;
		s->rx_held--;
		place(s, m, h, b);
		/* all bytes are there: a peer that sent more of them has its own fault */
		drop_held(s, m);
	}
}

static void release_all(struct mroce_stream *s, struct mroce_rxbatch *b)
{
	struct mroce_rxmsg *m;

	if (!b || !s->rx_held || s->rx_nak)
		return;
	for (m = s->rxmsgs; m; m = m->next) {
		if (mroce_lt(s->rx_msn + s->rx_maxdep, m->msn))
			break;
		if (m->held)
			release(s, m, b);
	}
	if (!s->rx_held)
		s->rx_maxdep = 0;
}

/* ------------------------------------------------------------------ executing */

void mroce_stream_news(struct mroce_stream *s)
{
	/* not known yet where to: mroce_open_rx() calls again */
	if (!s->announced)
		return;
	s->news = MROCE_NEWS_REPEAT;
	s->conn->ack_now = true;
	if (list_empty(&s->newsy))
		list_add_tail(&s->newsy, &s->conn->newsy);
}

static bool takes_receive(const struct mroce_rxmsg *m)
{
	return m->op == MROCE_OP_SEND || (m->op == MROCE_OP_WRITE && m->flags & MROCE_F_IMM);
}

/* A question, which takes an answer. */
static bool asks(const struct mroce_rxmsg *m)
{
	return m->op != MROCE_OP_SEND && m->op != MROCE_OP_WRITE;
}

/* Does a later message name the same receive? Only a peer that lies writes such. */
static bool receive_shared(const struct mroce_rxmsg *m)
{
	const struct mroce_rxmsg *o;

	for (o = m->next; o; o = o->next)
		if (o->op == MROCE_OP_SEND && o->rqn == m->rqn)
			return true;
	return false;
}

static u8 execute(struct mroce_stream *s, struct mroce_rxmsg *m)
{
	if (takes_receive(m)) {
		if (!m->nak && m->rqn != s->exec_rqn)
			m->nak = MROCE_NAK_INV_REQ;
		/* another message would be copied into what is the application's now */
		if (!m->nak && receive_shared(m))
			m->nak = MROCE_NAK_INV_REQ;
		if (m->rqn == s->exec_rqn)
			m->nak = s->conn->ops->received(s, m->rqn, m->op, m->flags, m->imm,
							m->total, m->nak);
		s->exec_rqn++;
		return m->nak;
	}
	if (m->nak)
		return m->nak;
	if (m->op == MROCE_OP_WRITE)
		return MROCE_NAK_NONE;
	return mroce_answer_add(s, m);
}

/* The stream ends on this side with @nak for message exec_msn, once its answers are out. */
static void refuse_stream(struct mroce_stream *s, u8 nak, u64 now)
{
	if (!s->rx_nak)
		s->rx_nak = nak;
	mroce_stream_news(s);
	if (s->resp_tail == s->resp_head && s->state != MROCE_STREAM_ERROR) {
		nak = s->rx_nak;
		mroce_stream_stop(s, now);
		s->conn->ops->failed(s, 0, NULL, MROCE_FAIL_NAK, nak);
	}
}

void mroce_stream_answers_done(struct mroce_stream *s, u64 now)
{
	if (s->rx_nak && s->state != MROCE_STREAM_ERROR)
		refuse_stream(s, s->rx_nak, now);
}

static void run(struct mroce_stream *s, u64 now)
{
	while (s->rxmsgs && !s->rx_nak) {
		struct mroce_rxmsg *m = s->rxmsgs;
		u8 nak;

		if (m->msn != s->exec_msn || m->inflight)
			break;
		/* what is wrong already need not be complete */
		if (!m->closed && (!m->nak || (m->op != MROCE_OP_SEND && !m->has_last)))
			break;
		if (asks(m) && !m->nak && !mroce_answer_room(s))
			break;
		nak = execute(s, m);
		if (nak) {
			mroce_cnt(s->conn, MROCE_CNT_RX_ACCESS_ERR);
			refuse_stream(s, nak, now);
			break;
		}
		s->exec_msn++;
		msg_pop(s);
		mroce_stream_news(s);
	}
}

void mroce_stream_advance(struct mroce_stream *s, struct mroce_rxbatch *b, u64 now)
{
	u32 before;

	do {
		run(s, now);
		before = s->rx_msn;
		release_all(s, b);
	} while (s->rx_msn != before && s->state != MROCE_STREAM_ERROR && !s->rx_nak);
	run(s, now);
	if (s->rx_gone && !s->rx_inflight)
		mroce_stream_drop_held(s);
}

void mroce_stream_peer_gone(struct mroce_stream *s)
{
	s->rx_gone = true;
	if (!s->rx_inflight)
		mroce_stream_drop_held(s);
}

/* -------------------------------------------------------------------- arrival */

/* Does the packet agree with itself and with its message? MR-7.2-* */
static bool consistent(const struct mroce_rxmsg *m, const struct mroce_rxpkt *pkt)
{
	const struct mroce_hdr *h = &pkt->h;
	bool request = asks(m);
	u64 end = (u64)h->offset + pkt->plen;

	if (m->op != h->op || end > MROCE_MAX_MSG_LEN || m->closed || m->addr != h->addr)
		return false;
	/* no bytes of its own, but so many of the answer */
	if (h->op == MROCE_OP_READ && h->length > MROCE_MAX_MSG_LEN)
		return false;
	if (h->flags & MROCE_F_LAST)
		return !m->has_last && m->got <= h->offset;
	/* requests and empty messages are one packet */
	if (request || !pkt->plen)
		return false;
	return !m->has_last || (end < m->total && m->got + pkt->plen <= m->total);
}

static void note_last(struct mroce_rxmsg *m, const struct mroce_rxpkt *pkt)
{
	const struct mroce_hdr *h = &pkt->h;

	m->has_last = true;
	m->total = h->offset + pkt->plen;
	m->flags = h->flags;
	m->imm = h->imm;
	m->rqn = h->rqn;
	m->length = h->length;
	m->tag = h->tag;
	m->compare_add = h->compare_add;
	m->swap = h->swap;
}

/* No receive for it: MR-7.5-* */
static bool no_receive(struct mroce_conn *c, struct mroce_stream *s, const struct mroce_rxpkt *pkt)
{
	const struct mroce_hdr *h = &pkt->h;

	if (h->op != MROCE_OP_SEND &&
	    !(h->op == MROCE_OP_WRITE && h->flags & MROCE_F_LAST && h->flags & MROCE_F_IMM))
		return false;
	return !mroce_lt(h->rqn, c->ops->rq_posted(s));
}

/* A receive that is done belongs to the application again; nor may one be skipped. */
static bool wrong_receive(const struct mroce_stream *s, const struct mroce_rxpkt *pkt)
{
	return pkt->h.op == MROCE_OP_SEND &&
	       (pkt->h.rqn != (u32)pkt->h.addr ||
		pkt->h.rqn - s->exec_rqn > pkt->msn - s->exec_msn);
}

static enum mroce_take rx_message(struct mroce_conn *c, struct mroce_stream *s,
				  struct mroce_rxpkt *pkt, struct mroce_rxbatch *b, u8 *nak,
				  u64 now)
{
	struct mroce_rxmsg *m;
	bool fresh = false;

	pkt->msn = mroce_expand24(pkt->h.msn, s->rx_msn);
	if (mroce_lt(pkt->msn, s->rx_msn) || pkt->msn - s->rx_msn > 2 * MROCE_MAX_WINDOW) {
		mroce_cnt(c, MROCE_CNT_RX_BAD_MSN);
		refuse_stream(s, MROCE_NAK_INV_REQ, now);
		return MROCE_TAKE_OK;
	}
	if (wrong_receive(s, pkt)) {
		mroce_cnt(c, MROCE_CNT_RX_BAD_MSN);
		refuse_stream(s, MROCE_NAK_INV_REQ, now);
		return MROCE_TAKE_OK;
	}
	if (no_receive(c, s, pkt)) {
		mroce_cnt(c, MROCE_CNT_RX_REFUSED_RNR);
		*nak = MROCE_NAK_RNR;
		return MROCE_TAKE_REFUSE;
	}
	m = msg_find(s, pkt->msn);
	if (!m) {
		m = msg_add(c, s, pkt);
		fresh = true;
	}
	if (!m) {
		mroce_cnt(c, MROCE_CNT_RX_NO_RECORD);
		*nak = MROCE_NAK_HOLD;
		return MROCE_TAKE_REFUSE;
	}
	if (!consistent(m, pkt)) {
		mroce_cnt(c, MROCE_CNT_RX_BAD_OFFSET);
		if (fresh)
			msg_undo(s, m);
		refuse_stream(s, MROCE_NAK_INV_REQ, now);
		return MROCE_TAKE_OK;
	}
	if (may_place(s, m, pkt)) {
		if (pkt->h.flags & MROCE_F_LAST)
			note_last(m, pkt);
		place(s, m, pkt, b);
		/* as in release() */
		if (pkt->h.flags & MROCE_F_LAST)
			drop_held(s, m);
		if (m->held || pkt->h.flags & MROCE_F_LAST)
			mroce_stream_advance(s, b, now);
		return MROCE_TAKE_OK;
	}
	if (!hold(c, s, m, pkt)) {
		mroce_cnt(c, MROCE_CNT_RX_REFUSED_HOLD);
		if (fresh)
			msg_undo(s, m);
		*nak = MROCE_NAK_HOLD;
		return MROCE_TAKE_REFUSE;
	}
	if (pkt->h.flags & MROCE_F_LAST)
		note_last(m, pkt);
	pkt->verdict = MROCE_RX_HOLD;
	return MROCE_TAKE_OK;
}

/* A packet of an answer: it goes into the request's own memory. MR-7.6-04 */
static enum mroce_take rx_answer(struct mroce_conn *c, struct mroce_stream *s,
				 struct mroce_rxpkt *pkt, struct mroce_rxbatch *b, u64 now)
{
	u32 index = (u32)pkt->h.addr;
	struct mroce_txmsg *m;
	bool atomic = pkt->h.op == MROCE_OP_ATOMIC_RESP;

	if (!pkt->plen)
		return MROCE_TAKE_OK;	/* the end of an empty READ: nothing waits for it */
	if (s->half || mroce_lt(index, s->sq_tail) || !mroce_lt(index, s->sq_next))
		goto bad;
	m = mroce_stream_msg(s, index);
	if (m->flags & (MROCE_MSG_LOCAL | MROCE_MSG_FAILED) ||
	    (m->msn & 0xffffff) != pkt->h.msn ||
	    (atomic ? m->op != MROCE_OP_FETCH_ADD && m->op != MROCE_OP_CMP_SWAP :
		      m->op != MROCE_OP_READ))
		goto bad;
	if ((u64)pkt->h.offset + pkt->plen > m->len || (u64)m->got + pkt->plen > m->len)
		goto bad;
	s->progress_at = now;
	pkt->stream = s;
	pkt->msg = NULL;
	pkt->index = index;
	m->pins++;
	enlist(s, pkt, b);
	return MROCE_TAKE_OK;
bad:
	mroce_cnt(c, MROCE_CNT_RX_BAD_TAG);
	return MROCE_TAKE_OK;
}

enum mroce_take mroce_stream_rx(struct mroce_conn *c, struct mroce_stream *s,
				struct mroce_rxpkt *pkt, struct mroce_rxbatch *b, u8 *nak,
				u64 now)
{
	if (s->state == MROCE_STREAM_ERROR || s->rx_nak) {
		mroce_stream_news(s);
		/* answers still come in while this side's own refusal is under way */
		if (s->state == MROCE_STREAM_ERROR)
			return MROCE_TAKE_OK;
	}
	if (pkt->h.op == MROCE_OP_READ_RESP || pkt->h.op == MROCE_OP_ATOMIC_RESP)
		return rx_answer(c, s, pkt, b, now);
	if (s->rx_nak || s->rx_gone)
		return MROCE_TAKE_OK;
	return rx_message(c, s, pkt, b, nak, now);
}

void mroce_stream_placed(struct mroce_conn *c, struct mroce_rxpkt *pkt, u64 now)
{
	struct mroce_stream *s = pkt->stream;

	s->rx_inflight--;
	if (pkt->msg) {
		pkt->msg->inflight--;
		if (pkt->nak && !pkt->msg->nak)
			pkt->msg->nak = pkt->nak;
	} else {
		struct mroce_txmsg *m = mroce_stream_msg(s, pkt->index);

		m->pins--;
		m->got += pkt->plen;
		if (pkt->nak)
			m->local_err = 1;
	}
	if (pkt->held)
		hold_free(c, pkt);
	if (s->state == MROCE_STREAM_ERROR)
		mroce_stream_drop_held(s);
}
