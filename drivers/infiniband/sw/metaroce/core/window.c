// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection packet numbers: exactly-once across paths.
 *
 * A number stands for one piece of one message for ever, whichever paths carry
 * it and however often. A refused number is spent as well: the receiver answers
 * every copy of it with the refusal, and the sender cuts the piece again under a
 * new one. (So a stream that waits for receives doesn't hold up the window of the
 * others.) The sender keeps a record per number until a path acknowledgment says
 * that the peer owns it; the receiver keeps one bit, claimed or not. The sender
 * never runs further ahead of its oldest record than the receiver's window, so the two
 * always overlap. MR-6.4-*
 */
#include "internal.h"

u32 mroce_tx_room(const struct mroce_conn *c)
{
	return c->window - (c->cpn_next - c->cpn_base);
}

u32 mroce_tx_alloc(struct mroce_conn *c)
{
	u32 cpn = c->cpn_next++;
	struct mroce_txrec *r = mroce_rec(c, cpn);

	memset(r, 0, sizeof(*r));
	r->state = MROCE_TX_RESEND;
	r->next = MROCE_NONE;
	r->cpn = cpn;
	return cpn & (c->window - 1);
}

void mroce_tx_release(struct mroce_conn *c, u32 cpn)
{
	mroce_rec(c, cpn)->state = MROCE_TX_FREE;
	while (c->cpn_base != c->cpn_next && mroce_rec(c, c->cpn_base)->state == MROCE_TX_FREE)
		c->cpn_base++;
}

void mroce_tx_queue(struct mroce_conn *c, u32 cpn)
{
	struct mroce_txrec *r = mroce_rec(c, cpn);

	r->state = MROCE_TX_RESEND;
	r->next = MROCE_NONE;
	if (c->resend == MROCE_NONE)
		c->resend = cpn;
	else
		mroce_rec(c, c->resend_tail)->next = cpn;
	c->resend_tail = cpn;
	c->resend_count++;
}

void mroce_tx_park(struct mroce_conn *c, u32 cpn)
{
	struct mroce_txrec *r = mroce_rec(c, cpn);
	struct mroce_stream *s = r->stream;
	u32 i = c->piece_free;
	struct mroce_piece *p;

	/* there is one: cut_next() in conn.c sees to it */
	p = &c->pieces[i];
	c->piece_free = p->next;
	c->pieces_used++;
	p->next = MROCE_NONE;
	p->index = r->index;
	p->offset = r->offset;
	p->len = r->len;
	p->op = r->op;
	if (s->refused == MROCE_NONE)
		s->refused = i;
	else
		c->pieces[s->refused_tail].next = i;
	s->refused_tail = i;
	mroce_tx_release(c, cpn);
}

void mroce_piece_free(struct mroce_conn *c, struct mroce_stream *s, u32 piece, u32 prev)
{
	struct mroce_piece *p = &c->pieces[piece];

	if (prev == MROCE_NONE)
		s->refused = p->next;
	else
		c->pieces[prev].next = p->next;
	if (s->refused_tail == piece)
		s->refused_tail = prev;
	p->next = c->piece_free;
	c->piece_free = piece;
	c->pieces_used--;
}

void mroce_tx_void_stream(struct mroce_conn *c, struct mroce_stream *s)
{
	u32 cpn;

	while (s->refused != MROCE_NONE)
		mroce_piece_free(c, s, s->refused, MROCE_NONE);
	for (cpn = c->cpn_base; cpn != c->cpn_next; cpn++) {
		struct mroce_txrec *r = mroce_rec(c, cpn);

		if (r->stream != s || r->state == MROCE_TX_FREE)
			continue;
		r->stream = NULL;
		r->op = MROCE_OP_VOID;
		r->len = 0;
	}
	s->outstanding = 0;
}

enum mroce_claim mroce_rx_probe_cpn(const struct mroce_conn *c, u32 cpn)
{
	s32 d = mroce_diff32(cpn, c->rx_base);
	u32 i = cpn & (MROCE_MAX_WINDOW - 1);
	u32 v = cpn & (2 * MROCE_MAX_WINDOW - 1);

	if (d >= MROCE_MAX_WINDOW)
		return MROCE_CLAIM_BEYOND;
	if (d >= 0 && !(c->claimed[i / 64] >> (i % 64) & 1))
		return MROCE_CLAIM_NEW;
	/* a sender that has not heard of a refusal is no more than a window behind */
	if (d >= -MROCE_MAX_WINDOW && c->voided[v / 64] >> (v % 64) & 1)
		return MROCE_CLAIM_REFUSED;
	return MROCE_CLAIM_DUP;
}

void mroce_rx_claim_cpn(struct mroce_conn *c, u32 cpn, bool refused)
{
	u32 i = cpn & (MROCE_MAX_WINDOW - 1);
	u32 v = cpn & (2 * MROCE_MAX_WINDOW - 1);

	if (refused)
		c->voided[v / 64] |= 1ULL << (v % 64);
	else
		c->voided[v / 64] &= ~(1ULL << (v % 64));

	c->claimed[i / 64] |= 1ULL << (i % 64);
	for (;;) {
		i = c->rx_base & (MROCE_MAX_WINDOW - 1);
		if (!(c->claimed[i / 64] >> (i % 64) & 1))
			break;
		c->claimed[i / 64] &= ~(1ULL << (i % 64));
		c->rx_base++;
	}
}
