// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Several ways between two hosts: they are all used, and one that dies is missed by nobody. */
#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kKey = 0x42;
constexpr u64 kBase = 0x10000;
constexpr u32 kLen = 1 << 20;
constexpr u64 kRate = 10000000000;	/* bit/s of a way */
constexpr u64 kRtt = 20 * kUs;

/* WRITEs without end over @ways. */
struct Ways {
	World w;
	End *a, *b;
	Bytes data = pattern(1, kLen);

	explicit Ways(u32 ways, LinkCfg link = {}, u64 seed = 1)
		: w({ .seed = seed, .paths = 4, .link = link, 
		      .rate = kRate, .burst = 4, .probe_floor = 0, .check_every = 1024 })
	{
		std::tie(a, b) = w.connect(64);
		w.side[1].region(kKey, kBase, kLen);
		w.up();
		for (Side &s : w.side)
			for (u32 i = 1; i < ways; i++)
				mroce_conn_way_up(&s.c, i, kRtt / kUs, w.now);
	}
	/* Return: bit/s of payload in the next @ns. */
	double rate(u64 ns)
	{
		u64 end = w.now + ns, before = w.side[1].placed_bytes;

		w.at(end, [] {});
		w.run([&] {
			while (a->head - a->s.sq_tail < 16) {
				a->write(kBase, kKey, data);
				a->kick();
			}
			return w.now >= end;
		});
		return 8.0 * (w.side[1].placed_bytes - before) * kSec / ns;
	}
	/* Nothing comes through on @way any more, or again. */
	void hole(u8 way, bool down)
	{
		for (Side &s : w.side)
			for (u32 i = 0; i < w.side[0].c.npaths; i++)
				if (w.side[0].c.paths[i].way == way)
					s.links[i].down = down;
	}
	mroce_conn &conn() { return w.side[0].c; }
	bool finish()
	{
		return w.run([&] { return a->s.sq_tail == a->head; }) && w.drain();
	}
};

TEST(way, all_are_used)
{
	Ways one(1);
	double single = (one.rate(kMs), one.rate(2 * kMs));

	for (u32 n : { 2, 4, 8 }) {
		Ways f(n);

		f.rate(kMs);
		EXPECT_GE(f.rate(2 * kMs), 0.98 * n * single) << n << " ways";
		EXPECT_EQ(f.conn().npaths, 4 * n);
		for (u32 i = 0; i < f.conn().npaths; i++)
			EXPECT_GT(f.conn().paths[i].tx_pkts, 100u) << "path " << i;
		EXPECT_TRUE(f.finish());
	}
}

/* MR-12.4-*: ten round trips after it fell silent, the rest carries what it can. */
TEST(way, silent_black_hole)
{
	Ways f(4);
	double before;

	f.rate(3 * kMs);
	before = f.rate(3 * kMs);
	f.hole(2, true);
	f.rate(10 * kRtt);
	EXPECT_EQ(f.w.side[0].silent, std::vector<u8>{ 2 });
	EXPECT_EQ(f.conn().ways_up, 0xb);
	EXPECT_GE(f.rate(3 * kMs), 0.97 * before * 3 / 4);
	EXPECT_EQ(f.conn().nfailed, 4u);
	f.hole(2, false);
	mroce_conn_way_up(&f.conn(), 2, kRtt / kUs, f.w.now);
	EXPECT_EQ(f.conn().nfailed, 0u);
	f.rate(kMs);
	EXPECT_GE(f.rate(3 * kMs), 0.98 * before);
	EXPECT_FALSE(f.a->failed);
	EXPECT_TRUE(f.finish());
}

TEST(way, told_that_it_is_down)
{
	Ways f(4);
	double before;

	f.rate(3 * kMs);
	before = f.rate(3 * kMs);
	f.hole(0, true);
	EXPECT_TRUE(mroce_conn_way_down(&f.conn(), 0, f.w.now));
	f.rate(3 * kRtt);
	EXPECT_GE(f.rate(3 * kMs), 0.97 * before * 3 / 4);
	EXPECT_TRUE(f.w.side[0].silent.empty());
	EXPECT_TRUE(f.finish());
}

/* Losses are no silence: not even the tail of every message. */
TEST(way, random_loss_takes_no_way_down)
{
	Ways f(4, { .loss = 0.05 }, 3);

	for (u32 i = 0; i < 300; i++) {
		f.a->write(kBase, kKey, pattern(i, 3000 + 40 * i));
		f.a->kick();
		ASSERT_TRUE(f.finish());
	}
	EXPECT_LE(f.w.side[0].silent.size(), 3u);
	for (u8 way : f.w.side[0].silent)
		mroce_conn_way_up(&f.conn(), way, kRtt / kUs, f.w.now);
	f.rate(5 * kMs);
	EXPECT_LE(f.w.side[0].silent.size(), 3u);
	EXPECT_TRUE(f.finish());
}

TEST(way, the_last_one_stays)
{
	Ways f(2);

	EXPECT_TRUE(mroce_conn_way_down(&f.conn(), 1, f.w.now));
	EXPECT_FALSE(mroce_conn_way_down(&f.conn(), 1, f.w.now));
	EXPECT_FALSE(mroce_conn_way_down(&f.conn(), 0, f.w.now));
	EXPECT_EQ(f.conn().ways_up, 1);
	EXPECT_GT(f.rate(kMs), 0);
	EXPECT_TRUE(f.finish());
}

/* Every way dies and comes back, at random, under loss: nothing fails, nothing comes twice. */
TEST(way, flapping)
{
	for (u64 seed : { 1, 2 }) {
		Ways f(4, { .loss = 0.01, .dup = 0.01, .reorder = 0.05, .reorder_by = 30 * kUs }, seed);

		for (u32 i = 0; i < 25; i++) {
			u8 way = f.w.rng() % 4;
			bool told = f.w.chance(0.3);

			f.hole(way, true);
			if (told)
				mroce_conn_way_down(&f.conn(), way, f.w.now);
			f.rate(f.w.upto(20 * kRtt));
			f.hole(way, false);
			mroce_conn_way_up(&f.conn(), way, kRtt / kUs, f.w.now);
			f.rate(f.w.upto(20 * kRtt));
		}
		EXPECT_FALSE(f.a->failed);
		EXPECT_TRUE(f.finish());
	}
}

/* All room for paths is taken: more is asked for, and then they are there. */
TEST(way, room_for_its_paths)
{
	Ways f(1);
	mroce_conn &c = f.conn();

	f.rate(kMs);
	while (c.npaths < c.max_paths)
		mroce_path_add(&c, 0, 20, f.w.now);
	mroce_conn_way_up(&c, 5, kRtt / kUs, f.w.now);
	EXPECT_EQ(c.ways[5].npaths, 0u);
	f.rate(2 * kMs);
	EXPECT_EQ(c.ways[5].npaths, 4u);
	EXPECT_TRUE(f.finish());
}

/* The peer takes no more paths than there are: they change their way when theirs dies. */
TEST(way, no_path_left_for_it)
{
	Ways f(1);
	mroce_conn &c = f.conn();

	c.peer_paths = 4;
	f.rate(kMs);
	mroce_conn_way_up(&c, 1, kRtt / kUs, f.w.now);
	EXPECT_EQ(c.ways[1].npaths, 0u);
	EXPECT_TRUE(mroce_conn_way_down(&c, 0, f.w.now));
	EXPECT_EQ(c.ways[1].npaths, 4u);
	EXPECT_EQ(c.nfailed, 0u);
	EXPECT_GT(f.rate(kMs), 0);
	EXPECT_TRUE(f.finish());
}

} /* namespace */
