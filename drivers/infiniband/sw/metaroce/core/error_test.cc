// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What goes wrong, goes wrong in the order of the stream and harms no other. */
#include <tuple>

#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kKey = 0x42, kReadOnly = 0x43;
constexpr u64 kBase = 0x10000;

Cfg lossy(u64 seed)
{
	return { .seed = seed, .link = { .loss = 0.05, .dup = 0.02 }, .copy_ns = kUs,
		 .build_ns = kUs };
}

bool idle(End *e)
{
	return e->s.sq_tail == e->head;
}

/* The receive comes late; the sender may wait for ever. */
TEST(rnr, waits_for_ever)
{
	World w(lossy(1));
	End *a, *b;
	std::tie(a, b) = w.connect();
	Bytes data = pattern(1, 5000);

	w.up();
	a->send(data);
	a->kick();
	w.run_for(30 * kMs);
	EXPECT_TRUE(a->done.empty());
	EXPECT_GT(w.side[1].c.counters[MROCE_CNT_RX_REFUSED_RNR], 10u);
	b->recv(5000);
	ASSERT_TRUE(w.run([&] { return idle(a); }));
	EXPECT_TRUE(a->done[0].ok);
	EXPECT_EQ(b->rq[0], data);
}

TEST(rnr, retries)
{
	for (u8 retry : { 0, 3 }) {
		World w({ .seed = 2u + retry });
		End *a, *b;
		std::tie(a, b) = w.connect();
		u64 start;

		w.side[1].region(kKey, kBase, 1000);
		a->s.attr.rnr_retry = retry;
		b->s.attr.rnr_delay_us = 1000;
		w.up();
		a->write(kBase, kKey, pattern(1, 1000));
		a->kick();
		ASSERT_TRUE(w.run([&] { return idle(a); }));
		start = w.now;
		a->write(kBase, kKey, pattern(2, 1000));
		a->send(pattern(3, 100));
		a->send(pattern(4, 100));
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->failed; }));
		/* what came before completed; the SEND fails, not the WRITE */
		ASSERT_EQ(a->done.size(), 3u);
		EXPECT_TRUE(a->done[1].ok);
		EXPECT_EQ(a->done[2].op, MROCE_OP_SEND);
		EXPECT_EQ(a->done[2].why, MROCE_FAIL_RNR);
		EXPECT_GE(w.now - start, retry * kMs);
		EXPECT_LT(w.now - start, (retry + 1) * kMs);
	}
}

/* One stream has no receives: the others don't notice, for longer than the window. */
TEST(rnr, others_go_on)
{
	World w({ .seed = 5, .link = { .loss = 0.01 }, .check_every = 512 });
	End *a, *b;
	std::tie(a, b) = w.connect();
	End *x, *y;
	std::tie(x, y) = w.connect();

	w.side[1].region(kKey, kBase, 1 << 20);
	w.up();
	for (u32 i = 0; i < 20; i++)
		a->send(pattern(i, 20000));
	a->kick();
	for (u32 i = 0; i < 16; i++)
		x->write(kBase, kKey, pattern(100 + i, 1 << 20));
	x->kick();
	ASSERT_TRUE(w.run([&] { return idle(x); }, kSec));
	EXPECT_GT(w.side[0].c.cpn_next, 2u * MROCE_WINDOW);
	EXPECT_TRUE(a->done.empty());
	for (u32 i = 0; i < 20; i++)
		b->recv(20000);
	ASSERT_TRUE(w.run([&] { return idle(a); }));
	for (u32 i = 0; i < 20; i++)
		EXPECT_EQ(b->rq[i], pattern(i, 20000));
	EXPECT_TRUE(w.drain());
}

/* Many refused at once, refusals lost, receives trickling in. */
TEST(rnr, trickle)
{
	for (u64 seed = 10; seed < 12; seed++) {
		World w({ .seed = seed, .paths = 8,
			  .link = { .jitter = 30 * kUs, .loss = 0.1, .dup = 0.1, .reorder = 0.1,
				    .reorder_by = 200 * kUs },
			  .copy_ns = 2 * kUs, .build_ns = 2 * kUs });
		End *a, *b;
		std::tie(a, b) = w.connect(64);

		w.side[1].region(kKey, kBase, 64 * 100);
		b->s.attr.rnr_delay_us = 30;
		w.up();
		for (u32 i = 0; i < 60; i++) {
			if (i % 3)
				a->send(pattern(i, 3000), i % 2 ? MROCE_MSG_IMM : 0, i);
			else
				a->write(kBase + 100 * i, kKey, pattern(i, 100), MROCE_MSG_IMM, i);
		}
		a->kick();
		for (u32 i = 0; i < 60; i++) {
			w.run_for(w.upto(300 * kUs));
			b->recv(3000);
		}
		ASSERT_TRUE(w.run([&] { return idle(a); }));
		ASSERT_EQ(b->received.size(), 60u);
		for (u32 i = 0; i < 60; i++) {
			EXPECT_EQ(b->received[i].nak, 0);
			if (i % 3) {
				EXPECT_EQ(b->rq[i], pattern(i, 3000));
			}
		}
		EXPECT_TRUE(w.drain());
	}
}

/* Nothing comes back any more: the stream fails in its time. */
TEST(retry, exhausted)
{
	World w({ .seed = 20 });
	End *a, *b;
	std::tie(a, b) = w.connect();
	u64 start;

	w.side[1].region(kKey, kBase, 100000);
	a->s.attr.timeout_ns = 10 * kMs;
	a->s.attr.retry_cnt = 3;
	w.up();
	a->write(kBase, kKey, pattern(1, 100));
	a->kick();
	ASSERT_TRUE(w.run([&] { return idle(a); }));
	w.set_link([](LinkCfg &l) { l.down = true; });
	start = w.now;
	a->write(kBase, kKey, pattern(2, 50000));
	a->kick();
	ASSERT_TRUE(w.run([&] { return a->failed; }));
	EXPECT_EQ(a->why, MROCE_FAIL_RETRY);
	EXPECT_GE(w.now - start, 40 * kMs);
	EXPECT_LT(w.now - start, 60 * kMs);
}

/* However long a far peer was away: soon after it is back, work goes on. */
TEST(retry, comes_back_soon)
{
	World w({ .seed = 22, .link = { .delay = 10 * kMs } });
	End *a, *b;
	std::tie(a, b) = w.connect();
	u64 back;

	w.side[1].region(kKey, kBase, 100000);
	a->s.attr.timeout_ns = 0;
	w.up();
	a->write(kBase, kKey, pattern(1, 100));
	a->kick();
	ASSERT_TRUE(w.run([&] { return idle(a); }));
	w.set_link([](LinkCfg &l) { l.down = true; });
	a->write(kBase, kKey, pattern(2, 50000));
	a->kick();
	w.run_for(20 * kSec);
	w.set_link([](LinkCfg &l) { l.down = false; });
	back = w.now;
	ASSERT_TRUE(w.run([&] { return idle(a); }));
	EXPECT_FALSE(a->failed);
	EXPECT_LT(w.now - back, 300 * kMs);
}

/* An outage shorter than that is survived. */
TEST(retry, outage)
{
	World w(lossy(21));
	End *a, *b;
	std::tie(a, b) = w.connect();
	Region &r = w.side[1].region(kKey, kBase, 100000);
	Bytes data = pattern(3, 100000);

	a->s.attr.timeout_ns = 200 * kMs;
	w.up();
	a->write(kBase, kKey, data);
	a->kick();
	w.run_for(30 * kUs);
	w.set_link([](LinkCfg &l) { l.down = true; });
	w.run_for(1000 * kMs);
	w.set_link([](LinkCfg &l) { l.down = false; });
	ASSERT_TRUE(w.run([&] { return idle(a); }));
	EXPECT_FALSE(a->failed);
	EXPECT_EQ(r.mem, data);
}

/* MR-7.*: earlier requests complete, the wrong one fails with its reason. */
TEST(access, error_in_stream_order)
{
	for (u64 seed = 30; seed < 36; seed++) {
		World w(lossy(seed));
		End *a, *b;
		std::tie(a, b) = w.connect();
		bool rd = seed % 2;

		w.side[1].region(kKey, kBase, 20000);
		w.side[1].region(kReadOnly, kBase, 20000, false);
		w.up();
		for (u32 i = 0; i < 10; i++)
			a->write(kBase, kKey, pattern(i, 5000));
		if (rd)
			a->read(kBase, 0x999, 3000);
		else
			a->write(kBase, kReadOnly, pattern(10, 5000));
		for (u32 i = 0; i < 10; i++)
			a->write(kBase + 10000, kKey, pattern(i, 500));
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->failed && b->resp_failed; }));
		ASSERT_EQ(a->done.size(), 11u);
		for (u32 i = 0; i < 10; i++)
			EXPECT_TRUE(a->done[i].ok);
		EXPECT_EQ(a->why, MROCE_FAIL_NAK);
		EXPECT_EQ(a->nak, MROCE_NAK_ACCESS);
		EXPECT_EQ(b->nak, MROCE_NAK_ACCESS);
		for (u8 v : w.side[1].regions[kReadOnly].mem)
			ASSERT_EQ(v, 0);
		EXPECT_TRUE(w.drain());
	}
}

TEST(access, read_before_failing_write_is_answered)
{
	for (u64 seed = 40; seed < 44; seed++) {
		World w(lossy(seed));
		End *a, *b;
		std::tie(a, b) = w.connect();
		u32 rd;

		w.side[1].region(kKey, kBase, 200000).mem = pattern(9, 200000);
		w.up();
		rd = a->read(kBase, kKey, 200000);
		a->write(kBase, 0x999, pattern(1, 5000));
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->failed && b->resp_failed; }));
		ASSERT_EQ(a->done.size(), 2u);
		EXPECT_TRUE(a->done[0].ok);
		EXPECT_EQ(a->wqe(rd).local, pattern(9, 200000));
		EXPECT_EQ(a->nak, MROCE_NAK_ACCESS);
	}
}

/* The region of a READ is deregistered while it is answered. */
TEST(access, region_vanishes_under_read)
{
	World w(lossy(45));
	End *a, *b;
	std::tie(a, b) = w.connect();

	w.side[1].region(kKey, kBase, 1 << 20);
	w.up();
	a->read(kBase, kKey, 1 << 20);
	a->kick();
	ASSERT_TRUE(w.run([&] { return a->wqe(0).m.got > 50000; }));
	w.side[1].regions.erase(kKey);
	ASSERT_TRUE(w.run([&] { return a->failed && b->resp_failed; }));
	EXPECT_EQ(a->nak, MROCE_NAK_OP);
}

/* A SEND larger than its receive fails both, and a large message is not sent to its end. */
TEST(access, receive_too_small)
{
	World w(lossy(46));
	End *a, *b;
	std::tie(a, b) = w.connect();

	b->recv(10);
	w.up();
	a->send(pattern(1, 4 << 20));
	a->kick();
	ASSERT_TRUE(w.run([&] { return a->failed && b->resp_failed; }));
	EXPECT_EQ(a->nak, MROCE_NAK_INV_REQ);
	ASSERT_EQ(b->received.size(), 1u);
	EXPECT_EQ(b->received[0].nak, MROCE_NAK_INV_REQ);
	EXPECT_LT(w.side[0].c.counters[MROCE_CNT_TX_BYTES], 3u << 20);
}

/* Found wrong when posted: it fails in its turn. */
TEST(access, local_failure_in_order)
{
	World w(lossy(47));
	End *a, *b;
	std::tie(a, b) = w.connect();

	w.side[1].region(kKey, kBase, 20000);
	w.up();
	a->write(kBase, kKey, pattern(1, 20000));
	a->post(MROCE_OP_WRITE, 0, 0, {}, MROCE_MSG_LOCAL);
	a->post(MROCE_OP_WRITE, 0, 0, {}, MROCE_MSG_FAILED);
	a->write(kBase, kKey, pattern(2, 20000));
	a->kick();
	ASSERT_TRUE(w.run([&] { return a->failed; }));
	ASSERT_EQ(a->done.size(), 3u);
	EXPECT_TRUE(a->done[0].ok && a->done[1].ok);
	EXPECT_EQ(a->why, MROCE_FAIL_LOCAL);
}

/* One of three streams ends in the middle; copies and bursts are under way. */
TEST(stop, others_live_on)
{
	for (u64 seed = 50; seed < 56; seed++) {
		World w({ .seed = seed, .link = { .jitter = 10 * kUs, .loss = 0.05, .dup = 0.05 },
			  .copy_ns = 20 * kUs, .build_ns = 20 * kUs, .check_every = 8 });
		End *a, *b;
		std::tie(a, b) = w.connect();
		End *x, *y;
		std::tie(x, y) = w.connect();
		Region &r = w.side[1].region(kKey, kBase, 300000);
		Bytes data = pattern(seed, 200000);

		w.side[0].region(kKey, kBase, 100000);
		w.up();
		a->write(kBase + 200000, kKey, pattern(1, 100000));
		a->read(kBase + 200000, kKey, 50000);
		b->read(kBase, kKey, 50000);
		b->write(kBase, kKey, pattern(2, 50000));
		x->write(kBase, kKey, data);
		a->kick();
		b->kick();
		x->kick();
		w.run_for(w.upto(400 * kUs));
		(seed % 2 ? a : b)->destroy();
		ASSERT_TRUE(w.run([&] { return idle(x); }));
		EXPECT_TRUE(std::equal(data.begin(), data.end(), r.mem.begin()));
		EXPECT_TRUE(w.drain());
		EXPECT_EQ(w.side[0].c.hold_used + w.side[1].c.hold_used, 0u);
	}
}

/* The peer's end went to error: requests of this side fail, none hangs. */
TEST(stop, peer_is_told)
{
	for (u64 seed = 60; seed < 64; seed++) {
		World w(lossy(seed));
		End *a, *b;
		std::tie(a, b) = w.connect();

		w.side[1].region(kKey, kBase, 1 << 20);
		w.up();
		a->write(kBase, kKey, pattern(1, 1 << 20));
		a->kick();
		ASSERT_TRUE(w.run([&] { return w.side[1].placed_bytes > 100000 * (seed - 59); }));
		b->stop();
		ASSERT_TRUE(w.run([&] { return a->failed; }, 100 * kMs));
		EXPECT_EQ(a->nak, MROCE_NAK_GONE);
	}
}

/* The peer's QP comes late; both ask at once; answers get lost. */
TEST(open, late_and_simultaneous)
{
	for (u64 seed = 70; seed < 80; seed++) {
		World w({ .seed = seed, .link = { .jitter = 50 * kUs, .loss = 0.3 } });
		End *a, *b;
		std::tie(a, b) = w.connect();

		w.side[0].region(kKey, kBase, 1000);
		w.side[1].region(kKey, kBase, 1000);
		b->hidden = seed % 2;
		w.up();
		a->write(kBase, kKey, pattern(1, 1000));
		a->kick();
		if (b->hidden)
			w.run_for(20 * kMs);
		b->hidden = false;
		b->write(kBase, kKey, pattern(2, 1000));
		b->kick();
		ASSERT_TRUE(w.run([&, a = a, b = b] { return idle(a) && idle(b); }));
		EXPECT_EQ(w.side[1].regions[kKey].mem, pattern(1, 1000));
		EXPECT_EQ(w.side[0].regions[kKey].mem, pattern(2, 1000));
		EXPECT_TRUE(w.drain());
	}
}

/* A stream that is bound before the connection is up. */
TEST(open, before_connection)
{
	World w({ .seed = 81 });
	End *a, *b;
	std::tie(a, b) = w.connect();

	w.side[1].region(kKey, kBase, 1000);
	a->write(kBase, kKey, pattern(1, 1000));
	a->kick();
	w.run_for(10 * kMs);
	EXPECT_EQ(a->s.state, MROCE_STREAM_OPENING);
	w.up();
	ASSERT_TRUE(w.run([&] { return idle(a); }, 10 * kMs));
}

/* Another incarnation of the peer's QP is not let into the stream of the old one. */
TEST(open, other_incarnation)
{
	World w({ .seed = 82 });
	End *a, *b;
	std::tie(a, b) = w.connect();
	u32 qpn = a->qpn;

	w.side[1].region(kKey, kBase, 1000);
	a->write(kBase, kKey, pattern(1, 1000));
	w.up();
	a->kick();
	ASSERT_TRUE(w.run([&] { return idle(a); }));
	a->destroy();
	w.run_for(kMs);

	End *again = w.make_end(w.side[0], qpn, b->qpn, 16);

	again->peer = b;
	again->write(kBase, kKey, pattern(2, 1000));
	again->kick();
	w.run_for(50 * kMs);
	EXPECT_EQ(again->s.state, MROCE_STREAM_OPENING);
	EXPECT_EQ(w.side[1].regions[kKey].mem, pattern(1, 1000));
	/* the peer resets its side */
	u32 bqpn = b->qpn;

	b->destroy();
	End *fresh = w.make_end(w.side[1], bqpn, qpn, 16);

	fresh->peer = again;
	again->peer = fresh;
	ASSERT_TRUE(w.run([&] { return idle(again); }, kSec));
	EXPECT_EQ(w.side[1].regions[kKey].mem, pattern(2, 1000));
}

/* A stop while OPEN is under way: the other side's timer ends it. */
TEST(open, stopped_meanwhile)
{
	for (u64 seed = 90; seed < 94; seed++) {
		World w({ .seed = seed, .link = { .loss = 0.2 } });
		End *a, *b;
		std::tie(a, b) = w.connect();

		a->s.attr.timeout_ns = 10 * kMs;
		a->s.attr.retry_cnt = 1;
		w.up();
		a->send({});
		a->kick();
		w.run_for(w.upto(40 * kUs));
		b->stop();
		ASSERT_TRUE(w.run([&] { return a->failed; }, kSec));
	}
}

} /* namespace */
