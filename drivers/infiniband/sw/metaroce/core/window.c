// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connection packet numbers: exactly-once across paths.
 *
 * A number stands for one piece of one message for ever, whichever paths carry
 * it and however often. The sender keeps a record per number until a path
 * acknowledgment says that the peer owns it; the receiver keeps one bit, claimed
 * or not. The sender never runs MROCE_WINDOW ahead of its oldest record, so the
 * two windows always overlap. MR-6.4-*
 */
#include "internal.h"

u32 mroce_tx_room(const struct mroce_conn *c)
{
	return MROCE_WINDOW - (c->cpn_next - c->cpn_base);
}

u32 mroce_tx_alloc(struct mroce_conn *c)
{
	u32 cpn = c->cpn_next++;
	struct mroce_txrec *r = mroce_rec(c, cpn);

	memset(r, 0, sizeof(*r));
	r->state = MROCE_TX_RESEND;
	r->next = MROCE_NONE;
	return cpn;
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

void mroce_tx_void_stream(struct mroce_conn *c, struct mroce_stream *s)
{
	u32 cpn, next;

	for (cpn = s->refused; cpn != MROCE_NONE; cpn = next) {
		next = mroce_rec(c, cpn)->next;
		mroce_tx_queue(c, cpn);
	}
	s->refused = MROCE_NONE;
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
	u32 i = cpn & (MROCE_WINDOW - 1);

	if (d < 0)
		return MROCE_CLAIM_DUP;
	if (d >= MROCE_WINDOW)
		return MROCE_CLAIM_BEYOND;
	return c->claimed[i / 64] >> (i % 64) & 1 ? MROCE_CLAIM_DUP : MROCE_CLAIM_NEW;
}

void mroce_rx_claim_cpn(struct mroce_conn *c, u32 cpn)
{
	u32 i = cpn & (MROCE_WINDOW - 1);

	c->claimed[i / 64] |= 1ULL << (i % 64);
	for (;;) {
		i = c->rx_base & (MROCE_WINDOW - 1);
		if (!(c->claimed[i / 64] >> (i % 64) & 1))
			break;
		c->claimed[i / 64] &= ~(1ULL << (i % 64));
		c->rx_base++;
	}
}
