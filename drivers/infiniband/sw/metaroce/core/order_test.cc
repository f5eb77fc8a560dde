// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What programs that poll memory rely on. The simulation checks after every copy that a
 * packet is placed once, lines stay whole, the last packet comes after everything before
 * it, and overlapping WRITEs keep their order; here is traffic that would break it.
 */
#include <tuple>

#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kKey = 0x42;
constexpr u64 kBase = 0x10000;

Cfg bad_network(u64 seed)
{
	return { .seed = seed, .paths = 8,
		 .link = { .jitter = 20 * kUs, .loss = 0.05, .dup = 0.05, .reorder = 0.1,
			   .reorder_by = 100 * kUs },
		 .copy_ns = 3 * kUs, .build_ns = 2 * kUs, .coalesce = 2 * kUs };
}

void finish(World &w, End *a)
{
	ASSERT_TRUE(w.run([&] { return a->s.sq_tail == a->head; }));
	ASSERT_TRUE(w.drain());
	ASSERT_FALSE(a->failed);
}

/* perftest: the same buffer again and again. */
TEST(order, write_after_write_same_buffer)
{
	for (u64 seed = 1; seed < 5; seed++) {
		World w(bad_network(seed));
		End *a, *b;
		std::tie(a, b) = w.connect();
		Region &r = w.side[1].region(kKey, kBase, 10000);
		Bytes last;

		w.up();
		for (u32 i = 0; i < 100; i++) {
			last = pattern(seed * 1000 + i, 5000);
			a->write(kBase + 64, kKey, last);
			a->kick();
			if (a->room() < 2 && !w.run([&] { return a->room() > 20; }))
				FAIL();
		}
		finish(w, a);
		EXPECT_TRUE(std::equal(last.begin(), last.end(), r.mem.begin() + 64));
	}
}

TEST(order, write_after_write_random_overlap)
{
	for (u64 seed = 10; seed < 14; seed++) {
		World w(bad_network(seed));
		End *a, *b;
		std::tie(a, b) = w.connect(64);
		Region &r = w.side[1].region(kKey, kBase, 30000);
		Bytes model(30000, 0);

		w.up();
		for (u32 i = 0; i < 200; i++) {
			u32 len = w.rng() % 6000, at = w.rng() % (30000 - len);
			Bytes data = pattern(seed * 1000 + i, len);

			std::copy(data.begin(), data.end(), model.begin() + at);
			a->write(kBase + at, kKey, std::move(data));
			if (w.rng() % 4 == 0)
				a->kick();
			if (a->room() < 2) {
				a->kick();
				ASSERT_TRUE(w.run([&] { return a->room() > 10; }));
			}
		}
		a->kick();
		finish(w, a);
		EXPECT_EQ(r.mem, model);
	}
}

/* NCCL's LL: 128-byte lines with a flag in their last bytes, polled without completions. */
TEST(order, lines_with_flags)
{
	World w(bad_network(20));
	End *a, *b;
	std::tie(a, b) = w.connect(64);
	Region &r = w.side[1].region(kKey, kBase, 64 * 128);

	w.up();
	for (u64 round = 1; round <= 60; round++) {
		Bytes data(64 * 128);

		for (u32 i = 0; i < 64 * 16; i++)
			memcpy(&data[8 * i], &round, 8);
		a->write(kBase, kKey, std::move(data));
		a->kick();
		/* whatever the moment: a line is of one round, and rounds never go back */
		w.run_for(w.upto(30 * kUs));
		for (u32 line = 0; line < 64; line++) {
			u64 first, flag;

			memcpy(&first, &r.mem[128 * line], 8);
			memcpy(&flag, &r.mem[128 * line + 120], 8);
			ASSERT_EQ(first, flag) << "line " << line;
		}
	}
	finish(w, a);
}

/* A flag that is written after its data, by another request. */
TEST(order, flag_after_data)
{
	World w(bad_network(30));
	End *a, *b;
	std::tie(a, b) = w.connect(64);
	Region &data = w.side[1].region(kKey, kBase, 20000);
	Region &flag = w.side[1].region(kKey + 1, kBase, 8);
	u64 seen = 0;

	w.up();
	for (u64 i = 1; i <= 20; i++) {
		Bytes f(8);

		memcpy(f.data(), &i, 8);
		a->write(kBase, kKey, Bytes(20000, (u8)i));
		a->write(kBase, kKey + 1, f);
		a->kick();
		ASSERT_TRUE(w.run([&] {
			memcpy(&seen, flag.mem.data(), 8);
			return seen == i;
		}));
		ASSERT_EQ(data.mem, Bytes(20000, (u8)i)) << "flag " << i << " before its data";
	}
	finish(w, a);
}

/* FETCH_ADD after WRITE, READ after WRITE: they see what was written before. */
TEST(order, read_and_atomic_after_write)
{
	World w(bad_network(40));
	End *a, *b;
	std::tie(a, b) = w.connect(64);

	w.side[1].region(kKey, kBase, 20000);
	w.up();
	for (u64 i = 1; i <= 30; i++) {
		Bytes d = pattern(i, 8000);
		u64 value = i * 1000;
		u32 rd, at;

		memcpy(d.data(), &value, 8);
		a->write(kBase, kKey, d);
		at = a->atomic(MROCE_OP_FETCH_ADD, kBase, kKey, i, 0);
		rd = a->read(kBase + 8, kKey, 7992);
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->s.sq_tail == a->head; }));
		EXPECT_EQ(get_unaligned_be64(a->wqe(at).local.data()), value);
		EXPECT_TRUE(std::equal(d.begin() + 8, d.end(), a->wqe(rd).local.begin()));
	}
}

/* A WRITE behind a fence does not reach memory that an earlier READ still reads. */
TEST(order, fence)
{
	World w(bad_network(50));
	End *a, *b;
	std::tie(a, b) = w.connect(64);
	Region &r = w.side[1].region(kKey, kBase, 20000);

	w.up();
	for (u64 i = 0; i < 20; i++) {
		Bytes before = r.mem;
		u32 rd = a->read(kBase, kKey, 20000);

		a->write(kBase, kKey, pattern(i, 20000), MROCE_MSG_FENCE);
		a->kick();
		ASSERT_TRUE(w.run([&] { return a->s.sq_tail == a->head; }));
		EXPECT_EQ(a->wqe(rd).local, before);
	}
}

/* No more READs and atomics on their way than the attribute says. */
TEST(order, max_rd_atomic)
{
	for (u32 limit : { 1, 2, 16 }) {
		World w(bad_network(60));
		End *a, *b;
		std::tie(a, b) = w.connect(64);
		u32 most = 0;

		w.side[1].region(kKey, kBase, 4096);
		a->s.attr.max_rd_atomic = limit;
		w.side[0].on_send = [&](const mroce_hdr &) {
			most = std::max(most, a->s.rd_outstanding);
		};
		w.up();
		for (u32 i = 0; i < 60; i++)
			a->read(kBase, kKey, 4096);
		a->kick();
		finish(w, a);
		EXPECT_EQ(most, limit);
	}
}

/* The pool for early packets is full, or there is no memory for it: all gets through. */
TEST(order, hold_pool_exhausted)
{
	for (u64 seed = 70; seed < 72; seed++) {
		World w(bad_network(seed));
		End *a, *b;
		std::tie(a, b) = w.connect(64);
		Region &r = w.side[1].region(kKey, kBase, 64 * 256);
		mroce_conn &c = w.side[1].c;
		mroce_rxpkt *rest = nullptr;

		w.up();
		w.cfg.check_every = 0;		/* pool totals are wrong on purpose */
		for (u32 i = 0; i < 4; i++) {
			mroce_rxpkt *p = c.hold_free;

			c.hold_free = p->next;
			p->next = rest;
			rest = p;
		}
		c.hold_free = rest;		/* four are left */
		for (u32 i = 0; i < 400; i++) {
			a->write(kBase + i % 64 * 256, kKey, Bytes(256, (u8)i));
			a->kick();
			if (a->room() < 2) {
				ASSERT_TRUE(w.run([&] { return a->room() > 30; }));
			}
			w.side[1].held_fails = w.rng() % 8 == 0;
		}
		ASSERT_TRUE(w.run([&] { return a->s.sq_tail == a->head; }));
		EXPECT_GT(c.counters[MROCE_CNT_RX_REFUSED_HOLD], 0u);
		for (u32 i = 336; i < 400; i++)
			EXPECT_EQ(r.mem[i % 64 * 256 + 100], (u8)i);
	}
}

} /* namespace */
