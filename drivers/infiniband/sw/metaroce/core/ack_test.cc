// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What goes into an acknowledgment, and that nobody is left out of it. */
#include "sim_test.h"

namespace {

using namespace sim;

mroce_rxpkt packet(u16 path, u32 pseq)
{
	mroce_rxpkt p{};

	p.h.path = path;
	p.h.pseq = pseq;
	return p;
}

TEST(ack, refusals_share_entries)
{
	World w({ .seed = 1 });
	mroce_conn &c = w.side[0].c;

	for (u32 i = 0; i < 10; i++) {
		mroce_rxpkt p = packet(1, 0xfffffffau + i);

		mroce_ack_refuse(&c, &p, MROCE_NAK_RNR, 7, 100);
	}
	ASSERT_EQ(c.nrefused, 1u);
	EXPECT_EQ(c.refused[0].pseq, 0xfffffffau);
	EXPECT_EQ(c.refused[0].count, 10u);
	mroce_rxpkt other = packet(2, 4), gap = packet(1, 6);

	mroce_ack_refuse(&c, &other, MROCE_NAK_RNR, 7, 100);
	mroce_ack_refuse(&c, &gap, MROCE_NAK_RNR, 7, 100);
	EXPECT_EQ(c.nrefused, 3u);
	for (u32 i = 0; i < 100; i++) {
		mroce_rxpkt p = packet(3, 2 * i);

		mroce_ack_refuse(&c, &p, MROCE_NAK_HOLD, 7, 0);
	}
	EXPECT_EQ(c.nrefused, (u32)MROCE_ACK_MAX_REFUSED);
}

/* 200 streams with news, those at the front have new ones all the time. */
TEST(ack, no_stream_starves)
{
	World w({ .seed = 2 });
	mroce_conn &c = w.side[0].c;
	std::vector<End *> ends;
	std::map<u32, u32> told;
	mroce_ack a;

	w.up();
	for (u32 i = 0; i < 200; i++) {
		ends.push_back(w.connect(4).first);
		ends[i]->s.announced = true;
		ends[i]->s.peer_handle = i + 1;
		mroce_stream_news(&ends[i]->s);
	}
	for (u32 round = 0; round < 20; round++) {
		for (u32 i = 0; i < 60; i++)
			mroce_stream_news(&ends[i]->s);
		ASSERT_TRUE(mroce_conn_next_ack(&c, &a, w.now));
		ASSERT_LE(a.nstreams, MROCE_ACK_MAX_STREAMS);
		for (u32 i = 0; i < a.nstreams; i++)
			told[a.streams[i].handle]++;
	}
	EXPECT_EQ(told.size(), 200u);
}

/* A stream alone in the list is in an acknowledgment once, and in three of them. */
TEST(ack, news_are_repeated)
{
	World w({ .seed = 3 });
	mroce_conn &c = w.side[0].c;
	End *e = w.connect(4).first;
	mroce_ack a;

	w.up();
	e->s.announced = true;
	mroce_stream_news(&e->s);
	for (u32 i = 0; i < 5; i++) {
		c.ack_now = true;
		ASSERT_TRUE(mroce_conn_next_ack(&c, &a, w.now));
		EXPECT_EQ(a.nstreams, i < MROCE_NEWS_REPEAT ? 1u : 0u);
	}
	EXPECT_FALSE(mroce_conn_next_ack(&c, &a, w.now));
}

/* MR-5.5-04: what is posted next replies only while nobody knows of the message yet, and only if
 * nothing that was posted before is under way.
 */
TEST(ack, goes_before_a_reply)
{
	World w({ .seed = 3 });
	End *e = w.connect(4).first;
	mroce_stream &s = e->s;
	mroce_ack a;

	w.up();
	s.announced = true;
	EXPECT_FALSE(mroce_stream_replies(&s));
	mroce_stream_news(&s);
	EXPECT_TRUE(mroce_stream_replies(&s));
	s.sq_seen++;
	EXPECT_FALSE(mroce_stream_replies(&s));
	s.sq_seen--;
	ASSERT_TRUE(mroce_conn_next_ack(s.conn, &a, w.now));
	EXPECT_FALSE(mroce_stream_replies(&s));
}

} /* namespace */
