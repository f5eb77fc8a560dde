// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rounds of the congestion control, and which path the scheduler takes. */
#include "sim_test.h"

namespace {

using namespace sim;

/* @n packets of a round, @marked of them, arrive; the round ends. */
void round(World &w, mroce_path &p, u32 n, u32 marked, u32 rtt_us)
{
	p.next_seq += n;
	p.acked_high = p.next_seq - 1;
	p.srtt_us = rtt_us;
	w.side[0].c.cc->acked(&w.side[0].c, &p, n, marked, rtt_us, w.now);
}

TEST(cc, start_doubles_until_a_mark)
{
	World w({ .seed = 1 });
	mroce_path &p = w.side[0].c.paths[0];

	w.up();
	u32 cwnd = p.cwnd;

	round(w, p, cwnd, 0, 20);
	EXPECT_EQ(p.cwnd, 2 * cwnd);
	round(w, p, cwnd, 1, 20);
	EXPECT_LT(p.cwnd, 2 * cwnd);
	cwnd = p.cwnd;
	round(w, p, cwnd, 0, 20);
	EXPECT_EQ(p.cwnd, cwnd + 1) << "no slow start any more";
}

TEST(cc, cut_follows_marked_fraction)
{
	World w({ .seed = 2 });
	mroce_path &p = w.side[0].c.paths[0];
	u32 before;

	w.up();
	round(w, p, 64, 1, 20);
	for (u32 i = 0; i < 100; i++) {
		p.cwnd = 200;
		round(w, p, 200, 200, 20);
	}
	EXPECT_NEAR(p.cwnd, 100, 6) << "all marked: half";
	for (u32 i = 0; i < 200; i++) {
		p.cwnd = 200;
		round(w, p, 200, 10, 20);
	}
	before = p.cwnd;
	EXPECT_GT(before, 185u) << "a twentieth marked: a fortieth";
	EXPECT_LT(before, 200u);
}

TEST(cc, rising_delay_cuts)
{
	World w({ .seed = 3 });
	mroce_path &p = w.side[0].c.paths[0];

	w.up();
	round(w, p, 64, 0, 20);
	p.cwnd = 200;
	round(w, p, 200, 0, 20000);
	EXPECT_GE(p.cwnd, 200u) << "what a busy host adds is no queue";
	p.cwnd = 200;
	round(w, p, 200, 0, 40000);
	EXPECT_LE(p.cwnd, 176u);
	EXPECT_EQ(w.side[0].c.counters[MROCE_CNT_CC_DELAY], 1u);
}

TEST(cc, window_keeps_bounds)
{
	World w({ .seed = 4 });
	mroce_path &p = w.side[0].c.paths[0];

	w.up();
	for (u32 i = 0; i < 100; i++)
		round(w, p, 255, 0, 20);
	EXPECT_EQ(p.cwnd, w.side[0].c.cfg.max_cwnd);
	for (u32 i = 0; i < 300; i++)
		round(w, p, 4, 4, 20);
	EXPECT_GE(p.cwnd, 4u);
	EXPECT_LE(p.cwnd, 5u) << "the floor, and one more per round";
}

TEST(sched, earliest_and_state)
{
	World w({ .seed = 5 });
	mroce_conn &c = w.side[0].c;
	std::set<u32> seen;

	w.up();
	for (u32 i = 0; i < c.npaths; i++)
		seen.insert(c.sched->pick(&c, w.now)->id);
	EXPECT_EQ(seen.size(), c.npaths) << "equals take turns";
	c.paths[2].cwnd = 100;
	EXPECT_EQ(c.sched->pick(&c, w.now)->id, 2u);
	mroce_path_set_state(&c, &c.paths[2], MROCE_PATH_SUSPECT);
	EXPECT_NE(c.sched->pick(&c, w.now)->id, 2u);
	for (u32 i = 0; i < c.npaths; i++)
		mroce_path_set_state(&c, &c.paths[i], MROCE_PATH_PROBING);
	EXPECT_EQ(c.sched->pick(&c, w.now), nullptr);
	mroce_path_set_state(&c, &c.paths[1], MROCE_PATH_SUSPECT);
	EXPECT_EQ(c.sched->pick(&c, w.now)->id, 1u);
	c.paths[1].cwnd = 1;
	c.paths[1].inflight = 1;
	EXPECT_EQ(c.sched->pick(&c, w.now), nullptr);
}

} /* namespace */
