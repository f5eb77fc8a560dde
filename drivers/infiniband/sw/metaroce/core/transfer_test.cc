// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Whole transfers over bad networks, contents verified. The rules of placement are checked
 * by the simulation after every copy (sim_test.cc).
 */
#include <tuple>

#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kWriteKey = 0x101, kReadKey = 0x202, kAtomicKey = 0x303;
constexpr u64 kBase = 0x7f0000000000;

/* A side's memory as the other one expects it to become. */
struct Model {
	Bytes write, read;
	u64 counter = 0;
};

/* Random requests of all kinds on several streams, in both directions. */
class Mix {
 public:
	Mix(World &w, u32 streams, u32 per_stream, u32 max_len)
		: w_(w), max_len_(max_len), left_(2 * streams, per_stream)
	{
		for (u32 i = 0; i < streams; i++) {
			End *a, *b;
			std::tie(a, b) = w.connect(64);

			ends_.push_back(a);
			ends_.push_back(b);
		}
		/* every stream and direction has memory of its own: no order between streams */
		for (size_t i = 0; i < ends_.size(); i++) {
			Side &peer = *ends_[i]->side->peer;
			Model m;

			m.write.assign(slot_size(), 0);
			m.read = pattern(w.cfg.seed * 131 + i, slot_size());
			peer.region(kWriteKey + 0x1000 * i, kBase + i * 64, slot_size());
			peer.region(kReadKey + 0x1000 * i, kBase, slot_size(), false).mem = m.read;
			peer.region(kAtomicKey + 0x1000 * i, kBase, 8);
			models_.push_back(m);
		}
	}

	void run()
	{
		w_.up();
		ASSERT_TRUE(w_.run([this] { return feed(); }, 600 * kSec)) << why();
		ASSERT_TRUE(w_.drain()) << "packets remain";
		verify();
	}

 private:
	u32 slot_size() const { return max_len_ + 4096; }

	std::string why()
	{
		std::string s;

		for (size_t i = 0; i < ends_.size(); i++) {
			auto &e = ends_[i]->s;

			s += "end " + std::to_string(i) + " left " + std::to_string(left_[i]) +
			     " " + mroce_stream_state_name(e.state) + " tail " +
			     std::to_string(e.sq_tail) + " next " + std::to_string(e.sq_next) +
			     " head " + std::to_string(ends_[i]->head) + " out " +
			     std::to_string(e.outstanding) + " acked " +
			     std::to_string(e.acked_msn) + " exec " + std::to_string(e.exec_msn) +
			     " rx " + std::to_string(e.rx_msn) + " " +
			     mroce_op_name(ends_[i]->wqe(e.sq_tail).m.op) + " got " +
			     std::to_string(ends_[i]->wqe(e.sq_tail).m.got) + "\n";
		}
		for (const Side &side : w_.side) {
			s += "counters";
			for (u32 k = 0; k < MROCE_CNT_MAX; k++)
				s.append(1, ' ').append(std::to_string(side.c.counters[k]));
			s += "\n";
		}
		return s;
	}

	u32 length()
	{
		switch (w_.rng() % 4) {
		case 0: return w_.rng() % 2 ? 0 : 1 + w_.rng() % 8;
		case 1: return w_.rng() % std::min<u32>(max_len_, 1500);
		default: return w_.rng() % (max_len_ + 1);
		}
	}

	void post(size_t i)
	{
		End *e = ends_[i];
		Model &m = models_[i];
		u32 len = length(), k = 0x1000 * i, at = w_.rng() % 4096;
		u8 flags = w_.rng() % 16 ? 0 : MROCE_MSG_FENCE;
		Bytes data = pattern(w_.rng(), len);

		switch (w_.rng() % 8) {
		case 0:
		case 1:
		case 2: {
			bool imm = w_.rng() % 3 == 0;

			std::copy(data.begin(), data.end(), m.write.begin() + at);
			if (imm) {
				e->peer->recv(0);
				expect_[i].push_back({ {}, true, imm_ });
			}
			e->write(kBase + i * 64 + at, kWriteKey + k, std::move(data),
				 flags | (imm ? MROCE_MSG_IMM : 0), imm ? imm_++ : 0);
			break;
		}
		case 3:
		case 4: {
			bool imm = w_.rng() % 2;

			e->peer->recv(len + w_.rng() % 100);
			expect_[i].push_back({ data, imm, imm ? imm_ : 0 });
			e->send(std::move(data), flags | (imm ? MROCE_MSG_IMM : 0),
				imm ? imm_++ : 0);
			break;
		}
		case 5:
		case 6: {
			u32 index = e->read(kBase + at, kReadKey + k, len, flags);

			reads_[i].push_back({ index, at, len, 0, true });
			break;
		}
		default: {
			bool add = w_.rng() % 2;
			u64 old = m.counter, by = w_.rng();
			u32 index;

			if (add) {
				index = e->atomic(MROCE_OP_FETCH_ADD, kBase, kAtomicKey + k, by, 0);
				m.counter += by;
			} else {
				bool hit = w_.rng() % 2;

				index = e->atomic(MROCE_OP_CMP_SWAP, kBase, kAtomicKey + k,
						  hit ? old : ~old, by);
				m.counter = hit ? by : old;
			}
			reads_[i].push_back({ index, 0, 8, old, false });
		}
		}
	}

	/* Takes completions, posts more. Return: whether all is done. */
	bool feed()
	{
		bool all = true;

		for (size_t i = 0; i < ends_.size(); i++) {
			End *e = ends_[i];

			while (taken_[i] < e->done.size())
				check(i, e->done[taken_[i]++]);
			if (left_[i] && e->room() > 16) {
				for (u32 n = 1 + w_.rng() % 8; n && left_[i]; n--, left_[i]--)
					post(i);
				e->kick();
			}
			all = all && !left_[i] && e->s.sq_tail == e->head;
		}
		return all;
	}

	void check(size_t i, const Completion &c)
	{
		ASSERT_TRUE(c.ok) << "end " << i << " " << mroce_op_name(c.op) << " why " << c.why
				  << " " << mroce_nak_name(c.nak);
		if (reads_[i].empty() || reads_[i].front().index != c.index)
			return;
		Read r = reads_[i].front();
		const Bytes &got = ends_[i]->wqe(c.index).local;

		reads_[i].pop_front();
		if (r.plain) {
			ASSERT_TRUE(std::equal(got.begin(), got.end(),
					       models_[i].read.begin() + r.at));
		} else {
			ASSERT_EQ(get_unaligned_be64(got.data()), r.value) << "atomic";
		}
	}

	void verify()
	{
		for (size_t i = 0; i < ends_.size(); i++) {
			End *e = ends_[i];
			Side &peer = *e->side->peer;
			u64 v;

			EXPECT_EQ(peer.regions[kWriteKey + 0x1000 * i].mem, models_[i].write)
				<< "memory of end " << i;
			memcpy(&v, peer.regions[kAtomicKey + 0x1000 * i].mem.data(), 8);
			EXPECT_EQ(v, models_[i].counter);
			EXPECT_TRUE(reads_[i].empty());
			ASSERT_EQ(e->peer->received.size(), expect_[i].size());
			for (size_t k = 0; k < expect_[i].size(); k++) {
				const Received &r = e->peer->received[k];
				const Expect &x = expect_[i][k];

				EXPECT_EQ(r.nak, 0);
				EXPECT_EQ(!!(r.flags & MROCE_F_IMM), x.has_imm);
				EXPECT_EQ(r.imm, x.imm);
				if (r.op == MROCE_OP_SEND) {
					ASSERT_EQ(r.len, x.data.size());
					EXPECT_TRUE(std::equal(x.data.begin(), x.data.end(),
							       e->peer->rq[k].begin()));
				}
			}
		}
	}

	struct Read {
		u32 index, at, len;
		u64 value;
		bool plain;
	};
	struct Expect {
		Bytes data;
		bool has_imm;
		u32 imm;
	};
	World &w_;
	u32 max_len_;
	u32 imm_ = 1;
	std::vector<End *> ends_;
	std::vector<Model> models_;
	std::vector<u32> left_;
	std::map<size_t, size_t> taken_;
	std::map<size_t, std::deque<Read>> reads_;
	std::map<size_t, std::vector<Expect>> expect_;
};

void transfer(const Cfg &cfg, u32 streams, u32 per_stream, u32 max_len)
{
	World w(cfg);
	Mix m(w, streams, per_stream, max_len);

	m.run();
}

TEST(transfer, clean)
{
	for (u64 seed = 1; seed <= 2; seed++)
		transfer({ .seed = seed }, 3, 60, 20000);
}

TEST(transfer, loss_1)
{
	for (u64 seed = 10; seed < 12; seed++)
		transfer({ .seed = seed, .link = { .loss = 0.01 } }, 3, 60, 20000);
}

TEST(transfer, loss_10)
{
	for (u64 seed = 20; seed < 22; seed++)
		transfer({ .seed = seed, .link = { .loss = 0.1 } }, 3, 60, 20000);
}

TEST(transfer, loss_30)
{
	for (u64 seed = 30; seed < 32; seed++)
		transfer({ .seed = seed, .link = { .loss = 0.3 } }, 2, 40, 10000);
}

TEST(transfer, duplicates_and_reordering)
{
	for (u64 seed = 40; seed < 42; seed++)
		transfer({ .seed = seed,
			   .link = { .jitter = 20 * kUs, .loss = 0.01, .dup = 0.05,
				     .reorder = 0.05, .reorder_by = 100 * kUs } },
			 3, 60, 20000);
}

/* Several CPUs copy at the same time and finish in any order. */
TEST(transfer, copies_in_any_order)
{
	for (u64 seed = 50; seed < 52; seed++)
		transfer({ .seed = seed,
			   .link = { .jitter = 5 * kUs, .loss = 0.02, .dup = 0.02,
				     .reorder = 0.05, .reorder_by = 50 * kUs },
			   .copy_ns = 5 * kUs, .build_ns = 3 * kUs, .coalesce = 2 * kUs },
			 3, 50, 15000);
}

TEST(transfer, slow_copies)
{
	for (u64 seed = 60; seed < 62; seed++)
		transfer({ .seed = seed, .link = { .loss = 0.05 }, .copy_ns = 100 * kUs,
			   .build_ns = 50 * kUs, .burst = 7, .probe_floor = 100 * kUs },
			 4, 40, 6000);
}

TEST(transfer, numbers_wrap)
{
	for (u64 seed = 70; seed < 72; seed++)
		transfer({ .seed = seed,
			   .link = { .loss = 0.03, .dup = 0.02, .reorder = 0.03,
				     .reorder_by = 50 * kUs },
			   .copy_ns = 2 * kUs, .build_ns = 2 * kUs, .wrap = true },
			 3, 60, 20000);
}

/* One-packet messages on paths of very different length: most arrive out of order. */
TEST(transfer, small_messages_skewed_paths)
{
	for (u64 seed = 80; seed < 82; seed++) {
		World w({ .seed = seed, .paths = 16, .copy_ns = 500 });
		Mix m(w, 2, 400, 1000);

		for (Side &s : w.side)
			for (u32 i = 0; i < MROCE_MAX_PATHS; i++)
				s.links[i].delay = 10 * kUs + 7 * kUs * i;
		m.run();
	}
}

TEST(transfer, acks_lost)
{
	transfer({ .seed = 90, .ack_loss = 0.5 }, 3, 60, 20000);
	transfer({ .seed = 91, .link = { .loss = 0.1 }, .ack_loss = 0.7 }, 2, 40, 10000);
}

TEST(transfer, jumbo)
{
	transfer({ .seed = 95, .mtu = 9000, .link = { .loss = 0.02 } }, 3, 40, 60000);
}

/* Sizes around the edges of packets, up to 8 MiB, whole and from every alignment. */
TEST(transfer, sizes)
{
	World w({ .seed = 100, .link = { .loss = 0.01 }, .check_every = 512 });
	End *a, *b;
	std::tie(a, b) = w.connect();
	Region &r = w.side[1].region(kWriteKey, kBase, (8 << 20) + 4096);
	std::vector<u32> sizes = { 0, 1, 8, 127, 128, 129, 1407, 1408, 1409, 2815, 2816, 2817,
				   65535, 65536, 1 << 20, 8 << 20 };

	w.up();
	for (u32 size : sizes) {
		u32 skew = size % 251;
		Bytes data = pattern(size + 7, size);

		a->write(kBase + skew, kWriteKey, data);
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->s.sq_tail == a->head; })) << size;
		ASSERT_TRUE(std::equal(data.begin(), data.end(), r.mem.begin() + skew)) << size;
		b->recv(size);
		a->send(data, MROCE_MSG_IMM, size);
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->s.sq_tail == a->head; })) << size;
		ASSERT_EQ(b->received.back().len, size);
		ASSERT_EQ(b->received.back().imm, size);
		ASSERT_EQ(b->rq.back(), data);
		a->read(kBase + skew, kWriteKey, size);
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->s.sq_tail == a->head; })) << size;
		ASSERT_EQ(a->wqe(a->head - 1).local, data);
	}
	EXPECT_TRUE(w.drain());
}

/* Many streams of one connection, more than an acknowledgment has room for. */
TEST(transfer, many_streams)
{
	transfer({ .seed = 110, .link = { .loss = 0.01 }, .check_every = 256 }, 100, 8, 3000);
}

/* One connection that is its own peer: two QPs of a device, and a QP connected to itself. */
TEST(transfer, loopback)
{
	for (u64 seed = 120; seed < 124; seed++) {
		World w({ .seed = seed, .link = { .loss = 0.05, .dup = 0.05 }, .copy_ns = kUs,
			  .build_ns = kUs, .check_every = 4 });
		Side &s = w.side[0];
		End *a = w.make_end(s, 10, 11, 64), *b = w.make_end(s, 11, 10, 64);
		End *self = w.make_end(s, 12, 12, 64), *half = w.make_end(s, 12, 12, 64);
		Region &r = s.region(kWriteKey, kBase, 100000);
		std::vector<u32> reads;

		half->s.half = true;
		a->peer = b;
		b->peer = a;
		self->peer = half;
		half->peer = self;
		a->write(kBase, kWriteKey, pattern(1, 20000));
		b->write(kBase + 20000, kWriteKey, pattern(2, 20000));
		a->recv(5000);
		b->send(pattern(3, 5000));
		self->write(kBase + 40000, kWriteKey, pattern(4, 20000));
		reads.push_back(self->read(kBase + 40000, kWriteKey, 20000));
		half->recv(3000);
		self->send(pattern(5, 3000));
		w.up_loopback();
		for (End *e : { a, b, self })
			e->kick();
		ASSERT_TRUE(w.run([&] {
			return a->s.sq_tail == a->head && b->s.sq_tail == b->head &&
			       self->s.sq_tail == self->head;
		}));
		for (u32 i = 0; i < 2; i++) {
			Bytes want = pattern(i + 1, 20000);

			EXPECT_TRUE(std::equal(want.begin(), want.end(),
					       r.mem.begin() + 20000 * i));
		}
		EXPECT_EQ(self->wqe(reads[0]).local, pattern(4, 20000));
		EXPECT_EQ(a->rq[0], pattern(3, 5000));
		EXPECT_EQ(half->rq[0], pattern(5, 3000));
		EXPECT_TRUE(w.drain());
	}
}

} /* namespace */
