// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What must hold of a connection between any two calls. */
#include "sim_test.h"

namespace sim {

static void check_tx(const Side &side)
{
	mroce_conn *c = const_cast<mroce_conn *>(&side.c);
	u32 flying = 0, queued = 0, n = 0, used = 0, active = 0;

	ASSERT_LE(c->cpn_next - c->cpn_base, c->window);
	for (u32 i = 0; i < c->npaths; i++) {
		const mroce_path &p = c->paths[i];
		u32 tail = MROCE_NONE, seq = 0;

		n = 0;
		for (u32 cpn = p.head; cpn != MROCE_NONE; cpn = mroce_rec(c, cpn)->next) {
			const mroce_txrec *r = mroce_rec(c, cpn);

			ASSERT_LE(++n, c->window);
			ASSERT_EQ(r->state, MROCE_TX_FLYING);
			ASSERT_EQ(r->path, i);
			ASSERT_EQ(r->cpn % c->window, cpn);
			ASSERT_LT(r->cpn - c->cpn_base, c->cpn_next - c->cpn_base);
			if (tail != MROCE_NONE) {
				ASSERT_LT(mroce_diff32(seq, r->pseq), 0);
			}
			ASSERT_LT(mroce_diff32(r->pseq, p.next_seq), 0);
			seq = r->pseq;
			tail = cpn;
		}
		ASSERT_EQ(p.tail, tail) << "path " << i;
		ASSERT_EQ(p.inflight, n) << "path " << i;
		ASSERT_GE(p.cwnd, 1u);
		ASSERT_LE(p.cwnd, c->cfg.max_cwnd);
		if (p.head != MROCE_NONE) {
			ASSERT_NE(p.probe_at, MROCE_NEVER) << "in flight and no timer";
			ASSERT_LE(c->paths_at, p.probe_at) << "path " << i << " is timed";
		}
		if (mroce_path_room(c, &p)) {
			ASSERT_TRUE(c->open[i / 64] >> (i % 64) & 1) << "path " << i << " is found";
		}
		active += p.state == MROCE_PATH_ACTIVE;
		flying += n;
	}
	ASSERT_EQ(active, c->nactive);
	for (u32 cpn = c->resend; cpn != MROCE_NONE; cpn = mroce_rec(c, cpn)->next) {
		ASSERT_LE(++queued, c->window);
		ASSERT_EQ(mroce_rec(c, cpn)->state, MROCE_TX_RESEND);
		if (mroce_rec(c, cpn)->next == MROCE_NONE) {
			ASSERT_EQ(c->resend_tail, cpn);
		}
	}
	ASSERT_EQ(queued, c->resend_count);
	for (u32 cpn = c->cpn_base; cpn != c->cpn_next; cpn++)
		used += mroce_rec(c, cpn)->state != MROCE_TX_FREE;
	ASSERT_EQ(used, flying + queued);
	n = 0;
	for (u32 i = c->piece_free; i != MROCE_NONE; i = c->pieces[i].next)
		ASSERT_LE(++n, 2 * c->window);
	ASSERT_EQ(n + c->pieces_used, 2 * c->window);
	ASSERT_LE(c->pieces_used + used, 2 * c->window);
	if (c->cpn_base != c->cpn_next) {
		ASSERT_NE(mroce_rec(c, c->cpn_base)->state, MROCE_TX_FREE);
	}
}

static void check_stream_tx(mroce_conn *c, const mroce_stream &s)
{
	u32 requests = 0, pins = 0;
	std::map<u32, u32> unacked;

	for (u32 cpn = c->cpn_base; cpn != c->cpn_next; cpn++) {
		const mroce_txrec *r = mroce_rec(c, cpn);

		if (r->stream != &s || r->state == MROCE_TX_FREE)
			continue;
		if (r->op == MROCE_OP_READ_RESP || r->op == MROCE_OP_ATOMIC_RESP)
			unacked[r->index]++;
		else if (r->op >= MROCE_OP_SEND)
			requests++;
	}
	for (u32 i = s.refused, n = 0; i != MROCE_NONE; i = c->pieces[i].next) {
		const mroce_piece &p = c->pieces[i];

		ASSERT_LE(++n, c->pieces_used);
		if (p.next == MROCE_NONE) {
			ASSERT_EQ(s.refused_tail, i);
		}
		if (p.op == MROCE_OP_READ_RESP || p.op == MROCE_OP_ATOMIC_RESP)
			unacked[p.index]++;
		else
			requests++;
	}
	if (s.state == MROCE_STREAM_ERROR) {
		ASSERT_EQ(requests + unacked.size(), 0u);
		return;
	}
	ASSERT_EQ(s.outstanding, requests);
	ASSERT_LE(s.sq_next - s.sq_tail, s.sq_seen - s.sq_tail);
	ASSERT_LE(s.sq_seen - s.sq_tail, s.sq_mask + 1);
	ASSERT_LE(s.resp_next - s.resp_tail, s.resp_head - s.resp_tail);
	ASSERT_LE(s.resp_head - s.resp_tail, s.resp_mask + 1);
	ASSERT_LE(s.rd_outstanding, s.attr.max_rd_atomic);
	for (u32 i = s.resp_tail; i != s.resp_head; i++) {
		ASSERT_EQ(mroce_resp_at(&s, i)->unacked, unacked[i]);
		pins += mroce_resp_at(&s, i)->pins;
	}
	for (u32 i = s.sq_tail; i != s.sq_seen; i++)
		pins += mroce_stream_msg(&s, i)->pins;
	ASSERT_GE(pins, s.pins);
}

static void check_rx(const Side &side)
{
	mroce_conn *c = const_cast<mroce_conn *>(&side.c);
	u32 held = 0, free_holds = 0, free_msgs = 0, msgs = 0, at = c->rx_base % MROCE_MAX_WINDOW;

	ASSERT_FALSE(c->claimed[at / 64] >> (at % 64) & 1);
	for (const mroce_rxpkt *h = c->hold_free; h; h = h->next)
		ASSERT_LE(++free_holds, (u32)MROCE_HOLD_POOL);
	for (const mroce_rxmsg *m = c->msg_free; m; m = m->next)
		ASSERT_LE(++free_msgs, (u32)MROCE_MSG_POOL);
	ASSERT_EQ(free_msgs, c->msg_left);
	ASSERT_EQ(free_holds + c->hold_used, (u32)MROCE_HOLD_POOL);
	for (auto &[handle, e] : side.ends) {
		const mroce_stream &s = e->s;
		u32 mine = 0, inflight = 0;
		const mroce_rxmsg *prev = nullptr;

		if (e->unbound)
			continue;
		check_stream_tx(c, s);
		ASSERT_GE(mroce_diff32(s.rx_msn, s.exec_msn), 0);
		for (const mroce_rxmsg *m = s.rxmsgs; m; m = m->next) {
			if (prev) {
				ASSERT_LT(mroce_diff32(prev->msn, m->msn), 0);
			}
			for (const mroce_rxpkt *h = m->held; h; h = h->next) {
				ASSERT_EQ(h->msg, m);
				mine++;
			}
			inflight += m->inflight;
			prev = m;
			msgs++;
		}
		ASSERT_EQ(s.rxmsgs_last, prev);
		ASSERT_EQ(s.rx_held, mine);
		ASSERT_GE(s.rx_inflight, inflight);
		held += mine;
	}
	ASSERT_EQ(msgs + c->msg_left, (u32)MROCE_MSG_POOL);
	ASSERT_LE(held, c->hold_used);
}

void check_invariants(const Side &s)
{
	if (s.c.state != MROCE_CONN_UP)
		return;
	check_tx(s);
	check_rx(s);
}

} /* namespace sim */
