// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Paths that break, come back, slow down: the connection goes on. */
#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kKey = 0x42;
constexpr u64 kBase = 0x10000;
constexpr u32 kLen = 1 << 18;

/* A stream of WRITEs that does not end until @until; counts them. */
struct Flow {
	World &w;
	End *a, *b;
	Bytes data = pattern(1, kLen);

	explicit Flow(World &world) : w(world)
	{
		std::tie(a, b) = w.connect(64);
		w.side[1].region(kKey, kBase, kLen);
	}
	/* Return: completed in @ns. */
	u32 run(u64 ns)
	{
		u64 end = w.now + ns;
		u32 before = a->done.size();

		w.at(end, [] {});
		w.run([&] {
			while (a->head - a->s.sq_tail < 16) {
				a->write(kBase, kKey, data);
				a->kick();
			}
			return w.now >= end;
		});
		return a->done.size() - before;
	}
	bool finish()
	{
		return w.run([&] { return a->s.sq_tail == a->head; }) && w.drain();
	}
};

Cfg net(u64 seed)
{
	return { .seed = seed, .paths = 4, .link = { .loss = 0.001 }, .rate = 4000000000,
		 .probe_floor = 50 * kUs, .check_every = 1024 };
}

TEST(path, black_hole_and_return)
{
	World w(net(1));
	Flow f(w);
	mroce_path &p = w.side[0].c.paths[1];
	u16 port;
	u32 before, after;

	w.up();
	f.run(2 * kMs);
	before = f.run(5 * kMs);
	port = p.sport;
	for (Side &s : w.side)
		s.links[1].down = true;
	f.run(3 * kMs);
	EXPECT_EQ(p.state, MROCE_PATH_PROBING);
	EXPECT_NE(p.sport, port) << "it leaves the route that failed";
	after = f.run(5 * kMs);
	EXPECT_GE(after, before * 95 / 100) << "the others carry all";
	for (Side &s : w.side)
		s.links[1].down = false;
	f.run(15 * kMs);
	EXPECT_EQ(p.state, MROCE_PATH_ACTIVE);
	EXPECT_FALSE(f.a->failed);
	EXPECT_TRUE(f.finish());

	/* whoever watches sees what is counted */
	const Side &side = w.side[0];
	const u64 *counters = side.c.counters;

	EXPECT_EQ(side.conn_events, 1u);
	EXPECT_GE(side.paths_failed, 1u);
	EXPECT_EQ(side.paths_failed, counters[MROCE_CNT_PATH_FAILED]);
	EXPECT_GE(side.repairs[MROCE_REPAIR_GAP], 1u);
	EXPECT_EQ(side.repairs[MROCE_REPAIR_GAP], counters[MROCE_CNT_RETX_GAP]);
	EXPECT_GE(side.repairs[MROCE_REPAIR_PROBE], 1u);
	EXPECT_EQ(side.repairs[MROCE_REPAIR_PROBE], counters[MROCE_CNT_RETX_PROBE]);
	EXPECT_EQ(side.repairs[MROCE_REPAIR_FAILOVER], counters[MROCE_CNT_RETX_FAILOVER]);
}

/* One message in flight, nothing else to show that another path lives. */
TEST(path, black_hole_last_message)
{
	for (u32 dead = 0; dead < 4; dead++) {
		World w(net(10 + dead));
		Flow f(w);

		w.up();
		f.run(kMs);
		ASSERT_TRUE(f.finish());
		for (Side &s : w.side)
			s.links[dead].down = true;
		f.a->write(kBase, kKey, f.data);
		f.a->kick();
		ASSERT_TRUE(w.run([&] { return f.a->s.sq_tail == f.a->head; }, 50 * kMs));
	}
}

/* All but one die, that one too after the others came back. */
TEST(path, one_after_the_other)
{
	Cfg c = net(20);

	c.rate = 1000000000;
	World w(c);
	Flow f(w);

	w.up();
	f.run(kMs);
	for (u32 alive = 0; alive < 4; alive++) {
		for (Side &s : w.side)
			for (u32 i = 0; i < 4; i++)
				s.links[i].down = i != alive;
		EXPECT_GT(f.run(50 * kMs), 10u) << "path " << alive;
	}
	EXPECT_FALSE(f.a->failed);
	EXPECT_TRUE(f.finish());
}

TEST(path, flapping)
{
	World w(net(30));
	Flow f(w);

	w.up();
	for (u32 i = 0; i < 25; i++) {
		for (Side &s : w.side)
			for (u32 k = 0; k < 4; k++)
				s.links[k].down = w.rng() % 4 == 0;
		f.run(w.upto(2 * kMs));
	}
	w.set_link([](LinkCfg &l) { l.down = false; });
	EXPECT_FALSE(f.a->failed);
	EXPECT_TRUE(f.finish());
	EXPECT_EQ(w.side[1].regions[kKey].mem, f.data);
}

/* One path crosses a hop of 1 Gb/s that marks: the others carry the rest. */
TEST(path, marks_steer_away)
{
	Cfg c = net(40);

	c.link.loss = 0;
	World w(c);
	Flow f(w);
	mroce_path &p = w.side[0].c.paths[2];

	w.side[0].links[2].slow_rate = 1000000000;
	w.side[0].links[2].slow_mark = 10;
	w.side[0].links[2].slow_queue = 200;
	w.up();
	f.run(5 * kMs);
	u32 n = f.run(10 * kMs);

	EXPECT_GE(w.side[0].c.counters[MROCE_CNT_CC_MARK], 1u);
	EXPECT_LT(p.cwnd, w.side[0].c.paths[0].cwnd);
	/* 4 Gb/s for 10 ms are some 17 messages */
	EXPECT_GE(n, 15u);
	EXPECT_TRUE(f.finish());
}

/* All paths cross hops of 0.8 Gb/s that mark: full use, short queues, nothing lost. */
TEST(path, marks_settle_windows)
{
	Cfg c = net(45);

	c.link = { .slow_rate = 800000000, .slow_queue = 200, .slow_mark = 20 };
	World w(c);
	Flow f(w);
	u64 lost;

	w.up();
	f.run(5 * kMs);
	lost = w.side[0].c.counters[MROCE_CNT_RETX_GAP];
	u32 n = f.run(20 * kMs);

	EXPECT_EQ(w.side[0].c.counters[MROCE_CNT_RETX_GAP], lost);
	EXPECT_GT(w.side[0].c.counters[MROCE_CNT_CC_MARK], 5u);
	for (u32 i = 0; i < 4; i++)
		EXPECT_LT(w.side[0].c.paths[i].cwnd, 60u);
	/* 3.2 Gb/s for 20 ms are some 28 messages */
	EXPECT_GE(n, 26u);
	EXPECT_TRUE(f.finish());
}

/* Random loss alone never cuts a window. */
TEST(path, random_loss_is_no_congestion)
{
	Cfg c = net(50);

	c.link.loss = 0.1;
	World w(c);
	Flow f(w);

	w.up();
	f.run(10 * kMs);
	EXPECT_EQ(w.side[0].c.counters[MROCE_CNT_CC_MARK], 0u);
	EXPECT_EQ(w.side[0].c.counters[MROCE_CNT_CC_DELAY], 0u);
	EXPECT_EQ(w.side[0].c.counters[MROCE_CNT_CC_OVERFLOW], 0u);
	EXPECT_TRUE(f.finish());
}

/* Reordering raises the tolerance of the path, quiet lowers it. */
TEST(path, adapts_to_reordering)
{
	Cfg c = net(60);

	c.link = { .reorder = 0.02, .reorder_by = 20 * kUs };
	c.check_every = 1024;
	World w(c);
	Flow f(w);
	u64 early, late;

	w.up();
	f.run(5 * kMs);
	early = w.side[0].c.counters[MROCE_CNT_RETX_SPURIOUS];
	EXPECT_GT(early, 0u);
	f.run(10 * kMs);
	late = w.side[0].c.counters[MROCE_CNT_RETX_SPURIOUS] - early;
	EXPECT_LT(late, w.side[0].c.counters[MROCE_CNT_TX_PKTS] / 200);
	w.set_link([](LinkCfg &l) { l.reorder = 0; });
	f.run(40 * kMs);
	for (u32 i = 0; i < 4; i++)
		EXPECT_EQ(w.side[0].c.paths[i].reo_steps, 0u);
	EXPECT_TRUE(f.finish());
}

} /* namespace */
