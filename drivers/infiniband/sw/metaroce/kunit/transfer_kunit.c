// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The core in the kernel: two connections that talk over a link in memory, which loses, doubles
 * and reorders packets by a seed. Requests of all kinds in both directions; every byte is looked
 * at. (Rules of placement and bad peers are the user-space simulation's: core/sim_test.cc.)
 *
 *	end[0] ---- list of packets, by time of arrival ---- end[1]
 */
#include <linux/prandom.h>

#include "kunit.h"

#define TX_DEPTH	16
#define TX_REQUESTS	300
#define TX_SLOT		8192			/* the longest message */
#define TX_MEM		(8 * TX_SLOT)
#define TX_VA		0x7f0000000000ULL
#define TX_WRITE_KEY	1
#define TX_READ_KEY	2
#define TX_ATOMIC_KEY	3
#define TX_DELAY_NS	10000
#define TX_RECEIVES	4

struct tx_request {
	struct mroce_txmsg msg;		/* first: the core steps by sizeof(struct tx_request) */
	u32 from;			/* in local[] */
};

struct tx_packet {
	struct list_head node;
	u64 when;
	struct tx_end *to;
	u32 len;
	u8 bytes[];
};

struct tx_end {
	struct mroce_conn conn;
	struct mroce_stream stream;
	struct tx_world *w;
	struct tx_end *peer;
	void *mem, *txmem;
	struct mroce_burst burst;
	struct tx_request sq[TX_DEPTH];
	struct mroce_resp resp[TX_DEPTH];
	u32 head, posted, completed;
	u32 sends, received, rq_posted;	/* SENDs posted here; receives done and posted here */
	u32 send_from[256], send_len[256];	/* by number of the SEND */
	u64 counter;			/* what the peer's atomics change */
	u64 added;			/* what this side's atomics have added */
	u32 held;
	bool wants_growth, failed;
	u8 local[TX_MEM];		/* payload of WRITEs and SENDs */
	u8 target[TX_MEM];		/* what the peer's WRITEs change */
	u8 model[TX_MEM];		/* ... as it has to become */
	u8 source[TX_MEM];		/* what the peer's READs read */
	u8 answer[TX_DEPTH][TX_SLOT];	/* where READs and atomics put it */
	u8 receive[TX_RECEIVES][TX_SLOT];
};

struct tx_world {
	struct kunit *test;
	struct rnd_state rnd;
	const struct tx_link *link;
	u64 now;
	struct list_head flying;
	struct tx_end *end[2];
};

static const struct tx_link {
	const char *name;
	u64 seed;
	u32 loss, dup, reorder;		/* percent */
} tx_links[] = {
	{ "clean", 1, 0, 0, 0 },
	{ "1 % lost", 2, 1, 0, 0 },
	{ "10 % lost", 3, 10, 0, 0 },
	{ "a third lost", 4, 33, 0, 0 },
	{ "doubled and reordered", 5, 0, 10, 20 },
	{ "all of it", 6, 5, 5, 10 },
};

KUNIT_ARRAY_PARAM_DESC(tx_link, tx_links, name);

static u32 tx_random(struct tx_world *w, u32 below)
{
	return prandom_u32_state(&w->rnd) % below;
}

static struct tx_end *tx_of(struct mroce_stream *s)
{
	return s->owner;
}

static struct tx_end *tx_of_conn(struct mroce_conn *c)
{
	return container_of(c, struct tx_end, conn);
}

/* ---- what the core asks for ---- */

static u32 tx_rq_posted(struct mroce_stream *s)
{
	return tx_of(s)->rq_posted;
}

static bool tx_hold(struct mroce_conn *c, struct mroce_rxpkt *pkt)
{
	void *copy = kmemdup(pkt->payload, max(pkt->plen, 1U), GFP_KERNEL);

	if (!copy)
		return false;
	pkt->payload = copy;
	tx_of_conn(c)->held++;
	return true;
}

static void tx_unhold(struct mroce_conn *c, struct mroce_rxpkt *pkt)
{
	kfree(pkt->payload);
	pkt->payload = NULL;
	tx_of_conn(c)->held--;
}

static u8 tx_received(struct mroce_stream *s, u32 rqn, u8 op, u8 flags, u32 imm, u32 len, u8 nak)
{
	struct tx_end *e = tx_of(s), *from = e->peer;
	struct kunit *test = e->w->test;
	u32 n = e->received++;

	KUNIT_EXPECT_EQ(test, nak, MROCE_NAK_NONE);
	KUNIT_EXPECT_EQ(test, rqn, n);
	KUNIT_EXPECT_EQ(test, op, MROCE_OP_SEND);
	KUNIT_EXPECT_EQ(test, imm, n);
	KUNIT_EXPECT_LT(test, n, from->sends);
	KUNIT_EXPECT_EQ(test, len, from->send_len[n % 256]);
	KUNIT_EXPECT_MEMEQ(test, e->receive[n % TX_RECEIVES],
			   from->local + from->send_from[n % 256], len);
	return nak;
}

static bool tx_inside(u64 va, u32 len)
{
	return va >= TX_VA && len <= TX_MEM && va - TX_VA <= TX_MEM - len;
}

static u8 tx_check(struct mroce_stream *s, u8 op, u32 rkey, u64 va, u32 len)
{
	bool ok = op == MROCE_OP_READ ? rkey == TX_READ_KEY && tx_inside(va, len) :
					rkey == TX_ATOMIC_KEY;

	return ok ? MROCE_NAK_NONE : MROCE_NAK_ACCESS;
}

static u8 tx_atomic(struct mroce_stream *s, u8 op, u32 rkey, u64 va, u64 compare_add, u64 swap,
		    u64 *original)
{
	*original = tx_of(s)->counter;
	tx_of(s)->counter += compare_add;
	return MROCE_NAK_NONE;
}

static void tx_completed(struct mroce_stream *s, u32 index, struct mroce_txmsg *m)
{
	struct tx_end *e = tx_of(s);
	struct kunit *test = e->w->test;
	u8 *answer = e->answer[index % TX_DEPTH];

	KUNIT_EXPECT_EQ(test, index, e->completed);
	e->completed++;
	if (m->op == MROCE_OP_READ)
		KUNIT_EXPECT_MEMEQ(test, answer, e->peer->source + (m->raddr - TX_VA), m->len);
	if (m->op == MROCE_OP_FETCH_ADD) {
		/* executed once, and in order: the original is the sum of those before */
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(answer), e->added);
		e->added += m->compare_add;
	}
}

static void tx_failed(struct mroce_stream *s, u32 index, struct mroce_txmsg *m,
		      enum mroce_fail why, u8 nak)
{
	KUNIT_FAIL(tx_of(s)->w->test, "request %u failed: %d, %s", index, why,
		   mroce_nak_name(nak));
	tx_of(s)->failed = true;
}

static void tx_grow(struct mroce_conn *c)
{
	tx_of_conn(c)->wants_growth = true;
}

/* There is one way only, and time without end for it. */
static void tx_way_silent(struct mroce_conn *c, u8 way)
{
	KUNIT_FAIL(tx_of_conn(c)->w->test, "way %u", way);
}

static struct mroce_stream *tx_find_stream(struct mroce_conn *c, u32 dst_qpn, u32 src_qpn)
{
	struct mroce_stream *s = &tx_of_conn(c)->stream;

	return s->lqpn == dst_qpn && s->rqpn == src_qpn ? s : NULL;
}

static struct mroce_stream *tx_by_handle(struct mroce_conn *c, u32 handle)
{
	struct mroce_stream *s = &tx_of_conn(c)->stream;

	return s->handle == handle ? s : NULL;
}

static const struct mroce_core_ops tx_ops = {
	.rq_posted = tx_rq_posted,
	.hold = tx_hold,
	.unhold = tx_unhold,
	.received = tx_received,
	.check = tx_check,
	.atomic = tx_atomic,
	.completed = tx_completed,
	.failed = tx_failed,
	.grow = tx_grow,
	.way_silent = tx_way_silent,
	.find_stream = tx_find_stream,
	.by_handle = tx_by_handle,
};

/* ---- the link ---- */

/* @len bytes for the peer, unless they are lost. Return: where they are to be written. */
static void tx_transmit(struct tx_end *from, const void *bytes, u32 len)
{
	struct tx_world *w = from->w;
	u32 copies = tx_random(w, 100) < w->link->dup ? 2 : 1;
	struct tx_packet *p;

	if (tx_random(w, 100) < w->link->loss)
		return;
	while (copies--) {
		p = kmalloc(struct_size(p, bytes, len), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(w->test, p);
		p->when = w->now + TX_DELAY_NS;
		if (tx_random(w, 100) < w->link->reorder)
			p->when += tx_random(w, 5 * TX_DELAY_NS);
		p->to = from->peer;
		p->len = len;
		memcpy(p->bytes, bytes, len);
		list_add_tail(&p->node, &w->flying);
	}
}

static void tx_build(struct tx_end *e, const struct mroce_txpkt *t, u8 *packet)
{
	const struct mroce_resp *a = &e->resp[t->index % TX_DEPTH];
	u8 *payload = packet + t->hdr_len;

	memcpy(packet, t->hdr, t->hdr_len);
	switch (t->source) {
	case MROCE_SRC_REQUEST:
		memcpy(payload, e->local + e->sq[t->index % TX_DEPTH].from + t->offset, t->len);
		break;
	case MROCE_SRC_ANSWER:
		memcpy(payload, e->source + (a->va - TX_VA) + t->offset, t->len);
		break;
	case MROCE_SRC_VALUE:
		put_unaligned_be64(a->value, payload);
		break;
	}
	tx_transmit(e, packet, t->hdr_len + t->len);
}

static void tx_growth(struct tx_end *e)
{
	u32 window = e->conn.want_window, paths = e->conn.want_paths;
	void *mem = kvzalloc(mroce_txmem_size(window, paths), GFP_KERNEL);

	e->wants_growth = false;
	KUNIT_ASSERT_NOT_NULL(e->w->test, mem);
	mroce_txmem_prepare(mem, window, paths);
	kvfree(mroce_conn_grow(&e->conn, mem, window, paths));
	e->txmem = mem;
}

/* What the engine does after every call: acknowledge, send. */
static void tx_pump(struct tx_end *e)
{
	struct tx_world *w = e->w;
	u8 *packet = kmalloc(2048, GFP_KERNEL);
	struct mroce_ack *ack = kmalloc(sizeof(*ack), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(w->test, packet);
	KUNIT_ASSERT_NOT_NULL(w->test, ack);
	while (mroce_conn_next_ack(&e->conn, ack, w->now))
		tx_transmit(e, packet, mroce_wire_put_ack(ack, packet));
	for (;;) {
		e->burst.max_count = 16;
		e->burst.ways = 1;
		if (!mroce_conn_next_burst(&e->conn, &e->burst, w->now))
			break;
		for (i = 0; i < e->burst.count; i++)
			tx_build(e, &e->burst.pkts[i], packet);
		mroce_conn_burst_sent(&e->conn, &e->burst, w->now);
	}
	if (e->wants_growth)
		tx_growth(e);
	kfree(ack);
	kfree(packet);
}

static void tx_place(struct tx_end *e, struct mroce_rxpkt *p)
{
	struct kunit *test = e->w->test;
	u8 *to = NULL;

	switch (p->h.op) {
	case MROCE_OP_WRITE:
		KUNIT_EXPECT_EQ(test, p->h.rkey, TX_WRITE_KEY);
		if (!tx_inside(p->h.addr + p->h.offset, p->plen))
			p->nak = MROCE_NAK_ACCESS;
		else
			to = e->target + (p->h.addr - TX_VA) + p->h.offset;
		break;
	case MROCE_OP_SEND:
		to = e->receive[p->h.rqn % TX_RECEIVES] + p->h.offset;
		break;
	case MROCE_OP_READ_RESP:
	case MROCE_OP_ATOMIC_RESP:
		to = e->answer[p->index % TX_DEPTH] + p->h.offset;
		break;
	}
	if (!to)
		return;
	KUNIT_ASSERT_LE(test, (u64)p->h.offset + p->plen, (u64)TX_SLOT);
	memcpy(to, p->payload, p->plen);
}

static void tx_data(struct tx_end *e, struct tx_packet *packet)
{
	struct mroce_rxbatch batch = {};
	struct mroce_rxpkt k = {}, *p;
	struct tx_world *w = e->w;
	int err;

	err = mroce_wire_get_data(&k.h, packet->bytes, min_t(u32, packet->len, MROCE_MAX_HDR_LEN),
				  packet->len);
	KUNIT_ASSERT_EQ(w->test, err, 0);
	k.payload = packet->bytes + k.h.hdr_len;
	k.plen = packet->len - k.h.hdr_len;
	mroce_conn_rx(&e->conn, &k, 1, &batch, w->now);
	while (batch.first) {
		for (p = batch.first; p; p = p->next)
			tx_place(e, p);
		if (!mroce_conn_placed(&e->conn, &batch, w->now))
			break;
	}
}

static void tx_arrive(struct tx_packet *packet)
{
	struct tx_end *e = packet->to;
	struct mroce_ack *ack;

	if (mroce_wire_type(packet->bytes, packet->len) == MROCE_T_DATA) {
		tx_data(e, packet);
		return;
	}
	ack = kmalloc(sizeof(*ack), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(e->w->test, ack);
	KUNIT_EXPECT_EQ(e->w->test, mroce_wire_get_ack(ack, packet->bytes, packet->len), 0);
	mroce_conn_rx_ack(&e->conn, ack, e->w->now);
	kfree(ack);
}

/* ---- the application ---- */

static void tx_post_one(struct tx_end *e)
{
	struct tx_request *r = &e->sq[e->head % TX_DEPTH];
	struct tx_world *w = e->w;
	u32 len = tx_random(w, 4) ? tx_random(w, 600) : tx_random(w, TX_SLOT + 1);
	u32 to = tx_random(w, TX_MEM - len);

	memset(r, 0, sizeof(*r));
	r->from = tx_random(w, TX_MEM - len);
	r->msg.len = len;
	r->msg.raddr = TX_VA + to;
	switch (tx_random(w, 5)) {
	case 0:
		r->msg.op = MROCE_OP_READ;
		r->msg.rkey = TX_READ_KEY;
		break;
	case 1:
		r->msg.op = MROCE_OP_FETCH_ADD;
		r->msg.rkey = TX_ATOMIC_KEY;
		r->msg.raddr = TX_VA;
		r->msg.len = 8;
		r->msg.compare_add = 1 + tx_random(w, 1000);
		break;
	case 2:
		r->msg.op = MROCE_OP_SEND;
		r->msg.flags = MROCE_MSG_IMM;
		r->msg.imm = e->sends;
		e->send_from[e->sends % 256] = r->from;
		e->send_len[e->sends % 256] = len;
		e->sends++;
		break;
	default:
		/* overlapping ones too: in the end the order of posting counts */
		r->msg.op = MROCE_OP_WRITE;
		r->msg.rkey = TX_WRITE_KEY;
		memcpy(e->peer->model + to, e->local + r->from, len);
	}
	e->head++;
	e->posted++;
}

static void tx_feed(struct tx_end *e)
{
	/* receives come late now and then: receiver not ready */
	if (e->rq_posted - e->received < TX_RECEIVES && !tx_random(e->w, 8))
		e->rq_posted++;
	while (e->posted < TX_REQUESTS && e->head - e->completed < TX_DEPTH)
		tx_post_one(e);
	mroce_stream_post(&e->stream, e->head, e->w->now);
}

/* ---- the run ---- */

static bool tx_done(const struct tx_world *w)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (w->end[i]->completed < TX_REQUESTS ||
		    w->end[i]->conn.cpn_base != w->end[i]->conn.cpn_next)
			return false;
	return true;
}

static struct tx_packet *tx_next_packet(struct tx_world *w)
{
	struct tx_packet *p, *next = NULL;

	list_for_each_entry(p, &w->flying, node)
		if (!next || p->when < next->when)
			next = p;
	return next;
}

/* The next packet, deadline, or, every 50 us, look of the application. */
static void tx_step(struct tx_world *w)
{
	struct tx_packet *p = tx_next_packet(w);
	u64 when = w->now + 50 * NSEC_PER_USEC;
	u32 i;

	for (i = 0; i < 2; i++)
		when = min(when, max(mroce_conn_deadline(&w->end[i]->conn), w->now));
	if (p && p->when <= when) {
		w->now = max(w->now, p->when);
		list_del(&p->node);
		tx_arrive(p);
		kfree(p);
	} else {
		w->now = when;
	}
	for (i = 0; i < 2; i++) {
		struct tx_end *e = w->end[i];

		if (mroce_conn_deadline(&e->conn) <= w->now)
			mroce_conn_timeout(&e->conn, w->now);
		tx_feed(e);
		tx_pump(e);
	}
}

static void tx_end_exit(void *ctx)
{
	struct tx_end *e = ctx;

	kvfree(e->txmem);
	kvfree(e->mem);
	kvfree(e);
}

static struct tx_end *tx_end_make(struct tx_world *w, u32 id)
{
	struct kunit *test = w->test;
	struct tx_end *e = kvzalloc(sizeof(*e), GFP_KERNEL);
	struct mroce_conn_cfg cfg;

	KUNIT_ASSERT_NOT_NULL(test, e);
	mroce_kunit_defer(test, tx_end_exit, e);
	e->mem = kvzalloc(mroce_conn_mem(), GFP_KERNEL);
	e->txmem = kvzalloc(mroce_txmem_size(MROCE_WINDOW, MROCE_INIT_PATHS), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->mem);
	KUNIT_ASSERT_NOT_NULL(test, e->txmem);
	e->w = w;
	prandom_bytes_state(&w->rnd, e->local, TX_MEM);
	prandom_bytes_state(&w->rnd, e->source, TX_MEM);

	mroce_cfg_default(&cfg);
	mroce_cfg_mtu(&cfg, 1500, false);
	mroce_conn_init(&e->conn, e->mem, e->txmem, &tx_ops, &cfg, 1 + id,
			prandom_u32_state(&w->rnd));
	mroce_conn_peer_limits(&e->conn, MROCE_MAX_WINDOW, MROCE_MAX_PATHS);
	e->stream.owner = e;
	e->stream.sq = e->sq;
	e->stream.sq_stride = sizeof(e->sq[0]);
	e->stream.sq_mask = TX_DEPTH - 1;
	e->stream.resp = e->resp;
	e->stream.resp_mask = TX_DEPTH - 1;
	e->stream.attr = (struct mroce_stream_attr) {
		.retry_cnt = 7, .rnr_retry = 7, .rnr_delay_us = 100,
		.max_rd_atomic = TX_DEPTH, .max_dest_rd_atomic = TX_DEPTH,
	};
	mroce_stream_init(&e->stream, &e->conn, 100 + id, 101 - id, 7 + id,
			  prandom_u32_state(&w->rnd));
	return e;
}

static void tx_check_end(struct tx_world *w, struct tx_end *e)
{
	struct kunit *test = w->test;
	u64 *c = e->conn.counters;
	u64 repaired = c[MROCE_CNT_RETX_GAP] + c[MROCE_CNT_RETX_PROBE] + c[MROCE_CNT_RETX_FAILOVER];

	KUNIT_EXPECT_EQ(test, e->completed, TX_REQUESTS);
	KUNIT_EXPECT_EQ(test, e->received, e->peer->sends);
	KUNIT_EXPECT_EQ(test, e->counter, e->peer->added);
	KUNIT_EXPECT_TRUE(test, !memcmp(e->target, e->model, TX_MEM));
	KUNIT_EXPECT_EQ(test, e->held, 0);
	/* the link did what it is here for, and the core noticed */
	if (w->link->loss)
		KUNIT_EXPECT_GT(test, repaired, 0ULL);
	else if (!w->link->reorder)
		KUNIT_EXPECT_EQ_MSG(test, repaired, 0ULL, "nothing was lost");
	if (w->link->dup)
		KUNIT_EXPECT_GT(test, c[MROCE_CNT_RX_DUP_PATH], 0ULL);
	if (!w->link->loss)
		KUNIT_EXPECT_GT(test, c[MROCE_CNT_RX_REFUSED_RNR], 0ULL);

	mroce_stream_stop(&e->stream, w->now);
	KUNIT_EXPECT_FALSE(test, mroce_stream_busy(&e->stream));
	mroce_stream_unbind(&e->stream);
}

static void tx_transfer(struct kunit *test)
{
	struct tx_world w = { .test = test, .link = test->param_value, .now = 1000 };
	struct tx_packet *p, *next;
	u32 steps = 0, i;

	INIT_LIST_HEAD(&w.flying);
	prandom_seed_state(&w.rnd, w.link->seed);
	for (i = 0; i < 2; i++)
		w.end[i] = tx_end_make(&w, i);
	for (i = 0; i < 2; i++) {
		w.end[i]->peer = w.end[!i];
		mroce_conn_up(&w.end[i]->conn, w.end[!i]->conn.cid, 20, w.now);
	}
	while (!tx_done(&w) && !w.end[0]->failed && !w.end[1]->failed && steps++ < 1000000)
		tx_step(&w);
	kunit_info(test, "%u steps, %llu us, %llu and %llu packets", steps, w.now / 1000,
		   w.end[0]->conn.counters[MROCE_CNT_TX_PKTS],
		   w.end[1]->conn.counters[MROCE_CNT_TX_PKTS]);
	for (i = 0; i < 2; i++)
		tx_check_end(&w, w.end[i]);
	list_for_each_entry_safe(p, next, &w.flying, node)
		kfree(p);
}

static struct kunit_case transfer_cases[] = {
	KUNIT_CASE_PARAM(tx_transfer, tx_link_gen_params),
	{}
};

static struct kunit_suite transfer_suite = {
	.name = "metaroce_transfer",
	.test_cases = transfer_cases,
};

kunit_test_suite(transfer_suite);
