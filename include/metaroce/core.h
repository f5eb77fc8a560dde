/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The face of the transport core: a deterministic state machine that knows no
 * skb, lock, clock or allocator. (event, now) in; packets to send, payloads to
 * place, completions and a next deadline out. One source for the kernel, unit
 * tests, fuzzers, simulator and conformance peer.
 *
 *	event				call
 *	-----				----
 *	packets arrived			mroce_conn_rx(), then the caller copies what is on
 *					the batch's place list, then mroce_conn_placed()
 *	acknowledgment arrived		mroce_conn_rx_ack()
 *	work request posted		mroce_stream_post()
 *	there may be room to send	mroce_conn_next_burst(), send, mroce_conn_burst_sent()
 *	something to acknowledge	mroce_conn_next_ack()
 *	a way works, or has failed	mroce_conn_way_up(), mroce_conn_way_down()
 *	time				mroce_conn_timeout() at mroce_conn_deadline()
 *
 * All calls for one connection are serialised by the caller (the engine's
 * connection lock); copying payload and building packets happen outside.
 */
#ifndef _METAROCE_CORE_H
#define _METAROCE_CORE_H

#include <metaroce/port.h>
#include <metaroce/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MROCE_AF_INET		2
#define MROCE_AF_INET6		10

#define MROCE_NSEC_PER_USEC	1000ULL
#define MROCE_NSEC_PER_MSEC	1000000ULL
#define MROCE_NEVER		(~0ULL)
#define MROCE_MAX_MSG_LEN	0x80000000U	/* bytes of a message */
#define MROCE_NONE		0xffffffffU	/* no packet, in links between packets */

struct mroce_addr {
	u16 family;		/* MROCE_AF_* */
	u16 rsvd;
	u32 scope_id;		/* IPv6 link-local: the netdev */
	union {
		__be32 v4;
		u8 v6[16];
	};
};

/* What is counted; the names are in verbs/counters.c, tied by static_assert. */
enum mroce_counter {
	/* packets */
	MROCE_CNT_TX_PKTS,
	MROCE_CNT_TX_BYTES,		/* payload */
	MROCE_CNT_TX_BURSTS,
	MROCE_CNT_TX_ACKS,
	MROCE_CNT_TX_DGRAMS,
	MROCE_CNT_TX_NO_ROUTE,
	MROCE_CNT_TX_DROPS,		/* refused by the local stack or out of memory */
	MROCE_CNT_RX_PKTS,
	MROCE_CNT_RX_BYTES,
	MROCE_CNT_RX_BATCHES,
	MROCE_CNT_RX_ACKS,
	MROCE_CNT_RX_DGRAMS,
	MROCE_CNT_RX_CE,
	/* repair */
	MROCE_CNT_RETX_GAP,
	MROCE_CNT_RETX_PROBE,
	MROCE_CNT_RETX_REFUSED,
	MROCE_CNT_RETX_FAILOVER,
	MROCE_CNT_RETX_SPURIOUS,
	MROCE_CNT_PATH_SUSPECT,
	MROCE_CNT_PATH_FAILED,
	MROCE_CNT_WAY_UP,
	MROCE_CNT_WAY_DOWN,
	MROCE_CNT_CC_MARK,		/* window cut by a mark */
	MROCE_CNT_CC_DELAY,		/* window cut by a rising round-trip time */
	MROCE_CNT_CC_OVERFLOW,
	MROCE_CNT_RNR_WAITS,
	MROCE_CNT_TIMEOUT_FAILS,	/* streams failed for want of progress */
	/* arrivals that were not taken */
	MROCE_CNT_RX_DUP_PATH,		/* same path sequence: the network duplicated it */
	MROCE_CNT_RX_DUP_CPN,		/* same packet sent twice */
	MROCE_CNT_RX_REFUSED_RNR,
	MROCE_CNT_RX_REFUSED_HOLD,
	MROCE_CNT_RX_HELD,
	MROCE_CNT_RX_OUT_OF_WINDOW,
	MROCE_CNT_RX_NO_RECORD,
	MROCE_CNT_RX_MALFORMED,
	MROCE_CNT_RX_VERSION,
	MROCE_CNT_RX_TYPE,
	MROCE_CNT_RX_CSUM,
	MROCE_CNT_RX_NO_CONN,
	MROCE_CNT_RX_NO_STREAM,
	MROCE_CNT_RX_NO_PATH,
	MROCE_CNT_RX_NO_QP,
	MROCE_CNT_RX_NO_DEVICE,
	MROCE_CNT_RX_QKEY,
	MROCE_CNT_RX_WRONG_SOURCE,
	MROCE_CNT_RX_BAD_ACK,
	MROCE_CNT_RX_BAD_MSN,
	MROCE_CNT_RX_BAD_OFFSET,
	MROCE_CNT_RX_BAD_TAG,
	MROCE_CNT_RX_BAD_COOKIE,
	MROCE_CNT_RX_ACCESS_ERR,
	MROCE_CNT_RX_NO_BUFFER,		/* datagram without a receive */
	MROCE_CNT_RX_TRUNCATED,		/* datagram larger than the receive */
	/* connections */
	MROCE_CNT_HELLO_TX,
	MROCE_CNT_HELLO_RX,
	MROCE_CNT_HELLO_REJECT,
	MROCE_CNT_CONN_UP,
	MROCE_CNT_CONN_LOST,
	MROCE_CNT_STREAM_OPEN,
	MROCE_CNT_STREAM_REJECT,
	MROCE_CNT_MAX
};

struct mroce_conn;
struct mroce_stream;
struct mroce_rxmsg;

/* ---------------------------------------------------------------- requests */

enum mroce_msg_flags {
	MROCE_MSG_IMM		= 1 << 0,
	MROCE_MSG_INV		= 1 << 1,
	MROCE_MSG_SOLICITED	= 1 << 2,
	MROCE_MSG_FENCE		= 1 << 3,	/* waits for earlier READs and atomics */
	MROCE_MSG_LOCAL		= 1 << 4,	/* never sent; done when it is the oldest */
	MROCE_MSG_FAILED	= 1 << 5,	/* found wrong when posted: fails when the oldest */
};

/*
 * A request in the send queue. The poster fills the first part and calls
 * mroce_stream_post(); the rest is the core's.
 */
struct mroce_txmsg {
	u8 op;			/* enum mroce_op */
	u8 flags;		/* enum mroce_msg_flags */
	u8 dep;
	u8 sent_all;
	u32 len;		/* bytes; READ: to be read; atomics: 8 */
	u64 raddr;
	u32 rkey;
	u32 imm;		/* as it lies on the wire, or the key to invalidate */
	u64 compare_add, swap;

	u32 msn;
	u32 rqn;
	u32 sent;		/* bytes cut into packets so far */
	u32 got;		/* READ, atomics: bytes placed */
	u32 pins;		/* bursts being built from it, copies into it */
	u8 nak;			/* enum mroce_nak that failed it */
	u8 local_err;		/* its own memory could not be used */
};

/* A READ or atomic that this side answers. */
struct mroce_resp {
	u64 va;
	u64 value;		/* atomics: the original value */
	u32 rkey;
	u32 len;
	u32 sent;
	u32 unacked;		/* packets not acknowledged yet */
	u32 pins;
	u32 tag;
	u32 msn;
	u8 op;
	bool sent_all;
};

/* ------------------------------------------------------------------ stream */

enum mroce_stream_state {
	MROCE_STREAM_IDLE,	/* bound to a connection, nothing sent yet */
	MROCE_STREAM_OPENING,	/* OPEN sent, or waiting to be sent again */
	MROCE_STREAM_OPEN,
	MROCE_STREAM_ERROR,	/* says GONE to whatever arrives */
	MROCE_STREAM_STATES
};

enum mroce_fail {
	MROCE_FAIL_NAK,		/* the peer refused: txmsg.nak says why */
	MROCE_FAIL_LOCAL,	/* txmsg.local_err or MROCE_MSG_FAILED */
	MROCE_FAIL_RETRY,	/* no progress within timeout x retries */
	MROCE_FAIL_RNR,		/* rnr_retry exhausted */
	MROCE_FAIL_LOST,	/* the peer was reborn */
};

/* Verbs attributes that the transport honours. */
struct mroce_stream_attr {
	u64 timeout_ns;		/* of one try; 0: for ever */
	u32 rnr_delay_us;	/* what this side asks its peer to wait */
	u8 retry_cnt;		/* 0..7 */
	u8 rnr_retry;		/* 0..7; 7: for ever */
	u8 max_rd_atomic;	/* outstanding READs and atomics of this side */
	u8 max_dest_rd_atomic;	/* ... of the peer */
};

struct mroce_stream {
	struct mroce_conn *conn;
	void *owner;		/* the engine's */
	u32 handle;		/* ours: what the peer writes into packets; 0: none */
	u32 peer_handle;
	u32 lqpn, rqpn;
	u32 incarnation, peer_incarnation;
	u8 state;
	bool half;		/* of a QP connected to itself: answers, never asks */
	bool announced;		/* ... knows the peer's handle from its OPEN */
	struct mroce_stream_attr attr;

	/* requests: indices of the send queue, tail <= next <= seen */
	void *sq;
	u32 sq_stride, sq_mask;
	u32 sq_tail, sq_next, sq_seen;
	u32 next_msn, next_rqn;
	u32 rd_outstanding;
	u32 acked_msn;		/* messages that the peer has executed */
	u8 peer_nak;		/* what the peer says of message acked_msn */
	bool answer_turn;	/* answers and requests take turns */
	s32 turn_left;		/* bytes until the other's turn */
	u32 outstanding;	/* packets sent and not path-acknowledged, ours and voided ones */
	u64 hull_lo, hull_hi;	/* covers the targets of unfinished WRITEs */

	/* scheduling */
	struct list_head active;	/* in conn->active while something can be cut */
	s32 deficit;
	u32 refused;		/* list of refused pieces: conn->pieces */
	u32 refused_tail;
	u64 resume_at;		/* refused: not before; MROCE_NEVER: now, or nothing refused */
	u64 resumed_at;		/* what was sent before and is refused is no new try */
	u64 open_at;		/* next OPEN */
	u32 open_backoff_us;
	u8 query_backoff;
	u32 rnr_count, rnr_msn;	/* tries of this message that found no receive */
	bool rnr_over;		/* rnr_retry is exhausted: txmsg.nak says for which */
	u64 progress_at;	/* last progress */
	u64 patience_at;	/* out of time, but the connection lives: not before */
	u64 query_at;		/* ask for the state: nothing is in flight, yet not all is done */
	u32 pins;		/* bursts being built, copies being made */
	struct list_head timed;	/* in conn->timed while it has a deadline */

	/* answers: tail <= next <= head */
	struct mroce_resp *resp;
	u32 resp_mask;
	u32 resp_tail, resp_next, resp_head;

	/* receiving */
	u32 rx_msn;		/* next message to close */
	u32 exec_msn;		/* next message to execute */
	u32 exec_rqn;		/* next receive to complete */
	struct mroce_rxmsg *rxmsgs;	/* by message number, the oldest first */
	struct mroce_rxmsg *rxmsgs_last;
	u32 rx_inflight;	/* copies not done yet */
	u32 rx_mine;		/* of them, of batch @rx_batch, which copies in order */
	u32 rx_batch;
	u32 rx_held;		/* packets held */
	u32 rx_maxdep;		/* largest distance among them */
	u8 rx_nak;		/* what is wrong with message exec_msn */
	bool rx_gone;		/* the peer's end is gone: what it left incomplete stays so */
	u8 news;		/* times the state is still to be reported */
	struct list_head newsy;	/* in conn->newsy */
};

/* ------------------------------------------------------------------- paths */

enum mroce_path_state {
	MROCE_PATH_PROBING,	/* new or reborn: a probe must come back first */
	MROCE_PATH_ACTIVE,
	MROCE_PATH_SUSPECT,	/* probes unanswered */
	MROCE_PATH_FAILED,
	MROCE_PATH_STATES
};

struct mroce_path {
	u16 id;
	u16 sport;		/* UDP source port: the entropy */
	u8 way;
	u8 state;
	u8 probes;		/* in a row without an answer */
	u8 tail_probes;		/* early ones, before those */
	u8 reo_steps;		/* reordering tolerance in quarters of srtt */
	bool slow_start;
	bool want_probe;	/* a NOP is due */
	u32 lane;		/* local queue of what is in flight */
	u32 next_seq;
	u32 acked_high;		/* highest sequence known to have arrived */
	u32 head, tail;		/* packets in flight, by sequence; MROCE_NONE: none */
	u32 inflight;
	u32 cwnd;		/* packets, 1..255 */
	u32 cwnd_frac;
	u32 round_seq;		/* a window cut waits until this is acknowledged */
	u32 probe_seq;		/* PROBING: acknowledged, it makes the path ACTIVE */
	u16 peer_ce, peer_spurious;
	u32 ce_alpha;		/* marked fraction, 1/1024 */
	u32 srtt_us, rttvar_us, base_us;
	u32 round_acked, round_marked, round_lost;
	u32 round_rtt_us;	/* the smallest of the round, 0: none */
	u64 base_at;		/* when base_us was seen */
	u64 last_sent;
	u64 ack_at;		/* last time something arrived */
	u64 probe_at;		/* tail probe or reordering deadline */
	u64 reo_decay_at;
	u64 rack_sent;		/* when the newest packet known to have arrived was sent */
	u64 tx_pkts, retx_pkts, marks;
};

/* A netdev of ours and one of the peer's, and what is between them. */
struct mroce_way {
	u32 npaths;		/* that leave by it */
	u32 base_us;		/* the shortest round trip seen; 0: none yet */
	u64 ack_at;		/* last time something that left by it was acknowledged */
};

struct mroce_rxpath {
	u32 highest;
	bool seen;
	u16 ce, spurious;
	u64 highest_at;
	u64 bitmap[MROCE_BITMAP_WORDS];
};

/* --------------------------------------------------------------- receiving */

enum mroce_verdict {
	MROCE_RX_DROP,
	MROCE_RX_PLACE,		/* on the batch's place list */
	MROCE_RX_HOLD,		/* taken by ops->hold() */
	MROCE_RX_DONE,		/* nothing to place */
};

/* A packet that arrived: the caller fills @h, @plen, @ce and @payload. */
struct mroce_rxpkt {
	struct mroce_hdr h;
	u32 plen;
	bool ce;
	bool held;		/* this is a copy that was held */
	bool copied;		/* the caller's: @payload is a copy of its own */
	u8 verdict;
	u8 nak;			/* set by who places it: what went wrong */
	u32 msn;		/* message number, expanded */
	u32 index;		/* *_RESP: index of the request in the send queue */
	struct mroce_stream *stream;
	struct mroce_rxmsg *msg;
	struct mroce_rxpkt *next;
	void *payload;		/* the caller's */
	u32 payload_off;
};

/* Copy @first, @first->next, ... in this order. */
struct mroce_rxbatch {
	struct mroce_rxpkt *first, *last;
	u32 serial;		/* the core's */
};

/* ----------------------------------------------------------------- sending */

#define MROCE_BURST_MAX		64

/* Where a packet's payload comes from. */
enum mroce_source {
	MROCE_SRC_NONE,
	MROCE_SRC_REQUEST,	/* the request's memory: stream, index, offset, len */
	MROCE_SRC_ANSWER,	/* the region a READ names: resp, offset, len */
	MROCE_SRC_VALUE,	/* atomics: resp->value, 8 bytes in network order */
};

struct mroce_txpkt {
	u8 hdr[MROCE_MAX_HDR_LEN];
	u8 hdr_len;
	u8 source;
	u16 len;
	u32 offset;
	u32 index;
	u32 cpn;
	struct mroce_stream *stream;
};

/* Consecutive packets of one path, all but the last of one length. */
struct mroce_burst {
	u16 path;
	u16 sport;		/* UDP source port */
	u32 count;
	u32 max_count;		/* in: no more than this */
	u32 lane;		/* in: the local queue it will leave by (a CPU, say) */
	u8 ways;		/* in: ways that can take a burst now, one bit each */
	u8 way;			/* that it leaves by */
	u32 seg_size;		/* UDP payload of every packet but the last */
	u32 bytes;
	struct mroce_txpkt pkts[MROCE_BURST_MAX];
};

/* ---------------------------------------------------------------- policies */

/* Congestion control of a path. All times in ns, windows in packets. */
struct mroce_cc_ops {
	const char *name;
	void (*init)(struct mroce_conn *c, struct mroce_path *p);
	/* @acked packets arrived, @marked of them with CE; @rtt_us of the newest, 0: none */
	void (*acked)(struct mroce_conn *c, struct mroce_path *p, u32 acked, u32 marked,
		      u32 rtt_us, u64 now);
	void (*lost)(struct mroce_conn *c, struct mroce_path *p, u32 lost, u64 now);
};

/* Which path the next burst takes. Return: NULL if none has room. */
struct mroce_sched_ops {
	const char *name;
	struct mroce_path *(*pick)(struct mroce_conn *c, u64 now);
};

/* -------------------------------------------------------------- connection */

/* Why a packet is sent again. */
enum mroce_repair {
	MROCE_REPAIR_GAP,	/* overtaken on its path */
	MROCE_REPAIR_PROBE,	/* nothing was heard */
	MROCE_REPAIR_FAILOVER,	/* its path failed */
	MROCE_REPAIR_REFUSED,	/* the peer could not take it */
};

struct mroce_txrec;

/*
 * Actions that can't wait for the caller to look. Called with the connection
 * serialised; must not call back into the core except where it says so.
 */
struct mroce_core_ops {
	/* How many receives the stream's owner has ever posted. */
	u32 (*rq_posted)(struct mroce_stream *s);
	/* Keep the payload of @pkt, a copy in the pool. Return: false: no memory. */
	bool (*hold)(struct mroce_conn *c, struct mroce_rxpkt *pkt);
	/* Let go of a payload that was held. */
	void (*unhold)(struct mroce_conn *c, struct mroce_rxpkt *pkt);
	/*
	 * A message that takes a receive was executed, or failed with @nak. @len is what the peer
	 * says; whether a SEND of so much fits is for the callee to see.
	 * Return: @nak, or why it fails after all.
	 */
	u8 (*received)(struct mroce_stream *s, u32 rqn, u8 op, u8 flags, u32 imm, u32 len,
		       u8 nak);
	/* May [va, va + len) of rkey be read, or changed atomically? Return: enum mroce_nak. */
	u8 (*check)(struct mroce_stream *s, u8 op, u32 rkey, u64 va, u32 len);
	/* Execute an atomic. Return: enum mroce_nak. */
	u8 (*atomic)(struct mroce_stream *s, u8 op, u32 rkey, u64 va, u64 compare_add, u64 swap,
		     u64 *original);
	/* Request @index is done; called in order. */
	void (*completed)(struct mroce_stream *s, u32 index, struct mroce_txmsg *m);
	/* A request failed (requester), or this side refused one (responder, @m NULL). The
	 * stream is in MROCE_STREAM_ERROR now. While @m has pins its memory is in use: it must not
	 * be completed before the stream is not busy.
	 */
	void (*failed)(struct mroce_stream *s, u32 index, struct mroce_txmsg *m,
		       enum mroce_fail why, u8 nak);
	/*
	 * More is under way than there is room to note: c->want_window, c->want_paths. Allocate
	 * mroce_txmem_size() bytes where one may sleep, and call mroce_conn_grow(), or, if there
	 * are none, mroce_conn_no_growth().
	 */
	void (*grow)(struct mroce_conn *c);
	/* A way fell silent, and its packets went to others: as if by mroce_conn_way_down(). */
	void (*way_silent)(struct mroce_conn *c, u8 way);
	/* OPEN for (dst_qpn, src_qpn) came. Return: the stream, bound to @c, or NULL. */
	struct mroce_stream *(*find_stream)(struct mroce_conn *c, u32 dst_qpn, u32 src_qpn);
	/* Same, by our handle. */
	struct mroce_stream *(*by_handle)(struct mroce_conn *c, u32 handle);
	/* For those who watch; any of them may be NULL. c->state has changed: UP or DEAD. */
	void (*conn_event)(struct mroce_conn *c);
	/* p->state was @old. Not for new paths, which begin ACTIVE. */
	void (*path_event)(struct mroce_conn *c, const struct mroce_path *p, u8 old);
	/* s->state was @old. Not for new streams. */
	void (*stream_event)(struct mroce_stream *s, u8 old);
	/* Packet @r will be sent again. Of a refused one it is the new number. */
	void (*repair)(struct mroce_conn *c, const struct mroce_txrec *r, enum mroce_repair why);
	/* A packet that arrived is refused. */
	void (*refused)(struct mroce_conn *c, const struct mroce_rxpkt *pkt, u8 nak);
};

#define MROCE_MAX_PATHS		512	/* that a peer may use: 255 packets each */
#define MROCE_INIT_PATHS	32	/* with room in a sender from the start */
#define MROCE_MAX_WAYS		8
#define MROCE_WINDOW		4096	/* packets ahead of the oldest, at first; a power of two */
#define MROCE_MAX_WINDOW	262144	/* ... that a receiver takes, and a sender grows to */
#define MROCE_HOLD_POOL		1024	/* packets held out of order */
#define MROCE_MSG_POOL		1024	/* messages incomplete or out of order */

/* A packet of the connection that is not acknowledged yet. */
struct mroce_txrec {
	struct mroce_stream *stream;	/* NULL: VOID, its stream is gone */
	u32 index;
	u32 offset;
	u32 pseq;
	u32 next;		/* slot of the next one on its list: path or resend */
	u32 cpn;
	u64 sent_at;
	u16 len;
	u16 path;
	u8 op;
	u8 state;		/* enum mroce_txrec_state */
	u8 tries;
	u8 nak;			/* OPEN_NAK: why */
};

enum mroce_txrec_state {
	MROCE_TX_FREE,
	MROCE_TX_FLYING,	/* on its path's list */
	MROCE_TX_RESEND,	/* on conn->resend */
};

/* A packet that the peer refused: it is cut again, under another number. */
struct mroce_piece {
	u32 next;		/* MROCE_NONE: the last */
	u32 index;
	u32 offset;
	u16 len;
	u8 op;
};

struct mroce_rxmsg {
	u32 msn;
	u32 got;		/* bytes handed to copying, without the held last packet */
	u32 total;		/* valid with @has_last */
	u32 inflight;		/* copies not done */
	u32 rqn;
	u32 imm;
	u32 rkey, tag, length;
	u64 addr;
	u64 compare_add, swap;
	u8 op;
	u8 flags;
	u8 nak;
	bool has_last;
	bool closed;
	struct mroce_rxpkt *held;	/* packets of this message that wait */
	struct mroce_rxmsg *next;
};

/* Knobs; engine/ and tests fill them. All times in ns. */
struct mroce_conn_cfg {
	u64 probe_floor;	/* 500 us */
	u64 ack_delay_max;	/* how long the peer may sit on an acknowledgment */
	u64 delay_target;	/* rise of the round-trip time that counts as congestion: 25 ms */
	u32 init_cwnd;		/* packets per path */
	u32 max_cwnd;
	u32 paths;		/* of a way, at first */
	u32 max_paths;
	u32 payload;		/* bytes of a full packet, a multiple of 128 */
	u32 payload_ext;	/* ... that has an IMM extension */
	u32 quantum;		/* bytes per turn of a stream */
};

enum mroce_conn_state {
	MROCE_CONN_CONNECTING,
	MROCE_CONN_UP,
	MROCE_CONN_DEAD,
	MROCE_CONN_STATES
};

struct mroce_conn {
	const struct mroce_core_ops *ops;
	const struct mroce_cc_ops *cc;
	const struct mroce_sched_ops *sched;
	struct mroce_conn_cfg cfg;
	u8 state;
	u32 cid, peer_cid;
	u64 counters[MROCE_CNT_MAX];

	/* sending */
	struct list_head active;	/* streams with something to cut */
	struct list_head timed;		/* streams with a deadline */
	u64 timed_at;			/* no stream's deadline is earlier */
	u64 paths_at;			/* nor any path's */
	void *txmem;			/* tx, pieces and paths; grow.c */
	struct mroce_path *paths;	/* room for max_paths of them */
	u32 npaths, max_paths, last_path;
	u32 nactive, nfailed;		/* of them, in MROCE_PATH_ACTIVE and MROCE_PATH_FAILED */
	struct mroce_way ways[MROCE_MAX_WAYS];
	u8 ways_up;			/* one bit each */
	u8 ways_ready;			/* of the burst being made: b->ways */
	bool ways_short;		/* one has too few paths */
	u64 open[MROCE_MAX_PATHS / 64];	/* paths that may have room; others have none */
	bool probes_due;		/* some path's want_probe */
	bool growing;			/* ops->grow() was called and not answered */
	u32 want_window, want_paths;	/* what it is to bring */
	u32 peer_window, peer_paths;	/* what the peer takes */
	u64 grow_at;			/* not again before */
	/* how fast the peer takes it all: bandwidth, grow.c */
	u64 delivered;			/* packets ever acknowledged */
	u64 bw_at, bw_delivered;	/* when the measurement began, and @delivered then */
	u32 base_us;			/* the shortest round trip ever; 0: none seen yet */
	u32 bdp;			/* packets that fill the way, by the best of late */
	u64 bdp_at;
	u32 grown_bdp;			/* @bdp when paths were added */
	u32 lane, want;			/* of the burst being made: b->lane, b->max_count */
	u64 alive_at;			/* last time anything of ours was acknowledged */
	struct mroce_txrec *tx;		/* as many as @window */
	u32 window;			/* a power of two */
	u32 cpn_base, cpn_next;
	u32 resend, resend_tail;	/* packets to be sent again first */
	u32 resend_count;
	u64 rng;			/* xorshift: source ports */
	struct mroce_piece *pieces;	/* 2 * @window: refused ones, and what may be */
	u32 piece_free, pieces_used;

	/* receiving */
	u64 *claimed;			/* one bit per packet number of the window */
	u64 *voided;			/* ... refused; of the window and the one before */
	u32 rx_base;
	struct mroce_rxpath rxpaths[MROCE_MAX_PATHS];
	u64 rxdirty[MROCE_MAX_PATHS / 64];	/* of them, with news for an acknowledgment */
	u32 rxdirty_from;		/* the first that the next one reports */
	struct mroce_rxpkt *hold_free;
	struct mroce_rxpkt *hold_mem;
	u32 hold_used;
	struct mroce_rxmsg *msg_free;
	struct mroce_rxmsg *msg_mem;
	u32 msg_left;
	u32 batch_serial;
	struct list_head newsy;		/* streams whose state is to be reported */
	struct mroce_ack_refused refused[MROCE_ACK_MAX_REFUSED];
	u32 nrefused;
	bool ack_now;			/* something is to be acknowledged */
	bool ack_urgent;		/* ... that its sender can use at once */
	u32 ack_batches;		/* since the last acknowledgment */
	u32 ack_serial, peer_ack_serial;
	u32 hint;
};

/* Bytes that mroce_conn_init() wants behind the struct. */
size_t mroce_conn_mem(void);

/* Bytes that the sender's records of @window packets and of @paths take. */
size_t mroce_txmem_size(u32 window, u32 paths);

/* What can be done to fresh memory for mroce_conn_grow() before the connection is locked. */
void mroce_txmem_prepare(void *mem, u32 window, u32 paths);

/**
 * mroce_conn_grow - more room for packets under way
 * @mem: mroce_txmem_size(@window, @paths) zeroed bytes, 8-byte aligned, that mroce_txmem_prepare()
 *	has seen; the connection's from now
 * @window: packets, a power of two; @window and @paths are no less than it has
 * @paths: paths
 *
 * Moves the records of what is in flight, a millisecond or two for the largest. Return: the
 * memory it had before, for the caller to free. Afterwards there may be something to send.
 */
void *mroce_conn_grow(struct mroce_conn *c, void *mem, u32 window, u32 paths);

/* ops->grow() found no memory: it is asked again a while later. */
void mroce_conn_no_growth(struct mroce_conn *c, u64 now);

/**
 * mroce_conn_init - make a connection
 * @c: zeroed
 * @mem: mroce_conn_mem() zeroed bytes, 8-byte aligned, that live as long
 * @txmem: mroce_txmem_size(MROCE_WINDOW, MROCE_INIT_PATHS) likewise, until mroce_conn_grow()
 * @cfg: copied
 * @seed: random, for source ports
 */
void mroce_conn_init(struct mroce_conn *c, void *mem, void *txmem,
		     const struct mroce_core_ops *ops, const struct mroce_conn_cfg *cfg, u32 cid,
		     u64 seed);

/* What the peer's handshake says it takes. Before mroce_conn_up(); without it, the least. */
void mroce_conn_peer_limits(struct mroce_conn *c, u32 window, u32 paths);

void mroce_cfg_default(struct mroce_conn_cfg *cfg);

/* Payload sizes that an IP MTU gives. @ipv6: header of 40 instead of 20 bytes. */
void mroce_cfg_mtu(struct mroce_conn_cfg *cfg, u32 mtu, bool ipv6);

/* The handshake is through: @rtt_us was measured by it (0: unknown). */
void mroce_conn_up(struct mroce_conn *c, u32 peer_cid, u32 rtt_us, u64 now);

/**
 * mroce_conn_way_up - packets come through
 * @way: 0 to MROCE_MAX_WAYS - 1; 0 is up from mroce_conn_up() on
 * @rtt_us: as a probe has measured it, at least 1
 *
 * Its paths are used from now on.
 */
void mroce_conn_way_up(struct mroce_conn *c, u8 way, u32 rtt_us, u64 now);

/**
 * mroce_conn_way_down - nothing comes through
 * @way: as above
 *
 * What is in flight there is sent by other ways at once. Return: false if it is the only one
 * that is up, and stays so: then its streams wait, as long as they may.
 */
bool mroce_conn_way_down(struct mroce_conn *c, u8 way, u64 now);

/* The peer is gone: nothing is sent or taken any more. The caller fails the streams. */
void mroce_conn_lost(struct mroce_conn *c, u64 now);

/* Streams: bind before anything else, unbind last (its refs must have drained: _busy). */
void mroce_stream_init(struct mroce_stream *s, struct mroce_conn *c, u32 lqpn, u32 rqpn,
		       u32 handle, u32 incarnation);
void mroce_stream_stop(struct mroce_stream *s, u64 now);	/* -> ERROR; packets become VOID */
void mroce_stream_fail(struct mroce_stream *s, enum mroce_fail why, u8 nak, u64 now);
bool mroce_stream_busy(const struct mroce_stream *s);
void mroce_stream_unbind(struct mroce_stream *s);		/* after _stop and !_busy */

/* Requests up to @head are in the send queue. Return: bytes of payload they will send. */
u64 mroce_stream_post(struct mroce_stream *s, u32 head, u64 now);
/* max_rd_atomic and so on changed, or the queue may go on. */
void mroce_stream_kick(struct mroce_stream *s, u64 now);

/**
 * mroce_conn_next_burst - cut or repeat packets
 * @b: in: max_count; out: the rest
 *
 * Return: packets in @b, 0 if nothing may be sent now. What they refer to stays until
 * mroce_conn_burst_sent().
 */
u32 mroce_conn_next_burst(struct mroce_conn *c, struct mroce_burst *b, u64 now);

/* The burst was handed on, or dropped on the way: that is a loss like any other. A packet
 * whose memory could not be read has been reported by mroce_conn_local_error() before.
 */
void mroce_conn_burst_sent(struct mroce_conn *c, struct mroce_burst *b, u64 now);

/* The memory of a packet's request (or of a READ's answer) can't be used any more. */
void mroce_conn_local_error(struct mroce_conn *c, struct mroce_txpkt *pkt, u64 now);

/* Nothing is waiting to be sent except for room? For MROCE_F_MORE and the pump. */
bool mroce_conn_backlog(const struct mroce_conn *c);

/**
 * mroce_conn_rx - data packets of this connection arrived, in order of arrival
 * @b: out: what to copy
 */
void mroce_conn_rx(struct mroce_conn *c, struct mroce_rxpkt *pkts, u32 n,
		   struct mroce_rxbatch *b, u64 now);

/**
 * mroce_conn_placed - the batch was copied
 * @b: in: what was copied, with pkt->nak; out: what may be copied next
 *
 * Return: true if @b is not empty: copy and call again.
 */
bool mroce_conn_placed(struct mroce_conn *c, struct mroce_rxbatch *b, u64 now);

void mroce_conn_rx_ack(struct mroce_conn *c, const struct mroce_ack *a, u64 now);

/* Batches of packets that an acknowledgment may cover if none of them is urgent. */
#define MROCE_ACK_BATCHES	8

/*
 * Return: whether the next acknowledgment must not wait for what else has arrived: it reports a
 * gap, a mark, a refusal, a probe, or much (MR-5.5-01).
 */
bool mroce_conn_ack_urgent(const struct mroce_conn *c);
/*
 * Return: whether what is posted to @s now may be the reply to a message that is not acknowledged
 * yet (nothing else of ours is under way): then the acknowledgment goes out before it (MR-5.5-04).
 */
bool mroce_stream_replies(const struct mroce_stream *s);
/* Return: whether there is something to acknowledge (then @a is filled in). */
bool mroce_conn_next_ack(struct mroce_conn *c, struct mroce_ack *a, u64 now);

u64 mroce_conn_deadline(const struct mroce_conn *c);
void mroce_conn_timeout(struct mroce_conn *c, u64 now);

static inline struct mroce_txmsg *mroce_stream_msg(const struct mroce_stream *s, u32 index)
{
	return (struct mroce_txmsg *)((char *)s->sq +
				      (size_t)(index & s->sq_mask) * s->sq_stride);
}

extern const struct mroce_cc_ops mroce_cc_default;
extern const struct mroce_sched_ops mroce_sched_default;

const char *mroce_stream_state_name(u8 state);
const char *mroce_path_state_name(u8 state);
const char *mroce_conn_state_name(u8 state);
const char *mroce_nak_name(u8 nak);
const char *mroce_op_name(u8 op);

#ifdef __cplusplus
}
#endif

#endif /* _METAROCE_CORE_H */
