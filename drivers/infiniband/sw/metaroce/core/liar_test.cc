// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer that lies: well-formed packets with hostile numbers, mixed into honest traffic or
 * alone. Nothing may crash, loop, leak from a pool, touch memory that was not granted, or
 * break what must hold of a connection.
 */
#include <tuple>

#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kKey = 0x42, kSecret = 0x43;
constexpr u64 kBase = 0x10000;
constexpr u32 kLen = 20000;

class Liar {
 public:
	explicit Liar(const Cfg &cfg) : w(cfg)
	{
		for (u32 i = 0; i < 3; i++) {
			ends.resize(2 * i + 2);
			renew(i);
		}
		for (Side &s : w.side) {
			s.region(kKey, kBase, kLen);
			s.region(kSecret, kBase, kLen, false, false);
		}
		w.up();
	}

	/* A lie ends most streams before long. */
	void renew(u32 i)
	{
		auto [a, b] = w.connect(64);

		a->ooo_check = b->ooo_check = false;
		a->s.attr.timeout_ns = b->s.attr.timeout_ns = kMs;
		ends[2 * i] = a;
		ends[2 * i + 1] = b;
		all.push_back(a);
		all.push_back(b);
	}

	u32 number(u32 near)
	{
		switch (w.rng() % 8) {
		case 0: return w.rng();
		case 1: return near + w.rng() % 5000 - 2500;
		case 2: return near - 1;
		case 3: return near + 1;
		case 4: return 0;
		case 5: return near + w.rng() % 300;
		default: return near;
		}
	}

	/* Honest requests of every kind, from both sides. */
	void traffic()
	{
		u32 i = w.rng() % ends.size();
		End *e = ends[i];
		u32 len = w.rng() % 5000;

		if (e->s.state == MROCE_STREAM_ERROR && e->peer->s.state == MROCE_STREAM_ERROR) {
			renew(i / 2);
			return;
		}

		if (e->s.state == MROCE_STREAM_ERROR || e->room() < 2)
			return;
		switch (w.rng() % 5) {
		case 0: e->peer->recv(5000); e->send(Bytes(len, 1)); break;
		case 1: e->read(kBase, kKey, len); break;
		case 2: e->atomic(MROCE_OP_FETCH_ADD, kBase, kKey, 1, 0); break;
		case 3: e->peer->recv(0); e->write(kBase, kKey, Bytes(len, 2), MROCE_MSG_IMM); break;
		default: e->write(kBase + w.rng() % 100, kKey, Bytes(len, 3));
		}
		e->kick();
	}

	/* A data packet towards @to, near what could be true. */
	void lie_data(Side &to)
	{
		mroce_conn &c = to.c;
		mroce_hdr h{};
		End *e = ends[w.rng() % ends.size()];
		u8 buf[MROCE_MAX_HDR_LEN];
		Packet p;

		h.op = w.rng() % MROCE_OP_MAX;
		h.flags = w.rng() & 0x3f & ~(w.rng() % 2 ? MROCE_F_IMM : MROCE_F_INV);
		h.path = w.rng() % 4 ? w.rng() % c.npaths : (u32)w.rng();
		h.dcid = c.cid;
		h.pseq = number(c.rxpaths[h.path % MROCE_MAX_PATHS].highest);
		h.cpn = number(c.rx_base);
		h.dep = w.rng() % 3 ? 0 : w.rng();
		h.handle = w.rng() % 8 ? e->s.handle : (u32)w.rng();
		h.msn = number(e->s.rx_msn);
		h.offset = w.rng() % 2 ? 0 : number(1408 * (w.rng() % 4));
		h.addr = answers(h.op) ? number(e->s.sq_tail) :
			 h.op == MROCE_OP_SEND ? number(e->s.exec_rqn) : kBase + number(0);
		h.rkey = w.rng() % 3 ? kKey : w.rng() % 2 ? kSecret : (u32)w.rng();
		h.rqn = number(e->s.exec_rqn);
		h.length = w.rng() % 2 ? w.rng() % kLen : number(kLen);
		h.tag = number(e->s.sq_tail);
		h.src_qpn = e->s.rqpn;
		h.dst_qpn = e->qpn;
		h.incarnation = w.rng() % 2 ? e->peer->s.incarnation : (u32)w.rng();
		h.src_handle = w.rng() % 2 ? e->peer->s.handle : w.rng() & 0xffffff;
		p.bytes.assign(buf, buf + mroce_wire_put_data(&h, buf));
		if (h.op == MROCE_OP_ATOMIC_RESP)
			p.bytes.resize(p.bytes.size() + 8, 0x66);
		else if (h.op == MROCE_OP_SEND || h.op == MROCE_OP_WRITE ||
			 h.op == MROCE_OP_READ_RESP)
			p.bytes.resize(p.bytes.size() + w.rng() % 1409, 0x66);
		p.path = w.rng() % c.npaths;
		p.ce = w.rng() % 2;
		to.arrive(p);
	}

	void lie_ack(Side &to)
	{
		mroce_conn &c = to.c;
		mroce_ack a{};

		a.dcid = c.cid;
		a.serial = number(c.peer_ack_serial);
		a.cpn_base = number(c.cpn_base);
		a.hint = w.rng();
		a.npaths = w.rng() % (MROCE_ACK_MAX_PATHS + 1);
		a.nstreams = w.rng() % 5;
		a.nrefused = w.rng() % 3;
		for (u32 i = 0; i < a.npaths; i++) {
			mroce_ack_path &b = a.paths[i];
			u32 id = w.rng() % c.npaths;

			b.path = w.rng() % 8 ? id : (u32)w.rng();
			b.ce = number(c.paths[id].peer_ce);
			b.highest = number(c.paths[id].next_seq - 1);
			b.delay_us = w.rng();
			b.spurious = number(c.paths[id].peer_spurious);
			for (u64 &word : b.bitmap)
				word = w.rng() % 3 ? w.rng() : w.rng() % 2 ? 0 : ~0ULL;
		}
		for (u32 i = 0; i < a.nstreams; i++) {
			End *e = ends[w.rng() % ends.size()];

			a.streams[i].handle = w.rng() % 8 ? e->s.handle : w.rng() & 0xffffff;
			a.streams[i].nak = w.rng() % 8 ? 0 : w.rng();
			a.streams[i].msn = number(e->s.acked_msn + 1) & 0xffffff;
		}
		for (u32 i = 0; i < a.nrefused; i++) {
			u32 id = w.rng() % c.npaths;

			a.refused[i].path = w.rng() % 8 ? id : (u32)w.rng();
			a.refused[i].count = w.rng() % 2 ? w.rng() % 4 : (u32)w.rng();
			a.refused[i].pseq = number(c.paths[id].acked_high);
			a.refused[i].nak = MROCE_NAK_RNR + w.rng() % 4;
			a.refused[i].delay_us = w.rng() % 2 ? w.rng() % 100 : w.rng() & 0xffffff;
		}
		mroce_conn_rx_ack(&c, &a, w.now);
		to.pump();
	}

	static bool answers(u8 op)
	{
		return op == MROCE_OP_READ_RESP || op == MROCE_OP_ATOMIC_RESP;
	}

	void check()
	{
		for (Side &s : w.side) {
			ASSERT_NO_FATAL_FAILURE(check_invariants(s));
			for (u8 v : s.regions[kSecret].mem)
				ASSERT_EQ(v, 0) << "memory that was not granted";
		}
	}

	World w;
	std::vector<End *> ends, all;
};

void lies(u64 seed, u32 rounds, bool data, bool ack)
{
	Liar l({ .seed = seed, .link = { .jitter = 10 * kUs, .loss = 0.02 },
		 .copy_ns = seed % 3 * 2 * kUs, .build_ns = seed % 2 * 2 * kUs, .wrap = seed % 4 == 3,
		 .check_every = 64 });

	for (u32 i = 0; i < rounds && !testing::Test::HasFailure(); i++) {
		Side &to = l.w.side[l.w.rng() % 2];

		l.traffic();
		if (data)
			l.lie_data(to);
		if (ack)
			l.lie_ack(to);
		l.w.run_for(l.w.upto(10 * kUs));
		if (i % 16 == 0)
			l.check();
	}
	/* whatever was said: in bounded time and work all streams end or go on */
	l.w.run_for(50 * kMs);
	for (End *e : l.all)
		e->stop();
	EXPECT_TRUE(l.w.run([&] {
		for (End *e : l.all)
			if (mroce_stream_busy(&e->s))
				return false;
		return true;
	}));
	l.w.run_for(kMs);
	l.check();
	for (Side &s : l.w.side) {
		EXPECT_EQ(s.c.hold_used, 0u);
		EXPECT_EQ(s.c.msg_left, (u32)MROCE_MSG_POOL);
		EXPECT_EQ(s.c.pieces_used, 0u);
	}
}

/*
 * One lie at a time: packets that end @victim's honest predecessors, over one path, from a peer
 * that is silent otherwise.
 */
class Forger {
 public:
	explicit Forger(u32 region = kLen)
	{
		std::tie(peer, victim) = w.connect(64);
		w.side[1].region(kKey, kBase, region);
		w.up();
		victim->ooo_check = false;
		victim->recv(8);
		peer->send(Bytes(8, 1));
		peer->kick();
		EXPECT_TRUE(w.run([&] { return peer->done.size() == 1; }));
		w.run_for(kMs);
		first = victim->s.exec_msn;
		receive = victim->s.exec_rqn;
		cpn = c().rx_base;
	}

	mroce_conn &c() { return w.side[1].c; }

	void data(u8 op, u8 flags, u32 msn, u32 offset, u32 plen, u32 rqn, u32 length = 0)
	{
		u8 buf[MROCE_MAX_HDR_LEN];
		mroce_hdr h{};
		Packet p{};

		h.op = op;
		h.flags = flags;
		h.dcid = c().cid;
		h.pseq = c().rxpaths[0].highest + 1;
		h.cpn = cpn++;
		h.handle = victim->s.handle;
		h.msn = (first + msn) & 0xffffff;
		h.offset = offset;
		h.addr = op == MROCE_OP_SEND ? receive + rqn : kBase;
		h.rkey = kKey;
		h.rqn = receive + rqn;
		h.length = length;
		p.bytes.assign(buf, buf + mroce_wire_put_data(&h, buf));
		p.bytes.resize(p.bytes.size() + plen, 0x66);
		w.side[1].arrive(p);
		w.run_for(100 * kUs);
	}

	World w{ { .seed = 7 } };
	End *peer, *victim;
	u32 first, receive, cpn;
};

TEST(forged, read_of_almost_all_numbers)
{
	for (u32 length : { 0xffffffffU, 0xfffffa00U, 0x80000001U }) {
		Forger f;

		f.data(MROCE_OP_READ, MROCE_F_LAST, 0, 0, 0, 0, length);
		EXPECT_TRUE(f.victim->resp_failed);
		EXPECT_EQ(f.victim->nak, MROCE_NAK_INV_REQ) << length;
	}
}

/* Bytes that are sent again and again count, but only so many fit. */
TEST(forged, length_beyond_the_receive)
{
	Forger f;

	f.victim->recv(100);
	for (u32 i = 0; i < 3; i++)
		f.data(MROCE_OP_SEND, 0, 0, 0, 100, 0);
	f.data(MROCE_OP_SEND, MROCE_F_LAST, 0, 300, 0, 0);
	ASSERT_EQ(f.victim->received.size(), 2u);
	EXPECT_EQ(f.victim->received.back().nak, MROCE_NAK_INV_REQ);
}

TEST(forged, two_messages_for_one_receive)
{
	Forger f;

	f.victim->recv(100);
	f.victim->recv(100);
	f.data(MROCE_OP_SEND, 0, 1, 0, 50, 0);
	f.data(MROCE_OP_SEND, MROCE_F_LAST, 0, 0, 50, 0);
	ASSERT_EQ(f.victim->received.size(), 2u);
	EXPECT_EQ(f.victim->received.back().nak, MROCE_NAK_INV_REQ);
	EXPECT_TRUE(f.victim->resp_failed);
}

/* Whatever part of its answers a peer refuses, there is room for the pieces. */
TEST(forged, every_answer_refused)
{
	Forger f(32 << 20);
	mroce_conn &c = f.c();

	f.data(MROCE_OP_READ, MROCE_F_LAST, 0, 0, 0, 0, 32 << 20);
	for (u32 i = 0; i < 500; i++) {
		mroce_ack a{};

		a.dcid = c.cid;
		a.serial = c.peer_ack_serial + 1;
		a.cpn_base = c.cpn_base;
		for (u32 id = 0; id < c.npaths && a.nrefused < MROCE_ACK_MAX_REFUSED; id++) {
			mroce_path &p = c.paths[id];

			if (p.head == MROCE_NONE)
				continue;
			mroce_ack_refused &r = a.refused[a.nrefused++];
			r.path = id;
			r.pseq = mroce_rec(&c, p.head)->pseq;
			r.count = p.next_seq - r.pseq;
			r.nak = MROCE_NAK_HOLD;
			r.delay_us = 0xffffff;
		}
		mroce_conn_rx_ack(&c, &a, f.w.now);
		f.w.side[1].pump();
		ASSERT_LE(c.pieces_used, 2 * c.window);
		ASSERT_NO_FATAL_FAILURE(check_invariants(f.w.side[1]));
	}
	EXPECT_GT(c.pieces_used, c.window) << "the test reaches the limit";
}

TEST(liar, data)
{
	for (u64 seed = 1; seed <= 12 && !testing::Test::HasFailure(); seed++)
		lies(seed, 150, true, false);
}

TEST(liar, acknowledgments)
{
	for (u64 seed = 101; seed <= 112 && !testing::Test::HasFailure(); seed++)
		lies(seed, 150, false, true);
}

TEST(liar, both)
{
	for (u64 seed = 201; seed <= 212 && !testing::Test::HasFailure(); seed++)
		lies(seed, 150, true, true);
}

} /* namespace */
