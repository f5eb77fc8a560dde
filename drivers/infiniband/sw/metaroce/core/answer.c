// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Answers: READs and atomics that the peer asked of this side. An answer is executed
 * once, when its request's turn comes; its packets are repaired like any others, and it
 * ends when all of them have arrived. MR-7.6-*
 */
#include "internal.h"

/*
 * The peer may have all of an answer while its path acknowledgment is still under way, and
 * ask the next question: that one waits.
 */
bool mroce_answer_room(const struct mroce_stream *s)
{
	return !s->resp || s->resp_head - s->resp_tail <= s->resp_mask;
}

u8 mroce_answer_add(struct mroce_stream *s, const struct mroce_rxmsg *m)
{
	struct mroce_resp *a;
	u64 value = 0;
	u8 nak;

	if (!s->resp)
		return MROCE_NAK_INV_REQ;
	nak = s->conn->ops->check(s, m->op, m->rkey, m->addr,
				  m->op == MROCE_OP_READ ? m->length : 8);
	if (nak)
		return nak;
	if (m->op != MROCE_OP_READ) {
		nak = s->conn->ops->atomic(s, m->op, m->rkey, m->addr, m->compare_add, m->swap,
					   &value);
		if (nak)
			return nak;
	}
	a = mroce_resp_at(s, s->resp_head);
	memset(a, 0, sizeof(*a));
	a->op = m->op == MROCE_OP_READ ? MROCE_OP_READ_RESP : MROCE_OP_ATOMIC_RESP;
	a->va = m->addr;
	a->rkey = m->rkey;
	a->len = m->op == MROCE_OP_READ ? m->length : 8;
	a->value = value;
	a->tag = m->tag;
	a->msn = m->msn;
	s->resp_head++;
	mroce_stream_activate(s);
	return MROCE_NAK_NONE;
}

bool mroce_answer_pending(const struct mroce_stream *s)
{
	/* a question may overtake the OPEN_ACK that says where the answer goes */
	return s->announced && s->resp_next != s->resp_head;
}

u32 mroce_answer_cut(struct mroce_conn *c, struct mroce_stream *s)
{
	struct mroce_resp *a = mroce_resp_at(s, s->resp_next);
	u32 cpn = mroce_tx_alloc(c);
	struct mroce_txrec *r = mroce_rec(c, cpn);
	bool last;

	r->stream = s;
	r->op = a->op;
	r->index = s->resp_next;
	r->offset = a->sent;
	r->len = mroce_stream_chunk(&c->cfg, a->op, 0, 0, a->sent, a->len, &last);
	a->sent += r->len;
	a->unacked++;
	mroce_stream_turn(s, r->len, false);
	if (last) {
		a->sent_all = true;
		s->resp_next++;
	}
	return cpn;
}

void mroce_answer_delivered(struct mroce_stream *s, u32 index, u64 now)
{
	mroce_resp_at(s, index)->unacked--;
	mroce_answer_reap(s, now);
}

void mroce_answer_reap(struct mroce_stream *s, u64 now)
{
	u32 before = s->resp_tail;

	while (s->resp_tail != s->resp_next) {
		struct mroce_resp *a = mroce_resp_at(s, s->resp_tail);

		if (!a->sent_all || a->unacked || a->pins)
			break;
		s->resp_tail++;
	}
	if (s->resp_tail == before || s->state == MROCE_STREAM_ERROR)
		return;
	if (s->resp_tail == s->resp_head)
		mroce_stream_answers_done(s, now);
	mroce_stream_advance(s, NULL, now);
}
