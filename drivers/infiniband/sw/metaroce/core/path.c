// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The sending side of a path: its sequence, what is in flight on it, when a gap is a
 * loss, when silence is.
 *
 *	PROBING --probe acknowledged--> ACTIVE --2 probes unanswered--> SUSPECT
 *	   ^                              ^---------- any acknowledgment -----|
 *	   |                                                                  |
 *	   +--new source port--------- another path makes progress -----------+
 *
 * FAILED are the paths of a way that is down (way.c); ACTIVE again, with new source ports, when
 * it is up.
 *
 * A sequence number is never used twice: a repetition travels under a new number, so a
 * hole never freezes the 256-bit window and every round-trip sample is unambiguous.
 * Packets in flight are a list in the order of their numbers. MR-5.*, MR-6.*
 */
#include "internal.h"

#define SUSPECT_PROBES		2
#define FAILED_PROBES		3
#define MAX_BACKOFF		7
#define TAIL_PROBES		2
#define TAIL_FLOOR_PART		16
#define MAX_PAUSE		(200 * MROCE_NSEC_PER_MSEC)
#define REO_MAX_STEPS		8	/* tolerance of two round-trip times */
#define REO_LIFE_RTTS		64
#define RTT_MAX_US		(10 * 1000 * 1000)
#define FIRST_RTT_MAX_US	(100 * 1000)

static u64 usec(u32 us)
{
	return us * MROCE_NSEC_PER_USEC;
}

static u16 new_port(struct mroce_conn *c)
{
	c->rng ^= c->rng << 13;
	c->rng ^= c->rng >> 7;
	c->rng ^= c->rng << 17;
	return 49152 + (c->rng >> 20) % 16384;	/* RFC 6335: dynamic ports */
}

static void set_state(struct mroce_conn *c, struct mroce_path *p, u8 state)
{
	u32 i;

	c->nactive += (state == MROCE_PATH_ACTIVE) - (p->state == MROCE_PATH_ACTIVE);
	c->nfailed += (state == MROCE_PATH_FAILED) - (p->state == MROCE_PATH_FAILED);
	p->state = state;
	mroce_path_open(c, p);
	if (c->nactive)
		return;
	/* now suspect ones are taken */
	for (i = 0; i < c->npaths; i++)
		mroce_path_open(c, &c->paths[i]);
}

static void first_rtt(struct mroce_conn *c, struct mroce_path *p, u32 rtt_us, u64 now)
{
	/* a handshake whose packets were lost took longer than a round trip */
	p->srtt_us = clamp_t(u32, rtt_us, 1, FIRST_RTT_MAX_US);
	p->rttvar_us = p->srtt_us / 2;
	/* not what a queue adds now; 0: the first sample will tell */
	p->base_us = c->ways[p->way].base_us;
	p->base_at = now;
}

void mroce_path_set_state(struct mroce_conn *c, struct mroce_path *p, u8 state)
{
	u8 old = p->state;

	set_state(c, p, state);
	if (c->ops->path_event)
		c->ops->path_event(c, p, old);
}

void mroce_path_add(struct mroce_conn *c, u8 way, u32 rtt_us, u64 now)
{
	struct mroce_path *p = &c->paths[c->npaths];

	memset(p, 0, sizeof(*p));
	p->id = c->npaths++;
	p->way = way;
	c->ways[way].npaths++;
	p->sport = new_port(c);
	/* the handshake, or the paths that it joins, have probed the way */
	set_state(c, p, MROCE_PATH_ACTIVE);
	p->next_seq = 1;
	p->head = MROCE_NONE;
	p->tail = MROCE_NONE;
	first_rtt(c, p, rtt_us, now);
	p->probe_at = MROCE_NEVER;
	c->cc->init(c, p);
}

u32 mroce_path_room(struct mroce_conn *c, const struct mroce_path *p)
{
	u32 span = 0;

	if (p->head != MROCE_NONE)
		span = p->next_seq - mroce_rec(c, p->head)->pseq;
	/* the peer's bitmap must cover whatever is in flight: MR-5.2-03 */
	if (p->inflight >= p->cwnd || span >= MROCE_BITMAP_BITS - 1)
		return 0;
	return min_t(u32, p->cwnd - p->inflight, MROCE_BITMAP_BITS - 1 - span);
}

void mroce_path_sent(struct mroce_conn *c, struct mroce_path *p, u32 cpn, u64 now)
{
	struct mroce_txrec *r = mroce_rec(c, cpn);

	r->pseq = p->next_seq++;
	r->path = p->id;
	r->sent_at = now;
	r->state = MROCE_TX_FLYING;
	r->next = MROCE_NONE;
	if (r->tries < 255)
		r->tries++;
	if (r->tries > 1)
		p->retx_pkts++;
	p->tx_pkts++;
	if (p->head == MROCE_NONE)
		p->head = cpn;
	else
		mroce_rec(c, p->tail)->next = cpn;
	p->tail = cpn;
	p->inflight++;
	p->last_sent = now;
}

/* Takes a packet off the path's list; @prev is the one before it. Return: the one after. */
static u32 unlink(struct mroce_conn *c, struct mroce_path *p, u32 cpn, u32 prev)
{
	u32 next = mroce_rec(c, cpn)->next;

	if (prev == MROCE_NONE)
		p->head = next;
	else
		mroce_rec(c, prev)->next = next;
	if (p->tail == cpn)
		p->tail = prev;
	p->inflight--;
	mroce_path_open(c, p);
	return next;
}

u64 mroce_path_pto(const struct mroce_conn *c, const struct mroce_path *p)
{
	u64 pto = usec(p->srtt_us + max_t(u32, 4 * p->rttvar_us, p->srtt_us)) +
		  c->cfg.ack_delay_max;

	return max_t(u64, pto, c->cfg.probe_floor);
}

/*
 * Until the next probe. The pause grows, but not so far that a few lost probes in a row, which
 * random loss makes now and then, use up a stream's time.
 */
static u64 probe_pause(const struct mroce_conn *c, const struct mroce_path *p)
{
	u64 pto = mroce_path_pto(c, p);

	return max_t(u64, pto, min_t(u64, pto << min_t(u32, p->probes, MAX_BACKOFF), MAX_PAUSE));
}

static u64 reo_window(const struct mroce_path *p)
{
	return usec(p->srtt_us) * p->reo_steps / 4;
}

/* When a packet that the peer has seen overtaken counts as lost. */
static u64 loss_deadline(const struct mroce_path *p, const struct mroce_txrec *r)
{
	return r->sent_at + usec(p->srtt_us) + reo_window(p);
}

/* Nothing is left to be sent that could show a gap. */
static bool nothing_follows(const struct mroce_conn *c, const struct mroce_path *p)
{
	return p->tail_probes < TAIL_PROBES && c->resend == MROCE_NONE && list_empty(&c->active);
}

/*
 * When silence is answered. Whoever waits for a message waits for its tail, so the first probes
 * of a tail go when an acknowledgment is late: after the last packet, or, once they come, after
 * the one before. One too many costs a packet. Those that follow make the path suspect, which
 * costs the path, and a host may be late by the floor. MR-6.2-01, MR-6.2-05
 */
static u64 tail_at(const struct mroce_conn *c, const struct mroce_path *p)
{
	u64 late;

	if (!nothing_follows(c, p))
		return max_t(u64, p->last_sent, p->ack_at) + probe_pause(c, p);
	late = usec(max_t(u32, 2 * p->rttvar_us, p->srtt_us / 2));
	late = max_t(u64, late, c->cfg.probe_floor / TAIL_FLOOR_PART) + c->cfg.ack_delay_max;
	if (p->ack_at > p->last_sent)
		return p->ack_at + late;
	return p->last_sent + usec(p->srtt_us + 2 * p->rttvar_us) + late;
}

static void arm(struct mroce_conn *c, struct mroce_path *p, bool silence)
{
	struct mroce_txrec *r;

	if (p->head == MROCE_NONE) {
		if (p->state != MROCE_PATH_PROBING)
			p->probe_at = MROCE_NEVER;
		c->paths_at = min_t(u64, c->paths_at, p->probe_at);
		return;
	}
	p->probe_at = tail_at(c, p);
	r = mroce_rec(c, p->head);
	if (silence)
		p->probe_at = min_t(u64, p->probe_at,
				    max_t(u64, r->sent_at, p->ack_at) + mroce_path_pto(c, p));
	if (p->reo_steps && mroce_lt(r->pseq, p->acked_high))
		p->probe_at = min_t(u64, p->probe_at, loss_deadline(p, r));
	c->paths_at = min_t(u64, c->paths_at, p->probe_at);
}

void mroce_path_arm(struct mroce_conn *c, struct mroce_path *p, u64 now)
{
	/* one way of several may be silent long before the window is full */
	arm(c, p, c->ways_up & (c->ways_up - 1));
}

static void rtt_sample(struct mroce_path *p, u32 rtt_us)
{
	u32 diff;

	rtt_us = clamp_t(u32, rtt_us, 1, RTT_MAX_US);
	if (!p->srtt_us) {
		p->srtt_us = rtt_us;
		p->rttvar_us = rtt_us / 2;
		return;
	}
	/* RFC 6298 2.3 */
	diff = rtt_us > p->srtt_us ? rtt_us - p->srtt_us : p->srtt_us - rtt_us;
	p->rttvar_us = (3 * p->rttvar_us + diff) / 4;
	p->srtt_us = max_t(u32, (7 * p->srtt_us + rtt_us) / 8, 1);
}

static void lost(struct mroce_conn *c, struct mroce_path *p, u32 *cpn, u32 prev, u32 *n)
{
	u32 this = *cpn;

	*cpn = unlink(c, p, this, prev);
	mroce_tx_queue(c, this);
	mroce_cnt(c, MROCE_CNT_RETX_GAP);
	mroce_note_repair(c, this, MROCE_REPAIR_GAP);
	(*n)++;
}

/* MR-6.1-*: what was overtaken on its own path is lost, at once or after the tolerance. */
static u32 detect_losses(struct mroce_conn *c, struct mroce_path *p, u64 now)
{
	u32 cpn = p->head, prev = MROCE_NONE, n = 0;
	u64 window = reo_window(p);

	while (cpn != MROCE_NONE) {
		struct mroce_txrec *r = mroce_rec(c, cpn);

		if (!mroce_lt(r->pseq, p->acked_high))
			break;
		if (!window || r->sent_at + window < p->rack_sent || loss_deadline(p, r) <= now) {
			lost(c, p, &cpn, prev, &n);
			continue;
		}
		prev = cpn;
		cpn = r->next;
	}
	return n;
}

static void delivered(struct mroce_conn *c, struct mroce_path *p, u32 cpn, u64 now)
{
	struct mroce_txrec *r = mroce_rec(c, cpn);

	p->rack_sent = max_t(u64, p->rack_sent, r->sent_at);
	if (r->stream)
		mroce_stream_delivered(r->stream, r, now);
	mroce_tx_release(c, cpn);
}

/* Removes what the bitmap says has arrived. *took_us: of the newest, 0 if it gives none. */
static u32 take_arrived(struct mroce_conn *c, struct mroce_path *p, const struct mroce_ack_path *a,
			u32 *took_us, u64 now)
{
	u32 cpn = p->head, prev = MROCE_NONE, n = 0;

	while (cpn != MROCE_NONE) {
		struct mroce_txrec *r = mroce_rec(c, cpn);
		s32 d = mroce_diff32(a->highest, r->pseq);
		u32 this = cpn;

		if (d < 0)
			break;
		if (d >= MROCE_BITMAP_BITS || !(a->bitmap[d / 64] >> (d % 64) & 1)) {
			prev = cpn;
			cpn = r->next;
			continue;
		}
		if (!d)
			/* acknowledged before it was sent? Only by a peer that guesses */
			*took_us = clamp_t(u64, div_u64(now - min_t(u64, now, r->sent_at),
							MROCE_NSEC_PER_USEC), 1, RTT_MAX_US);
		cpn = unlink(c, p, this, prev);
		delivered(c, p, this, now);
		n++;
	}
	return n;
}

/* The peer met packets that had not been lost: tolerate more reordering here, for a while. */
static void adapt_reordering(struct mroce_conn *c, struct mroce_path *p, u16 spurious, u64 now)
{
	s16 n = spurious - p->peer_spurious;

	if (n > 0) {
		p->peer_spurious = spurious;
		c->counters[MROCE_CNT_RETX_SPURIOUS] += n;
		p->reo_steps = min_t(u32, p->reo_steps ? p->reo_steps + 1 : 1, REO_MAX_STEPS);
		p->reo_decay_at = now + REO_LIFE_RTTS * usec(p->srtt_us);
	} else if (p->reo_steps && now >= p->reo_decay_at) {
		p->reo_steps--;
		p->reo_decay_at = now + REO_LIFE_RTTS * usec(p->srtt_us);
	}
}

void mroce_path_acked(struct mroce_conn *c, const struct mroce_ack_path *a, u64 now)
{
	struct mroce_path *p;
	u32 took_us = 0, rtt_us, n, nlost, marked;
	s16 ce;

	if (a->path >= c->npaths ||
	    !mroce_lt(a->highest, c->paths[a->path].next_seq)) {
		mroce_cnt(c, MROCE_CNT_RX_BAD_ACK);
		return;
	}
	p = &c->paths[a->path];
	if (mroce_lt(p->acked_high, a->highest))
		p->acked_high = a->highest;
	n = take_arrived(c, p, a, &took_us, now);
	if (n) {
		p->probes = 0;
		p->tail_probes = 0;
		p->ack_at = now;
		c->alive_at = now;
		c->ways[p->way].ack_at = now;
		if (p->state == MROCE_PATH_SUSPECT)
			mroce_path_set_state(c, p, MROCE_PATH_ACTIVE);
	}
	if (p->state == MROCE_PATH_PROBING && !mroce_lt(p->acked_high, p->probe_seq)) {
		mroce_path_set_state(c, p, MROCE_PATH_ACTIVE);
		p->probes = 0;
		p->ack_at = now;
	}
	/* waiting includes the peer's delay, congestion does not */
	if (took_us)
		rtt_sample(p, took_us);
	rtt_us = took_us ? max_t(s32, took_us - a->delay_us, 1) : 0;
	if (rtt_us && (!c->base_us || rtt_us < c->base_us))
		c->base_us = rtt_us;
	if (rtt_us && (!c->ways[p->way].base_us || rtt_us < c->ways[p->way].base_us))
		c->ways[p->way].base_us = rtt_us;
	adapt_reordering(c, p, a->spurious, now);
	ce = a->ce - p->peer_ce;	/* negative: overtaken by a newer one */
	marked = max_t(s32, ce, 0);
	p->peer_ce += marked;
	p->marks += marked;
	nlost = detect_losses(c, p, now);
	if (nlost)
		c->cc->lost(c, p, nlost, now);
	if (n) {
		c->cc->acked(c, p, n, min_t(u32, marked, n), rtt_us, now);
		mroce_bw_sample(c, p, n, now);
	}
	mroce_path_arm(c, p, now);
}

void mroce_path_refused(struct mroce_conn *c, const struct mroce_ack_refused *r, u64 now)
{
	struct mroce_path *p;
	u32 cpn, prev = MROCE_NONE;

	if (r->path >= c->npaths || r->nak < MROCE_NAK_RNR || r->nak >= MROCE_NAK_MAX) {
		mroce_cnt(c, MROCE_CNT_RX_BAD_ACK);
		return;
	}
	p = &c->paths[r->path];
	for (cpn = p->head; cpn != MROCE_NONE;) {
		struct mroce_txrec *rec = mroce_rec(c, cpn);
		u32 this = cpn;
		s32 d = mroce_diff32(rec->pseq, r->pseq);

		if (d >= r->count)
			break;
		if (d < 0) {
			prev = cpn;
			cpn = rec->next;
			continue;
		}
		cpn = unlink(c, p, this, prev);
		p->probes = 0;
		p->ack_at = now;
		c->ways[p->way].ack_at = now;
		if (rec->stream)
			mroce_stream_refuse(rec->stream, this, r->nak, r->delay_us, now);
		else
			mroce_tx_release(c, this);	/* VOID: its number is spent */
	}
	mroce_path_arm(c, p, now);
}

static bool another_lives(struct mroce_conn *c, const struct mroce_path *p)
{
	u32 i;

	for (i = 0; i < c->npaths; i++) {
		const struct mroce_path *o = &c->paths[i];

		if (o != p && o->state == MROCE_PATH_ACTIVE && !o->probes && o->ack_at > p->ack_at)
			return true;
	}
	return false;
}

/* MR-6.3-* */
void mroce_path_fail(struct mroce_conn *c, struct mroce_path *p, u8 state, u64 now)
{
	while (p->head != MROCE_NONE) {
		u32 cpn = p->head;

		unlink(c, p, cpn, MROCE_NONE);
		mroce_tx_queue(c, cpn);
		mroce_cnt(c, MROCE_CNT_RETX_FAILOVER);
		mroce_note_repair(c, cpn, MROCE_REPAIR_FAILOVER);
	}
	mroce_cnt(c, MROCE_CNT_PATH_FAILED);
	/* not for long, maybe, but those who watch see with which port */
	mroce_path_set_state(c, p, MROCE_PATH_FAILED);
	p->sport = new_port(c);
	if (state != MROCE_PATH_FAILED)
		mroce_path_set_state(c, p, state);
	p->probe_seq = p->next_seq;
	p->probe_at = state == MROCE_PATH_FAILED ? MROCE_NEVER : now;
	p->want_probe = false;
	p->probes = 0;
	c->cc->init(c, p);
}

void mroce_path_revive(struct mroce_conn *c, struct mroce_path *p, u32 rtt_us, u64 now)
{
	mroce_path_set_state(c, p, MROCE_PATH_ACTIVE);
	first_rtt(c, p, rtt_us, now);
	p->ack_at = now;
}

static void probe(struct mroce_conn *c, struct mroce_path *p, u64 now)
{
	bool tail = nothing_follows(c, p);
	u32 cpn = p->head;

	unlink(c, p, cpn, MROCE_NONE);
	mroce_tx_queue(c, cpn);
	mroce_cnt(c, MROCE_CNT_RETX_PROBE);
	mroce_note_repair(c, cpn, MROCE_REPAIR_PROBE);
	if (tail) {
		/* armed again when it is sent */
		p->tail_probes++;
		p->probe_at = now + mroce_path_pto(c, p);
		return;
	}
	if (p->probes < 255)
		p->probes++;
	if (p->probes >= SUSPECT_PROBES && p->state == MROCE_PATH_ACTIVE) {
		mroce_path_set_state(c, p, MROCE_PATH_SUSPECT);
		mroce_cnt(c, MROCE_CNT_PATH_SUSPECT);
	}
	if (p->probes >= FAILED_PROBES && another_lives(c, p))
		mroce_path_fail(c, p, MROCE_PATH_PROBING, now);
	else
		p->probe_at = now + probe_pause(c, p);
}

void mroce_path_timeout(struct mroce_conn *c, struct mroce_path *p, u64 now)
{
	u32 n;

	if (p->probe_at > now)
		return;
	if (p->state == MROCE_PATH_PROBING) {
		/* mroce_conn_next_burst() sends a NOP; a while later another one */
		p->want_probe = true;
		c->probes_due = true;
		if (p->probes < 255)
			p->probes++;
		p->probe_at = now + probe_pause(c, p);
		return;
	}
	if (p->head == MROCE_NONE) {
		p->probe_at = MROCE_NEVER;
		return;
	}
	n = detect_losses(c, p, now);
	if (n) {
		c->cc->lost(c, p, n, now);
		mroce_path_arm(c, p, now);
		if (p->probe_at <= now && p->head != MROCE_NONE)
			p->probe_at = now + mroce_path_pto(c, p);
		return;
	}
	if (mroce_way_is_silent(c, p, now) && mroce_conn_way_down(c, p->way, now)) {
		c->ops->way_silent(c, p->way);
		return;
	}
	/* the estimate of the round trip may have grown meanwhile */
	arm(c, p, false);
	if (tail_at(c, p) <= now)
		probe(c, p, now);
}
