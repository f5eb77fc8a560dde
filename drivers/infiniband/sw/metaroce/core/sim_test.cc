// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The simulated network and hosts; sim_test.h has the picture. */
#include "sim_test.h"

#include <algorithm>

namespace sim {

Bytes pattern(u64 key, u32 len)
{
	Bytes b(len);
	u64 x = key * 0x9e3779b97f4a7c15ULL + 1;

	for (u32 i = 0; i < len; i += 8) {
		u64 v = x + i * 0xff51afd7ed558ccdULL;

		v ^= v >> 33;
		v *= 0xc4ceb9fe1a85ec53ULL;
		v ^= v >> 29;
		memcpy(&b[i], &v, std::min<u32>(8, len - i));
	}
	return b;
}

/* ------------------------------------------------------------------ core's calls */

static Side *side_of(mroce_conn *c)
{
	return reinterpret_cast<Side *>(c);
}

static End *end_of(mroce_stream *s)
{
	return static_cast<End *>(s->owner);
}

static u32 op_rq_posted(mroce_stream *s)
{
	return end_of(s)->rq_posted;
}

static bool op_hold(mroce_conn *c, mroce_rxpkt *pkt)
{
	if (side_of(c)->held_fails)
		return false;
	pkt->payload = new Bytes(*static_cast<Bytes *>(pkt->payload));
	return true;
}

static void op_unhold(mroce_conn *, mroce_rxpkt *pkt)
{
	delete static_cast<Bytes *>(pkt->payload);
	pkt->payload = nullptr;
}

static u8 op_received(mroce_stream *s, u32 rqn, u8 op, u8 flags, u32 imm, u32 len, u8 nak)
{
	End *e = end_of(s);

	EXPECT_LT(mroce_diff32(rqn, e->rq_posted), 0) << "a receive that was not posted";
	if (!nak && op == MROCE_OP_SEND && len > e->buffer(rqn).size())
		nak = MROCE_NAK_INV_REQ;
	EXPECT_EQ(rqn, (u32)(e->rq_first + e->received.size())) << "receives complete in order";
	e->received.push_back({ rqn, op, flags, nak, imm, len });
	/* MR-7.4-*: a completion never precedes its bytes */
	if (op != MROCE_OP_SEND || nak || !e->peer || !e->ooo_check)
		return nak;
	for (auto &[msn, t] : e->peer->truth) {
		if (t.takes_receive && t.rqn == rqn) {
			EXPECT_EQ(t.placed, t.len) << "completed before it was placed";
		}
	}
	return nak;
}

static u8 check_region(Side *side, u32 rkey, u64 va, u64 len, bool write)
{
	auto r = side->regions.find(rkey);

	if (r == side->regions.end())
		return MROCE_NAK_ACCESS;
	if (!(write ? r->second.write : r->second.read))
		return MROCE_NAK_ACCESS;
	if (va < r->second.va || len > r->second.mem.size() ||
	    va - r->second.va > r->second.mem.size() - len)
		return MROCE_NAK_ACCESS;
	return MROCE_NAK_NONE;
}

static u8 op_check(mroce_stream *s, u8 op, u32 rkey, u64 va, u32 len)
{
	if (!len)
		return MROCE_NAK_NONE;
	return check_region(end_of(s)->side, rkey, va, len, op != MROCE_OP_READ);
}

static u8 op_atomic(mroce_stream *s, u8 op, u32 rkey, u64 va, u64 compare_add, u64 swap,
		    u64 *original)
{
	Side *side = end_of(s)->side;
	u64 v;

	EXPECT_EQ(check_region(side, rkey, va, 8, true), 0);
	if (va % 8)
		return MROCE_NAK_INV_REQ;
	u8 *p = &side->regions[rkey].mem[va - side->regions[rkey].va];

	memcpy(&v, p, 8);
	*original = v;
	if (op == MROCE_OP_FETCH_ADD)
		v += compare_add;
	else if (v == compare_add)
		v = swap;
	memcpy(p, &v, 8);
	return MROCE_NAK_NONE;
}

static void op_completed(mroce_stream *s, u32 index, mroce_txmsg *m)
{
	End *e = end_of(s);

	EXPECT_FALSE(e->failed);
	e->done.push_back({ index, m->op, true, MROCE_FAIL_NAK, 0 });
	auto t = e->truth.find(m->msn);

	if (t == e->truth.end() || m->flags & MROCE_MSG_LOCAL)
		return;
	if ((m->op == MROCE_OP_WRITE || m->op == MROCE_OP_SEND) && e->peer->ooo_check) {
		EXPECT_EQ(t->second.placed, t->second.len) << "completed before it was placed";
	}
	/* kept while later ones may refer to it */
	while (e->truth.size() > 4 * (s->sq_mask + 1ULL))
		e->truth.erase(e->truth.begin());
}

static void op_failed(mroce_stream *s, u32 index, mroce_txmsg *m, enum mroce_fail why, u8 nak)
{
	End *e = end_of(s);

	EXPECT_EQ(s->state, MROCE_STREAM_ERROR);
	EXPECT_FALSE(e->failed);
	e->failed = true;
	e->why = why;
	e->nak = nak;
	if (m)
		e->done.push_back({ index, m->op, false, why, nak });
	else
		e->resp_failed = true;
}

static mroce_stream *op_find_stream(mroce_conn *c, u32 dst_qpn, u32 src_qpn)
{
	for (auto &[handle, e] : side_of(c)->ends)
		if (!e->hidden && !e->unbound && e->qpn == dst_qpn && e->s.rqpn == src_qpn &&
		    e->s.half == (dst_qpn == src_qpn))
			return &e->s;
	return nullptr;
}

static mroce_stream *op_by_handle(mroce_conn *c, u32 handle)
{
	auto e = side_of(c)->ends.find(handle);

	if (e == side_of(c)->ends.end() || e->second->unbound)
		return nullptr;
	return &e->second->s;
}

static void op_grow(mroce_conn *c)
{
	Side *s = side_of(c);

	/* memory takes a while, and may be refused */
	s->w->at(s->w->now + 50 * kUs, [s] { s->grow(); });
}

static void op_way_silent(mroce_conn *c, u8 way)
{
	side_of(c)->silent.push_back(way);
}

static mroce_core_ops make_ops()
{
	mroce_core_ops ops{};

	ops.rq_posted = op_rq_posted;
	ops.hold = op_hold;
	ops.unhold = op_unhold;
	ops.received = op_received;
	ops.check = op_check;
	ops.atomic = op_atomic;
	ops.completed = op_completed;
	ops.failed = op_failed;
	ops.grow = op_grow;
	ops.way_silent = op_way_silent;
	ops.find_stream = op_find_stream;
	ops.by_handle = op_by_handle;
	watch(&ops);
	return ops;
}

static const mroce_core_ops kOps = make_ops();

/* ----------------------------------------------------------------------- requests */

u32 End::post(u8 op, u64 raddr, u32 rkey, Bytes payload, u8 flags, u32 imm)
{
	Wqe &q = wqe(head);
	u32 index = head;

	EXPECT_GT(room(), 0u) << "the test overfills the send queue";
	memset(&q.m, 0, sizeof(q.m));
	q.m.op = op;
	q.m.flags = flags;
	q.m.len = payload.size();
	q.m.raddr = raddr;
	q.m.rkey = rkey;
	q.m.imm = imm;
	q.local = std::move(payload);
	head++;
	if (flags & (MROCE_MSG_LOCAL | MROCE_MSG_FAILED))
		return index;
	return index;
}

u32 End::read(u64 raddr, u32 rkey, u32 len, u8 flags)
{
	return post(MROCE_OP_READ, raddr, rkey, Bytes(len, 0xee), flags);
}

u32 End::atomic(u8 op, u64 raddr, u32 rkey, u64 compare_add, u64 swap, u8 flags)
{
	u32 index = post(op, raddr, rkey, Bytes(8, 0xee), flags);

	wqe(index).m.compare_add = compare_add;
	wqe(index).m.swap = swap;
	return index;
}

void End::kick()
{
	u32 from = s.sq_seen;

	if (unbound)
		return;
	mroce_stream_post(&s, head, side->w->now);
	for (; from != s.sq_seen; from++) {
		const mroce_txmsg &m = wqe(from).m;

		if (m.flags & (MROCE_MSG_LOCAL | MROCE_MSG_FAILED))
			continue;
		bool recv = m.op == MROCE_OP_SEND ||
			    (m.op == MROCE_OP_WRITE && m.flags & MROCE_MSG_IMM);
		truth[m.msn] = { m.msn, m.op, m.raddr, m.len, m.rqn, recv, 0, {} };
	}
	side->pump();
}

void End::recv(u32 size)
{
	rq.emplace_back(size, 0xdd);
	rq_posted++;
}

void End::stop()
{
	mroce_stream_stop(&s, side->w->now);
	side->pump();
}

void End::destroy()
{
	stop();
	EXPECT_TRUE(side->w->run([this] { return !mroce_stream_busy(&s); }));
	mroce_stream_unbind(&s);
	unbound = true;
}

/* --------------------------------------------------------------------- the network */

Region &Side::region(u32 key, u64 va, u32 size, bool write, bool read)
{
	Region &r = regions[key];

	r.va = va;
	r.mem.assign(size, 0);
	r.write = write;
	r.read = read;
	return r;
}

/* Acknowledgments go back by the path whose packets came last. */
u8 Side::way_of(u16 path, bool ack) const
{
	const mroce_conn &sender = ack ? peer->c : c;

	return path < sender.npaths ? sender.paths[path].way : 0;
}

void Side::transmit(Packet p, bool ack)
{
	u64 &nic = nic_free[way_of(p.path, ack)];
	LinkCfg &l = links[p.path];
	u64 wire = w->cfg.rate ? (p.bytes.size() + 66) * 8 * kSec / w->cfg.rate : 0;
	u64 t = std::max(w->now, nic) + wire;
	double loss = ack && w->cfg.ack_loss >= 0 ? w->cfg.ack_loss : l.loss;

	nic = t;
	sent_pkts++;
	if (l.down || w->chance(loss))
		return;
	if (l.slow_rate) {
		u64 each = (p.bytes.size() + 66) * 8 * kSec / l.slow_rate;
		u64 &free = slow_free[p.path];
		u64 queued = free > t ? (free - t) / each : 0;

		if (queued > l.slow_queue)
			return;
		if (l.slow_mark && queued > l.slow_mark)
			p.ce = true;
		free = std::max(free, t) + each;
		t = free;
	}
	for (int copies = w->chance(l.dup) ? 2 : 1; copies; copies--) {
		u64 when = t + l.delay + w->upto(l.jitter);

		/* a path keeps its order but for what is reordered on purpose */
		if (w->chance(l.reorder)) {
			when += w->upto(l.reorder_by);
		} else {
			when = std::max(when, last_arrival[p.path] + 1);
			last_arrival[p.path] = when;
		}
		w->at(when, [this, p] { peer->arrive(p); });
	}
}

void Side::build(std::shared_ptr<mroce_burst> b)
{
	for (u32 i = 0; i < b->count; i++) {
		mroce_txpkt *t = &b->pkts[i];
		Packet p;

		p.path = b->path;
		p.bytes.assign(t->hdr, t->hdr + t->hdr_len);
		if (i + 1 < b->count) {
			EXPECT_EQ((u32)t->hdr_len + t->len, b->seg_size);
		}
		else
			EXPECT_LE((u32)t->hdr_len + t->len, b->seg_size);
		if (t->source == MROCE_SRC_REQUEST) {
			const Bytes &from = end_of(t->stream)->wqe(t->index).local;

			p.bytes.insert(p.bytes.end(), from.begin() + t->offset,
				       from.begin() + t->offset + t->len);
		} else if (t->source == MROCE_SRC_ANSWER) {
			mroce_resp *a = mroce_resp_at(t->stream, t->index);

			if (check_region(this, a->rkey, a->va + t->offset, t->len, false)) {
				mroce_conn_local_error(&c, t, w->now);
				continue;
			}
			const Region &r = regions[a->rkey];
			auto from = r.mem.begin() + (a->va - r.va) + t->offset;

			p.bytes.insert(p.bytes.end(), from, from + t->len);
		} else if (t->source == MROCE_SRC_VALUE) {
			u64 v = cpu_to_be64(mroce_resp_at(t->stream, t->index)->value);
			const u8 *from = reinterpret_cast<u8 *>(&v);

			p.bytes.insert(p.bytes.end(), from, from + 8);
		}
		EXPECT_LE(p.bytes.size() + 28, w->cfg.mtu);
		if (on_send) {
			mroce_hdr h;

			EXPECT_EQ(mroce_wire_get_data(&h, p.bytes.data(), p.bytes.size(),
						      p.bytes.size()), 0);
			on_send(h);
		}
		transmit(std::move(p), false);
	}
	mroce_conn_burst_sent(&c, b.get(), w->now);
}

void Side::timer()
{
	u64 d = mroce_conn_deadline(&c);

	if (d >= armed || d == MROCE_NEVER)
		return;
	armed = d;
	w->at(std::max(d, w->now), [this, d] {
		if (armed != d)
			return;
		armed = MROCE_NEVER;
		if (mroce_conn_deadline(&c) <= w->now)
			mroce_conn_timeout(&c, w->now);
		pump();
	});
}

/* What the engine does after every call: acknowledge, send, set the timer. */
void Side::pump()
{
	u32 rounds = 0;

	for (;;) {
		mroce_ack a;

		while (mroce_conn_next_ack(&c, &a, w->now)) {
			Packet p;

			p.bytes.resize(MROCE_ACK_MAX_LEN);
			p.bytes.resize(mroce_wire_put_ack(&a, p.bytes.data()));
			p.path = ack_path;
			transmit(std::move(p), true);
		}
		/* a NIC's own queue is kept short */
		auto b = std::make_shared<mroce_burst>();
		u64 when = MROCE_NEVER;

		b->ways = 0xff;
		for (u8 i = 0; w->cfg.rate && i < MROCE_MAX_WAYS; i++) {
			if (nic_free[i] <= w->now + 20 * kUs)
				continue;
			b->ways &= ~(1 << i);
			when = std::min(when, nic_free[i] - 10 * kUs);
		}
		if (when < pump_at || (pump_at <= w->now && when != MROCE_NEVER)) {
			pump_at = when;
			w->at(when, [this, when] {
				if (pump_at == when)
					pump();
			});
		}
		b->max_count = w->cfg.burst;
		if (!mroce_conn_next_burst(&c, b.get(), w->now))
			break;
		ASSERT_LT(rounds++, 100000u) << "sends without end";
		if (w->cfg.build_ns)
			w->at(w->now + w->upto(w->cfg.build_ns), [this, b] { build(b); pump(); });
		else
			build(b);
	}
	timer();
}

void Side::arrive(Packet p)
{
	int type = mroce_wire_type(p.bytes.data(), p.bytes.size());

	ack_path = p.path;
	if (type == MROCE_T_ACK) {
		mroce_ack a;

		ASSERT_EQ(mroce_wire_get_ack(&a, p.bytes.data(), p.bytes.size()), 0);
		mroce_conn_rx_ack(&c, &a, w->now);
		pump();
		return;
	}
	ASSERT_EQ(type, MROCE_T_DATA);
	arrived.push_back(std::move(p));
	if (rx_scheduled)
		return;
	rx_scheduled = true;
	w->at(w->now + w->cfg.coalesce, [this] { rx(); });
}

void Side::rx()
{
	rx_scheduled = false;
	while (!arrived.empty()) {
		auto b = std::make_shared<Batch>();
		u32 n = std::min<size_t>(arrived.size(), 44);

		b->pkts.resize(n);
		b->payloads.resize(n);
		for (u32 i = 0; i < n; i++) {
			Packet &p = arrived.front();
			mroce_rxpkt &k = b->pkts[i];

			memset(&k, 0, sizeof(k));
			ASSERT_EQ(mroce_wire_get_data(&k.h, p.bytes.data(), p.bytes.size(),
						      p.bytes.size()), 0);
			b->payloads[i].assign(p.bytes.begin() + k.h.hdr_len, p.bytes.end());
			k.plen = b->payloads[i].size();
			k.payload = &b->payloads[i];
			k.ce = p.ce;
			arrived.pop_front();
		}
		mroce_conn_rx(&c, b->pkts.data(), n, &b->b, w->now);
		b->at = b->b.first;
		if (b->at) {
			copies++;
			copy(b);
		}
	}
	pump();
}

/* Copies the batch packet by packet, others meanwhile theirs. */
void Side::copy(std::shared_ptr<Batch> b)
{
	for (;;) {
		if (b->at) {
			place(b->at);
			b->at = b->at->next;
		}
		if (!b->at) {
			if (!mroce_conn_placed(&c, &b->b, w->now)) {
				copies--;
				pump();
				return;
			}
			b->at = b->b.first;
		}
		if (w->cfg.copy_ns) {
			w->at(w->now + w->upto(w->cfg.copy_ns), [this, b] { copy(b); });
			pump();
			return;
		}
	}
}

static bool holds(const Truth &t, u32 lo, u32 hi)
{
	/* pieces don't overlap each other: count what they cover of [lo, hi) */
	u32 sum = 0;

	for (auto p = t.pieces.begin(); p != t.pieces.end() && p->first < hi; ++p) {
		u32 a = std::max(p->first, lo), b = std::min(p->first + p->second, hi);

		if (a < b)
			sum += b - a;
	}
	return sum == hi - lo;
}

/* W1 of Documentation's chapter on placement, against what was really posted. */
void Side::check_order(End *from, const mroce_rxpkt *p)
{
	auto found = from->truth.find(p->msn);

	if (found == from->truth.end())
		return;		/* a liar's, or long ago */
	Truth &t = found->second;
	u64 lo = t.raddr + p->h.offset, hi = lo + p->plen;
	bool last = p->h.flags & MROCE_F_LAST;

	ASSERT_LE((u64)p->h.offset + p->plen, t.len);
	EXPECT_TRUE(t.pieces.emplace(p->h.offset, p->plen).second || !p->plen)
		<< "placed twice: message " << p->msn << " offset " << p->h.offset;
	t.placed += p->plen;
	EXPECT_LE(t.placed, t.len);
	if (last) {
		EXPECT_EQ(t.placed, t.len) << "last packet before others of its message";
	}
	if (t.op == MROCE_OP_WRITE && !last) {
		EXPECT_EQ(hi % MROCE_LINE, 0u) << "a line was split";
	}
	for (auto e = from->truth.begin(); e != found; ++e) {
		Truth &o = e->second;

		if (o.placed == o.len || (o.op != MROCE_OP_WRITE && o.op != MROCE_OP_SEND))
			continue;
		EXPECT_FALSE(last) << "last packet of message " << p->msn
				   << " before all of message " << o.msn;
		if (t.op != MROCE_OP_WRITE || o.op != MROCE_OP_WRITE)
			continue;
		u64 a = std::max(lo, o.raddr), b = std::min(hi, o.raddr + o.len);

		if (a < b) {
			EXPECT_TRUE(holds(o, a - o.raddr, b - o.raddr))
				<< "message " << p->msn << " overtook " << o.msn
				<< " where they overlap";
		}
	}
}

void Side::place(mroce_rxpkt *p)
{
	End *e = end_of(p->stream);
	const Bytes &from = *static_cast<Bytes *>(p->payload);
	u8 *to = nullptr;

	ASSERT_EQ(from.size(), p->plen);
	switch (p->h.op) {
	case MROCE_OP_WRITE:
		if (p->plen)
			p->nak = check_region(this, p->h.rkey, p->h.addr + p->h.offset, p->plen,
					      true);
		if (!p->nak && p->plen) {
			Region &r = regions[p->h.rkey];

			to = &r.mem[p->h.addr + p->h.offset - r.va];
		}
		break;
	case MROCE_OP_SEND: {
		ASSERT_LT(mroce_diff32(p->h.rqn, e->rq_posted), 0);
		ASSERT_GE(mroce_diff32(p->h.rqn, e->rq_first), 0);
		EXPECT_GE(mroce_diff32(p->h.rqn, e->s.exec_rqn), 0)
			<< "into a receive that is done";
		Bytes &buf = e->buffer(p->h.rqn);

		if ((u64)p->h.offset + p->plen > buf.size())
			p->nak = MROCE_NAK_INV_REQ;
		else if (p->plen)
			to = &buf[p->h.offset];
		break;
	}
	case MROCE_OP_READ_RESP:
	case MROCE_OP_ATOMIC_RESP: {
		Bytes &buf = e->wqe(p->index).local;

		ASSERT_LE((u64)p->h.offset + p->plen, buf.size());
		to = &buf[p->h.offset];
		break;
	}
	default:
		break;
	}
	if (to)
		memcpy(to, from.data(), p->plen);
	placed_bytes += p->plen;
	if ((p->h.op == MROCE_OP_WRITE || p->h.op == MROCE_OP_SEND) && e->peer && e->ooo_check)
		check_order(e->peer, p);
}

/* -------------------------------------------------------------------------- world */

World::World(const Cfg &config)
	: cfg(config), rng(config.seed), trace_(__FILE__, __LINE__, "seed " + std::to_string(cfg.seed))
{
	for (int i = 0; i < 2; i++) {
		Side &s = side[i];
		mroce_conn_cfg cc;

		s.w = this;
		s.id = i;
		s.peer = &side[!i];
		s.links.assign(MROCE_MAX_PATHS, cfg.link);
		s.slow_free.assign(MROCE_MAX_PATHS, 0);
		s.last_arrival.assign(MROCE_MAX_PATHS, 0);
		mroce_cfg_default(&cc);
		mroce_cfg_mtu(&cc, cfg.mtu, false);
		cc.paths = cfg.paths;
		cc.probe_floor = cfg.probe_floor;
		cc.ack_delay_max = cfg.coalesce + 2 * cfg.copy_ns;
		s.mem.assign((mroce_conn_mem() + 7) / 8, 0);
		s.txmem = std::make_unique<u64[]>(mroce_txmem_size(MROCE_WINDOW, MROCE_INIT_PATHS) / 8 + 1);
		mroce_conn_init(&s.c, s.mem.data(), s.txmem.get(), &kOps, &cc, 1 + i, rng());
		mroce_conn_peer_limits(&s.c, cfg.window, cfg.max_paths);
	}
}

World::~World()
{
	for (Side &s : side) {
		for (auto &[handle, e] : s.ends) {
			if (e->unbound)
				continue;
			mroce_stream_stop(&e->s, now);
			mroce_stream_drop_held(&e->s);
		}
	}
	for (Side &s : side)
		for (u32 i = 0; i < MROCE_HOLD_POOL; i++)
			delete static_cast<Bytes *>(s.c.hold_mem[i].held ?
						    s.c.hold_mem[i].payload : nullptr);
}

void Side::grow()
{
	if (grow_fails) {
		grow_fails--;
		mroce_conn_no_growth(&c, w->now);
		return;
	}
	u32 window = c.want_window, paths = c.want_paths;
	auto more = std::make_unique<u64[]>(mroce_txmem_size(window, paths) / 8 + 1);
	mroce_txmem_prepare(more.get(), window, paths);
	void *old = mroce_conn_grow(&c, more.get(), window, paths);

	EXPECT_EQ(old, txmem.get());
	/* whoever still looks there is found out by the sanitizer */
	txmem = std::move(more);
	grown++;
	pump();
}

void World::up_loopback()
{
	Side &s = side[0];

	s.peer = &s;
	mroce_conn_up(&s.c, s.c.cid, 2 * cfg.link.delay / kUs, now);
	s.pump();
}

void World::up()
{
	u32 rtt_us = (2 * cfg.link.delay + cfg.coalesce) / kUs;

	for (Side &s : side) {
		u32 cpn = cfg.wrap ? 0xffffff00U : s.c.cpn_next;

		mroce_conn_up(&s.c, s.peer->c.cid, rtt_us, now);
		if (!cfg.wrap)
			continue;
		s.c.cpn_base = cpn;
		s.c.cpn_next = cpn;
		s.peer->c.rx_base = cpn;
		s.c.batch_serial = 0xfffffff0U;
		s.c.ack_serial = 0xfffffff0U;
		s.peer->c.peer_ack_serial = 0xfffffff0U;
		for (u32 i = 0; i < s.c.npaths; i++) {
			mroce_path &p = s.c.paths[i];

			p.next_seq = 0xffffffc0U;
			p.acked_high = p.next_seq - 1;
			p.round_seq = p.next_seq;
		}
	}
	for (Side &s : side)
		s.pump();
}

End *World::make_end(Side &s, u32 qpn, u32 rqpn, u32 depth)
{
	u32 handle = (s.ends.empty() ? 0 : s.ends.rbegin()->first) + 1 + rng() % 5;
	auto e = std::make_unique<End>();
	End *p = e.get();

	p->side = &s;
	p->qpn = qpn;
	p->sq.resize(depth);
	p->resp.resize(cfg.max_rd);
	p->s.owner = p;
	p->s.sq = p->sq.data();
	p->s.sq_stride = sizeof(Wqe);
	p->s.sq_mask = depth - 1;
	p->s.resp = p->resp.data();
	p->s.resp_mask = cfg.max_rd - 1;
	p->s.attr.timeout_ns = 0;
	p->s.attr.retry_cnt = 7;
	p->s.attr.rnr_retry = 7;
	p->s.attr.rnr_delay_us = 100;
	p->s.attr.max_rd_atomic = cfg.max_rd;
	p->s.attr.max_dest_rd_atomic = cfg.max_rd;
	mroce_stream_init(&p->s, &s.c, qpn, rqpn, handle, (u32)rng());
	if (cfg.wrap) {
		p->s.next_msn = p->s.acked_msn = 0xfffffff0U;
		p->s.rx_msn = p->s.exec_msn = 0xfffffff0U;
		p->s.next_rqn = p->s.exec_rqn = p->rq_first = p->rq_posted = 0xfffffff8U;
		p->head = p->s.sq_tail = p->s.sq_next = p->s.sq_seen = 0xfffffff4U;
		p->s.resp_tail = p->s.resp_next = p->s.resp_head = 0xfffffffdU;
	}
	s.ends[handle] = std::move(e);
	return p;
}

std::pair<End *, End *> World::connect(u32 depth)
{
	u32 a = next_qpn_++, b = next_qpn_++;
	End *x = make_end(side[0], a, b, depth), *y = make_end(side[1], b, a, depth);

	x->peer = y;
	y->peer = x;
	return { x, y };
}

bool World::chance(double p)
{
	return p > 0 && (rng() >> 11) * 0x1p-53 < p;
}

void World::set_link(const std::function<void(LinkCfg &)> &f)
{
	for (Side &s : side)
		for (LinkCfg &l : s.links)
			f(l);
}

void World::at(u64 when, std::function<void()> f)
{
	queue_.push({ when, serial_++, std::move(f) });
}

bool World::step()
{
	if (queue_.empty())
		return false;
	Event e = queue_.top();

	queue_.pop();
	same_time_ = e.when == now ? same_time_ + 1 : 0;
	now = e.when;
	e.f();
	events++;
	if (same_time_ > 200000) {
		ADD_FAILURE() << "time stands still";
		return false;
	}
	if (cfg.check_every && events % cfg.check_every == 0)
		for (Side &s : side)
			check_invariants(s);
	return !testing::Test::HasFatalFailure();
}

bool World::run(const std::function<bool()> &pred, u64 limit)
{
	u64 end = now + limit;

	while (!pred()) {
		if (queue_.empty() || queue_.top().when > end || testing::Test::HasFailure())
			return false;
		if (!step())
			return false;
	}
	return true;
}

void World::run_for(u64 ns)
{
	u64 end = now + ns;

	while (!queue_.empty() && queue_.top().when <= end && !testing::Test::HasFailure())
		if (!step())
			return;
	now = end;
}

bool World::drain(u64 limit)
{
	return run([this] {
		for (Side &s : side) {
			if (s.c.cpn_base != s.c.cpn_next || s.copies || !s.arrived.empty())
				return false;
			for (auto &[handle, e] : s.ends)
				if (!e->unbound && (e->s.pins || (!e->failed &&
				    e->s.state != MROCE_STREAM_ERROR && e->s.sq_tail != e->head)))
					return false;
		}
		return true;
	}, limit);
}

} /* namespace sim */
