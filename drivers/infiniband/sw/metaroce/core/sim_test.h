/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A network of two hosts in virtual time, for the tests of the transport:
 *
 *	Side 0                       paths                        Side 1
 *	+-----------+   +-- link 0: delay, loss, order, ... --+   +-----------+
 *	| requests  |   +-- link 1 ---------------------------+   | memory    |
 *	| core      |---+-- ...                               +---| core      |
 *	| memory    |   a NIC per way gives the rate              | receives  |
 *	+-----------+                                             +-----------+
 *
 * Packets cross it as bytes of the real codec. After every single copy into memory the
 * rules of placement are checked against what was posted; everything random comes
 * from one seed.
 */
#ifndef _METAROCE_SIM_TEST_H
#define _METAROCE_SIM_TEST_H

#include <gtest/gtest.h>

extern "C" {
#include "internal.h"
}

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sim {
constexpr u64 kUs = 1000, kMs = 1000 * kUs, kSec = 1000 * kMs;

using Bytes = std::vector<u8>;

struct LinkCfg {
	u64 delay = 10 * kUs;
	u64 jitter = 0;		/* uniform, in order */
	double loss = 0, dup = 0, reorder = 0;
	u64 reorder_by = 0;
	bool down = false;	/* black hole */
	u64 slow_rate = 0;	/* bit/s of a slower hop; 0: none */
	u32 slow_queue = 64;	/* its packets; beyond: dropped */
	u32 slow_mark = 0;	/* its packets; beyond: marked; 0: never */
};

struct Cfg {
	u64 seed = 1;
	u32 paths = 4;
	u32 mtu = 1500;
	LinkCfg link = {};
	u64 rate = 0;		/* bit/s of a NIC; 0: no limit */
	double ack_loss = -1;	/* of acknowledgments; -1: as the link */
	u64 copy_ns = 0;	/* a copy takes 1..copy_ns, on as many CPUs as it likes */
	u64 build_ns = 0;	/* building a burst takes 1..build_ns */
	u64 coalesce = 0;	/* arrivals are gathered that long */
	u32 burst = 44;
	u32 window = MROCE_MAX_WINDOW;	/* that a receiver takes */
	u32 max_paths = MROCE_MAX_PATHS;
	u64 probe_floor = 500 * kUs;
	bool wrap = false;	/* all numbers start just below their wrap */
	u32 check_every = 64;	/* events between checks of the invariants */
	u32 max_rd = 16;
};

/* What the application of a stream sees. */
struct Completion {
	u32 index;
	u8 op;
	bool ok;
	enum mroce_fail why;
	u8 nak;
};

struct Received {
	u32 rqn;
	u8 op, flags, nak;
	u32 imm, len;
};

struct Wqe {
	mroce_txmsg m;		/* first: the core steps by sizeof(Wqe) */
	Bytes local;		/* payload, or where the answer goes */
};

/* What a posted message is to do at the peer, and what of it was seen there. */
struct Truth {
	u32 msn;
	u8 op;
	u64 raddr;
	u32 len;
	u32 rqn;
	bool takes_receive;
	u32 placed = 0;
	std::map<u32, u32> pieces;	/* offset -> length */
};

/* Order of numbers that wrap. */
struct Before {
	bool operator()(u32 a, u32 b) const { return mroce_before32(a, b); }
};

struct Region {
	u64 va;
	Bytes mem;
	bool write = true, read = true;
};

class Side;
class World;

/* One end of a stream. */
struct End {
	mroce_stream s{};
	Side *side = nullptr;
	End *peer = nullptr;
	u32 qpn = 0;
	std::vector<Wqe> sq;
	u32 head = 0;
	std::vector<mroce_resp> resp;
	std::deque<Bytes> rq;		/* by receive number, from rq_first */
	u32 rq_first = 0, rq_posted = 0;
	std::vector<Completion> done;
	std::vector<Received> received;
	bool failed = false;
	enum mroce_fail why = MROCE_FAIL_NAK;
	u8 nak = 0;
	bool resp_failed = false;	/* this side refused a request of its peer */
	bool hidden = false;		/* no such QP (yet) */
	bool ooo_check = true;
	std::map<u32, Truth, Before> truth;	/* of what this end posted, by message number */

	/* Requests. Return: the index. */
	u32 post(u8 op, u64 raddr, u32 rkey, Bytes payload, u8 flags = 0, u32 imm = 0);
	u32 write(u64 raddr, u32 rkey, Bytes payload, u8 flags = 0, u32 imm = 0)
	{
		return post(MROCE_OP_WRITE, raddr, rkey, std::move(payload), flags, imm);
	}
	u32 send(Bytes payload, u8 flags = 0, u32 imm = 0)
	{
		return post(MROCE_OP_SEND, 0, 0, std::move(payload), flags, imm);
	}
	u32 read(u64 raddr, u32 rkey, u32 len, u8 flags = 0);
	u32 atomic(u8 op, u64 raddr, u32 rkey, u64 compare_add, u64 swap, u8 flags = 0);
	void kick();
	void recv(u32 size);
	Bytes &buffer(u32 rqn) { return rq[rqn - rq_first]; }
	Wqe &wqe(u32 index) { return sq[index & s.sq_mask]; }
	u32 room() const { return s.sq_mask + 1 - (head - s.sq_tail); }
	void stop();
	void destroy();		/* stops, waits till nothing refers to it, unbinds */
	bool unbound = false;
};

struct Packet {
	Bytes bytes;
	u16 path;
	bool ce = false;
};

/* Packets that were merged on arrival, while they are copied. */
struct Batch {
	mroce_rxbatch b{};
	std::vector<mroce_rxpkt> pkts;
	std::vector<Bytes> payloads;
	mroce_rxpkt *at = nullptr;
};

class Side {
 public:
	/* Seen as a mroce_conn by the core: first. */
	mroce_conn c{};
	World *w = nullptr;
	/* what the ops for watchers have seen */
	u64 repairs[MROCE_REPAIR_REFUSED + 1] = {}, refusals = 0;
	u32 conn_events = 0, paths_failed = 0;
	Side *peer = nullptr;
	int id = 0;
	std::vector<u64> mem;
	std::unique_ptr<u64[]> txmem;
	std::map<u32, Region> regions;		/* by key */
	std::map<u32, std::unique_ptr<End>> ends;	/* by handle */
	std::vector<LinkCfg> links;		/* towards the peer, by path */
	std::vector<u64> slow_free;		/* when the slower hop is free */
	std::vector<u64> last_arrival;
	u64 nic_free[MROCE_MAX_WAYS] = {};
	std::vector<u8> silent;			/* ways that the core gave up */
	std::deque<Packet> arrived;
	bool rx_scheduled = false;
	u64 armed = MROCE_NEVER, pump_at = MROCE_NEVER;
	u16 ack_path = 0;
	u32 copies = 0;				/* batches being copied */
	bool held_fails = false;
	u32 grow_fails = 0;			/* so many times there is no memory */
	u32 grown = 0;
	u64 sent_pkts = 0, placed_bytes = 0;
	std::function<void(const mroce_hdr &)> on_send;	/* looks at every data packet */

	Region &region(u32 key, u64 va, u32 size, bool write = true, bool read = true);
	void pump();
	u8 way_of(u16 path, bool ack) const;
	void transmit(Packet p, bool ack);
	void arrive(Packet p);
	void rx();
	void copy(std::shared_ptr<Batch> b);
	void place(mroce_rxpkt *p);
	void check_order(End *from, const mroce_rxpkt *p);
	void timer();
	void grow();
	void build(std::shared_ptr<mroce_burst> b);
};

class World {
 public:
	explicit World(const Cfg &cfg);
	~World();
	Cfg cfg;
	u64 now = 1000;
	std::mt19937_64 rng;
	Side side[2];

	/* A stream between the two sides. */
	std::pair<End *, End *> connect(u32 depth = 128);
	End *make_end(Side &s, u32 qpn, u32 rqpn, u32 depth);
	void up();
	/* Side 0 talks to itself, side 1 is not there. */
	void up_loopback();
	void at(u64 when, std::function<void()> f);
	bool step();
	/* Runs until @pred holds. Return: whether it did before @limit ns passed. */
	bool run(const std::function<bool()> &pred, u64 limit = 60 * kSec);
	/* Runs for @ns. */
	void run_for(u64 ns);
	/* Runs until nothing is left to send and no copy is under way. */
	bool drain(u64 limit = 60 * kSec);
	bool chance(double p);
	u64 upto(u64 max) { return max ? 1 + rng() % max : 0; }
	void set_link(const std::function<void(LinkCfg &)> &f);
	u64 events = 0;

 private:
	struct Event {
		u64 when, serial;
		std::function<void()> f;
		bool operator>(const Event &o) const
		{
			return when != o.when ? when > o.when : serial > o.serial;
		}
	};
	std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
	u64 serial_ = 0;
	u32 next_qpn_ = 100;
	u64 same_time_ = 0;
	testing::ScopedTrace trace_;
};

/* Fills in the ops for watchers: watch_test.cc. */
void watch(mroce_core_ops *ops);

/* Lists, counts and pools of a connection agree with each other. */
void check_invariants(const Side &s);

/* Bytes that depend on every bit of @key and on the position. */
Bytes pattern(u64 key, u32 len);

} /* namespace sim */

#endif /* _METAROCE_SIM_TEST_H */
