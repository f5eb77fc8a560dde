// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* More room for what is under way: when it is asked for, that nothing gets lost, when there is none. */
#include <tuple>

#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kKey = 0x42;
constexpr u64 kBase = 0x10000;
constexpr u32 kMessage = 256 << 10;
constexpr u32 kSlots = 64;

Cfg far(u64 seed)
{
	/* the larger the window the longer a look at all of it */
	return { .seed = seed, .link = { .delay = 5 * kMs, .loss = 0.01 }, .rate = 10000000000,
		 .probe_floor = 0, .check_every = 4096 };
}

/* @messages of @kMessage, each to memory of its own; contents are compared. */
void move(World &w, u32 messages)
{
	End *a, *b;
	std::tie(a, b) = w.connect(kSlots);
	Region &r = w.side[1].region(kKey, kBase, kSlots * kMessage);
	std::vector<Bytes> data;
	u32 posted = 0;

	for (u32 i = 0; i < kSlots; i++)
		data.push_back(pattern(i, kMessage));
	w.up();
	ASSERT_TRUE(w.run([&] {
		while (posted < messages && posted < a->done.size() + kSlots - 1) {
			u32 slot = posted % kSlots;

			a->write(kBase + slot * kMessage, kKey, data[slot]);
			a->kick();
			posted++;
		}
		return a->done.size() == messages;
	}));
	ASSERT_TRUE(w.drain());
	EXPECT_FALSE(a->failed);
	for (u32 slot = 0; slot < std::min(messages, kSlots); slot++)
		ASSERT_TRUE(std::equal(data[slot].begin(), data[slot].end(),
				       r.mem.begin() + slot * kMessage)) << slot;
}

TEST(grow, when_the_way_is_long)
{
	World w(far(1));

	move(w, 400);
	EXPECT_GT(w.side[0].c.npaths, 4u);
	EXPECT_GT(w.side[0].c.max_paths, (u32)MROCE_INIT_PATHS);
	EXPECT_GT(w.side[0].c.window, (u32)MROCE_WINDOW);
	EXPECT_GT(w.side[0].grown, 1u);
	EXPECT_EQ(w.side[1].grown, 0u) << "nobody sends there";
}

TEST(grow, numbers_wrap)
{
	Cfg cfg = far(2);

	cfg.wrap = true;
	World w(cfg);

	move(w, 300);
	EXPECT_GT(w.side[0].grown, 1u);
}

TEST(grow, not_when_it_is_short)
{
	World w({ .seed = 3, .link = { .loss = 0.01 }, .rate = 10000000000, .probe_floor = 0,
		  .check_every = 1024 });

	move(w, 200);
	EXPECT_EQ(w.side[0].c.npaths, 4u);
	EXPECT_EQ(w.side[0].grown, 0u);
}

/*
 * A queue on the way lets as much be under way as one likes. It is no reason to send more, however
 * long it lasts (the shortest round trip of a path is forgotten after ten seconds).
 */
TEST(grow, not_for_a_queue)
{
	LinkCfg slow;

	slow.slow_rate = 20000000;
	slow.slow_queue = 1 << 20;
	World w({ .seed = 8, .link = slow, .probe_floor = 0, .check_every = 0 });
	u64 end = w.now + 12 * kSec;

	End *a, *b;
	std::tie(a, b) = w.connect(kSlots);
	Bytes data = pattern(1, kMessage);
	u32 posted = 0;

	b->ooo_check = false;
	w.side[1].region(kKey, kBase, kSlots * kMessage);
	w.up();
	w.run([&] {
		while (posted < a->done.size() + kSlots - 1) {
			a->write(kBase + posted % kSlots * kMessage, kKey, data);
			a->kick();
			posted++;
		}
		return w.now >= end;
	});
	EXPECT_GT(a->done.size(), 100u);
	/* 20 us at that rate are less than one packet; what the four paths have is 1020 */
	EXPECT_LE(w.side[0].c.npaths, MROCE_INIT_PATHS / 2u);
}

/* Silence is no reason either. */
TEST(grow, not_for_a_black_hole)
{
	World w(far(9));
	End *a, *b;
	std::tie(a, b) = w.connect(kSlots);
	u32 paths, window;

	w.side[1].region(kKey, kBase, kSlots * kMessage);
	w.up();
	for (u32 i = 0; i < kSlots - 1; i++)
		a->write(kBase + i * kMessage, kKey, pattern(i, kMessage));
	a->kick();
	w.run_for(60 * kMs);
	w.set_link([](LinkCfg &l) { l.down = true; });
	w.run_for(30 * kMs);	/* what is on its way arrives, growth that was asked for, too */
	paths = w.side[0].c.npaths;
	window = w.side[0].c.window;
	w.run_for(3000 * kMs);
	EXPECT_EQ(w.side[0].c.npaths, paths);
	EXPECT_EQ(w.side[0].c.window, window);
	w.set_link([](LinkCfg &l) { l.down = false; });
	ASSERT_TRUE(w.run([&] { return a->done.size() == kSlots - 1; }));
	EXPECT_FALSE(a->failed);
}

/* The peer takes no more: its word counts, whatever the way needs. */
TEST(grow, not_beyond_the_peer)
{
	Cfg cfg = far(4);

	cfg.window = 10000;	/* no power of two */
	cfg.max_paths = 21;
	World w(cfg);

	move(w, 200);
	EXPECT_EQ(w.side[0].c.npaths, 21u);
	EXPECT_EQ(w.side[0].c.window, 8192u);
}

TEST(grow, least_that_a_peer_may_say)
{
	Cfg cfg = far(5);

	cfg.window = 0;
	cfg.max_paths = 0;
	World w(cfg);

	move(w, 20);
	EXPECT_EQ(w.side[0].c.npaths, 1u);
	EXPECT_EQ(w.side[0].c.window, (u32)MROCE_WINDOW);
}

/* No memory: it goes on as it is, and asks again later. */
TEST(grow, no_memory)
{
	World w(far(6));

	w.side[0].grow_fails = 3;
	move(w, 400);
	EXPECT_EQ(w.side[0].grow_fails, 0u);
	EXPECT_GT(w.side[0].grown, 0u);
}

/* Pieces that were refused keep their order over it. */
TEST(grow, with_refused_pieces)
{
	World w(far(7));
	mroce_conn &c = w.side[0].c;
	End *a, *b;
	std::tie(a, b) = w.connect(kSlots);
	Bytes data = pattern(9, 100000);

	w.up();
	/* no receive: all of it is refused and waits */
	for (u32 i = 0; i < 8; i++)
		a->send(data);
	a->kick();
	ASSERT_TRUE(w.run([&] { return c.pieces_used > 100; }));
	c.want_window = 2 * c.window;
	c.want_paths = c.max_paths;
	w.side[0].grow();
	ASSERT_NO_FATAL_FAILURE(check_invariants(w.side[0]));
	for (u32 i = 0; i < 8; i++)
		b->recv(data.size());
	ASSERT_TRUE(w.run([&] { return a->done.size() == 8; }));
	for (u32 i = 0; i < 8; i++)
		EXPECT_EQ(b->buffer(i), data) << i;
}

} /* namespace */
