// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Speed in virtual time: hosts are infinitely fast, so what is missing to the line is the
 * protocol's. Each figure is printed; the bounds are what a regression would break.
 */
#include <algorithm>
#include <tuple>
#include <vector>

#include "sim_test.h"

namespace {

using namespace sim;

constexpr u32 kKey = 0x42;
constexpr u64 kBase = 0x10000;
constexpr u32 kMessage = 1 << 20;

/* What the headers leave of the line for payload. */
double ceiling(u32 mtu)
{
	mroce_conn_cfg c;

	mroce_cfg_default(&c);
	mroce_cfg_mtu(&c, mtu, false);
	return c.payload / (c.payload + 40.0 + 66.0);
}

/* Return: share of the line's payload capacity that one stream of 1 MiB WRITEs gets. */
double goodput(const char *what, Cfg cfg, u32 messages, u32 window = 16, u64 warm = 8)
{
	cfg.check_every = 0;
	World w(cfg);
	End *a, *b;
	std::tie(a, b) = w.connect(256);
	Bytes data = pattern(1, kMessage);
	u32 posted = 0;

	b->ooo_check = false;
	/* as real programs do: nothing is written again while it may be under way */
	w.side[1].region(kKey, kBase, window * kMessage);
	w.up();
	/* open the stream and the windows first */
	u64 start = 0;
	bool ok = w.run([&] {
		u32 done = a->done.size();

		if (!start && done >= warm)
			start = w.now;
		while (posted < messages + warm && posted < done + window) {
			a->write(kBase + (u64)(posted % window) * kMessage, kKey, data);
			a->kick();
			posted++;
		}
		return done == messages + warm;
	});

	EXPECT_TRUE(ok) << what;
	double bits = 8.0 * messages * kMessage;
	double share = bits / (w.now - start) / (cfg.rate / 1e9) / ceiling(cfg.mtu);
	mroce_conn &c = w.side[0].c;

	printf("#   %-42s %6.2f %% of what headers leave, %u paths, window %u, %llu gap, %llu probe, "
	       "%llu spurious\n",
	       what, 100 * share, c.npaths, c.window, (unsigned long long)c.counters[MROCE_CNT_RETX_GAP],
	       (unsigned long long)c.counters[MROCE_CNT_RETX_PROBE],
	       (unsigned long long)c.counters[MROCE_CNT_RETX_SPURIOUS]);
	return share;
}

Cfg line(double loss, u32 mtu = 1500, u64 rtt = 20 * kUs)
{
	return { .seed = 7, .paths = 4, .mtu = mtu, .link = { .delay = rtt / 2, .loss = loss },
		 .rate = 10000000000, .ack_loss = loss, .probe_floor = 0 };
}

TEST(goodput, clean)
{
	EXPECT_GE(goodput("10 Gb/s, 20 us, MTU 1500", line(0), 12), 0.98);
	EXPECT_GE(goodput("10 Gb/s, 20 us, MTU 9000", line(0, 9000), 40), 0.98);
}

TEST(goodput, loss)
{
	EXPECT_GE(goodput("loss 0.1 %", line(0.001), 12), 0.98);
	EXPECT_GE(goodput("loss 1 %", line(0.01), 16), 0.97 * 0.99);
	EXPECT_GE(goodput("loss 5 %", line(0.05), 12), 0.96 * 0.95);
	EXPECT_GE(goodput("loss 10 %", line(0.1), 12), 0.95 * 0.90);
}

TEST(goodput, longer)
{
	Cfg far = line(0, 9000, 1000 * kUs);

	EXPECT_GE(goodput("1 ms, MTU 9000", far, 48), 0.95);
	far.link.loss = 0.01;
	EXPECT_GE(goodput("1 ms, MTU 9000, loss 1 %", far, 48), 0.90);
}

/* A way that holds more than the paths of the start: 1400 packets. */
TEST(goodput, distance)
{
	Cfg far = line(0, 9000, 10 * kMs);

	EXPECT_GE(goodput("10 ms, MTU 9000", far, 200, 64, 150), 0.95);
	far.link.loss = far.ack_loss = 0.01;
	EXPECT_GE(goodput("10 ms, MTU 9000, loss 1 %", far, 300, 64, 150), 0.90);
}

TEST(goodput, reordering)
{
	Cfg c = line(0);

	c.link.reorder = 0.05;
	c.link.reorder_by = 20 * kUs;
	EXPECT_GE(goodput("5 % late by up to a round trip", c, 12), 0.85);
}

/* One message of 64 KiB at a time. Return: how long each took, in order of length. */
std::vector<u64> latencies(Cfg cfg, u32 messages)
{
	std::vector<u64> took;
	World w(cfg);
	End *a, *b;
	std::tie(a, b) = w.connect(256);
	Bytes data = pattern(1, 65536);

	b->ooo_check = false;
	w.side[1].region(kKey, kBase, data.size());
	w.up();
	while (took.size() < messages) {
		u64 start = w.now;
		u32 done = a->done.size();

		a->write(kBase, kKey, data);
		a->kick();
		if (!w.run([&] { return a->done.size() > done; })) {
			ADD_FAILURE() << "message " << took.size();
			break;
		}
		took.push_back(w.now - start);
	}
	std::sort(took.begin(), took.end());
	return took;
}

/* MR-6.2-05: what random loss adds to a message, with the floor that a driver has. */
TEST(goodput, tail)
{
	constexpr u32 n = 2500;
	Cfg c = line(0);

	c.check_every = 0;
	c.probe_floor = 500 * kUs;
	u64 base = latencies(c, 100)[50];
	c.link.loss = c.ack_loss = 0.01;
	std::vector<u64> took = latencies(c, n);
	double p99 = (took[n * 99 / 100] - base) / 20e3, p999 = (took[n * 999 / 1000] - base) / 20e3;

	printf("#   64 KiB take %.1f us; with 1 %% lost %.2f round trips more in 99 %%, %.2f in 99.9 %%\n",
	       base / 1e3, p99, p999);
	EXPECT_LE(p99, 3);
	/* one in a thousand loses the tail of a path, and the probe or its acknowledgment */
	EXPECT_LE(p999, 9);
}

} /* namespace */
