/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of the core call of each other. Everything runs serialised per connection. */
#ifndef _MROCE_CORE_INTERNAL_H
#define _MROCE_CORE_INTERNAL_H

#include <metaroce/core.h>
#include <metaroce/serial.h>

#define MROCE_NEWS_REPEAT	3	/* acknowledgments that repeat a stream's state */
#define MROCE_CTRL_RESERVE	64	/* packet numbers kept for OPEN and VOID */
#define MROCE_HEAD_RESERVE	256	/* message records kept for oldest messages */
#define MROCE_OPEN_RETRY_US	1000	/* first pause after an OPEN_NAK; doubles to 64 ms */

static inline void mroce_cnt(struct mroce_conn *c, enum mroce_counter id)
{
	c->counters[id]++;
}

static inline void mroce_stream_set_state(struct mroce_stream *s, u8 state)
{
	u8 old = s->state;

	s->state = state;
	if (s->conn->ops->stream_event)
		s->conn->ops->stream_event(s, old);
}

/*
 * Lists of packets link slots of the window. (A packet number has 2^32 values and none to
 * spare for "none".) Both lead to the record.
 */
static inline struct mroce_txrec *mroce_rec(struct mroce_conn *c, u32 cpn)
{
	return &c->tx[cpn & (c->window - 1)];
}

/*
 * The first bit set from @from on, round. @bits: of the array, a multiple of 64. Return: false if
 * there is none.
 */
bool mroce_bit_next(const u64 *array, u32 bits, u32 from, u32 *bit);

/* a < b among message numbers and queue indices */
static inline bool mroce_lt(u32 a, u32 b)
{
	return mroce_before32(a, b);
}

/* Packet @cpn will be sent again. */
static inline void mroce_note_repair(struct mroce_conn *c, u32 cpn, enum mroce_repair why)
{
	if (c->ops->repair)
		c->ops->repair(c, mroce_rec(c, cpn), why);
}

/* window.c: packet numbers ------------------------------------------------- */

/* Packet numbers that may be given out now. */
u32 mroce_tx_room(const struct mroce_conn *c);
/* A fresh packet's slot; the caller fills what it is. Only with mroce_tx_room() > 0. */
u32 mroce_tx_alloc(struct mroce_conn *c);
/* The packet needs no repetition any more. It is on no list. */
void mroce_tx_release(struct mroce_conn *c, u32 cpn);
/* Appends to conn->resend. */
void mroce_tx_queue(struct mroce_conn *c, u32 cpn);
/* The packet's number is spent, its piece waits on the stream's list of refused ones. */
void mroce_tx_park(struct mroce_conn *c, u32 cpn);
/* Takes a refused piece off its list; @prev is the one before it. */
void mroce_piece_free(struct mroce_conn *c, struct mroce_stream *s, u32 piece, u32 prev);
/* Every packet of @s becomes VOID, so its number still arrives. */
void mroce_tx_void_stream(struct mroce_conn *c, struct mroce_stream *s);

enum mroce_claim { MROCE_CLAIM_NEW, MROCE_CLAIM_DUP, MROCE_CLAIM_BEYOND, MROCE_CLAIM_REFUSED };
enum mroce_claim mroce_rx_probe_cpn(const struct mroce_conn *c, u32 cpn);
/* @refused: the number is spent, its piece comes again under another one. */
void mroce_rx_claim_cpn(struct mroce_conn *c, u32 cpn, bool refused);

/* path.c: sending side of paths ------------------------------------------------ */

/* One more path, in conn->paths where there is room. */
void mroce_path_add(struct mroce_conn *c, u8 way, u32 rtt_us, u64 now);
/*
 * Its packets go elsewhere. PROBING: reborn with another source port; FAILED: not before its way
 * is up again.
 */
void mroce_path_fail(struct mroce_conn *c, struct mroce_path *p, u8 state, u64 now);
/* Its way is up again. */
void mroce_path_revive(struct mroce_conn *c, struct mroce_path *p, u32 rtt_us, u64 now);
void mroce_path_set_state(struct mroce_conn *c, struct mroce_path *p, u8 state);
/* Sequences that the path may send now; a probe may exceed the window by @extra. */
u32 mroce_path_room(struct mroce_conn *c, const struct mroce_path *p);
void mroce_path_sent(struct mroce_conn *c, struct mroce_path *p, u32 cpn, u64 now);
void mroce_path_acked(struct mroce_conn *c, const struct mroce_ack_path *a, u64 now);
void mroce_path_refused(struct mroce_conn *c, const struct mroce_ack_refused *r, u64 now);
void mroce_path_timeout(struct mroce_conn *c, struct mroce_path *p, u64 now);
void mroce_path_arm(struct mroce_conn *c, struct mroce_path *p, u64 now);
u64 mroce_path_pto(const struct mroce_conn *c, const struct mroce_path *p);

/* It may have room now, or has none. */
static inline void mroce_path_open(struct mroce_conn *c, const struct mroce_path *p)
{
	c->open[p->id / 64] |= 1ULL << (p->id % 64);
}

static inline void mroce_path_close(struct mroce_conn *c, const struct mroce_path *p)
{
	c->open[p->id / 64] &= ~(1ULL << (p->id % 64));
}

/* Can its way take a burst now? */
static inline bool mroce_way_ready(const struct mroce_conn *c, const struct mroce_path *p)
{
	return c->ways_ready >> p->way & 1;
}

/* way.c: where paths lead ------------------------------------------------------------ */

/* Which one the next new path leaves by. */
u8 mroce_way_for_path(const struct mroce_conn *c);
/* Ways that came up when there was no room for their paths. */
void mroce_ways_fill(struct mroce_conn *c, u64 now);
/* A probe is due on @p: is its whole way silent, while others live? */
bool mroce_way_is_silent(struct mroce_conn *c, const struct mroce_path *p, u64 now);

/* grow.c: how much may be under way ------------------------------------------------ */

void mroce_txmem_init(struct mroce_conn *c, void *mem);
/* No packet number is left. */
void mroce_want_window(struct mroce_conn *c, u64 now);
/* Room for @paths of them, at any rate. */
void mroce_want_room(struct mroce_conn *c, u32 paths, u64 now);
/* No path has room. Return: whether there are new ones. */
bool mroce_want_paths(struct mroce_conn *c, u64 now);
/* @n packets of @p were acknowledged. */
void mroce_bw_sample(struct mroce_conn *c, const struct mroce_path *p, u32 n, u64 now);

/* path_rx.c: receiving side ------------------------------------------------------ */

enum mroce_arrival { MROCE_ARRIVAL_NEW, MROCE_ARRIVAL_DUP, MROCE_ARRIVAL_OLD };
enum mroce_arrival mroce_rxpath_see(struct mroce_rxpath *p, u32 pseq, u64 now);
/* The packet is owned: the sender may forget it. */
void mroce_rxpath_own(struct mroce_rxpath *p, u32 pseq);

/* stream_tx.c ------------------------------------------------------------------- */

/* Cuts the next packet of a stream. Return: its number, or MROCE_NONE. */
u32 mroce_stream_cut(struct mroce_conn *c, struct mroce_stream *s);
void mroce_stream_activate(struct mroce_stream *s);
/* @len bytes were cut of a request or an answer; @answer_next: whose turn is next. */
void mroce_stream_turn(struct mroce_stream *s, u32 len, bool answer_next);
void mroce_stream_complete(struct mroce_stream *s, u64 now);
/* A packet of the stream arrived at the peer. */
void mroce_stream_delivered(struct mroce_stream *s, struct mroce_txrec *r, u64 now);
void mroce_stream_acked(struct mroce_conn *c, const struct mroce_ack_stream *a, u64 now);
void mroce_stream_refuse(struct mroce_stream *s, u32 cpn, u8 nak, u32 delay_us, u64 now);
void mroce_stream_timeout(struct mroce_stream *s, u64 now);
u64 mroce_stream_deadline(const struct mroce_stream *s);
/* The stream may have a deadline now that is earlier than known. */
void mroce_stream_arm(struct mroce_stream *s);
/* Bytes of the message at @offset that the next packet takes; *last: it is the last one. */
u32 mroce_stream_chunk(const struct mroce_conn_cfg *cfg, u8 op, u8 flags, u64 addr, u32 offset,
		       u32 len, bool *last);

/* overlap.c: which earlier WRITE may a new one overlap? -> m->dep */
void mroce_overlap_mark(struct mroce_stream *s, u32 index);

/* open.c: binding streams --------------------------------------------------------- */

void mroce_stream_open(struct mroce_stream *s, u64 now);
/* Asks again after a pause that grows. */
void mroce_stream_open_later(struct mroce_stream *s, u64 now);
/* Return: false if the packet can't be taken now (it is not claimed then). */
bool mroce_open_rx(struct mroce_conn *c, const struct mroce_hdr *h, u64 now);

/* stream_rx.c ------------------------------------------------------------------- */

enum mroce_take { MROCE_TAKE_OK, MROCE_TAKE_LOST, MROCE_TAKE_REFUSE };
/*
 * A packet of a stream whose number is new. OK: claim and own it. LOST: as if it had
 * not come. REFUSE: *nak says why.
 */
enum mroce_take mroce_stream_rx(struct mroce_conn *c, struct mroce_stream *s,
				struct mroce_rxpkt *pkt, struct mroce_rxbatch *b, u8 *nak,
				u64 now);
void mroce_stream_placed(struct mroce_conn *c, struct mroce_rxpkt *pkt, u64 now);
/* Executes what is complete, then releases what may be placed next into @b (may be NULL). */
void mroce_stream_advance(struct mroce_stream *s, struct mroce_rxbatch *b, u64 now);
void mroce_stream_drop_held(struct mroce_stream *s);
/* The last answer has arrived: a refusal that waited for it may take effect. */
void mroce_stream_answers_done(struct mroce_stream *s, u64 now);
void mroce_stream_news(struct mroce_stream *s);
/* The peer's end is gone: nothing incomplete will be completed. */
void mroce_stream_peer_gone(struct mroce_stream *s);

/* answer.c: READ and atomics at the side that answers -------------------------------- */

bool mroce_answer_room(const struct mroce_stream *s);

u8 mroce_answer_add(struct mroce_stream *s, const struct mroce_rxmsg *m);
bool mroce_answer_pending(const struct mroce_stream *s);
u32 mroce_answer_cut(struct mroce_conn *c, struct mroce_stream *s);
void mroce_answer_delivered(struct mroce_stream *s, u32 index, u64 now);
void mroce_answer_reap(struct mroce_stream *s, u64 now);

static inline struct mroce_resp *mroce_resp_at(const struct mroce_stream *s, u32 index)
{
	return &s->resp[index & s->resp_mask];
}

/* ack.c ----------------------------------------------------------------------------- */

void mroce_ack_refuse(struct mroce_conn *c, const struct mroce_rxpkt *pkt, u8 nak, u32 handle,
		      u32 delay_us);

/* packet.c: a record becomes a header ------------------------------------------------ */

void mroce_packet_fill(struct mroce_conn *c, u32 cpn, struct mroce_txpkt *t);
unsigned int mroce_packet_size(struct mroce_conn *c, u32 cpn);

#endif /* _MROCE_CORE_INTERNAL_H */
