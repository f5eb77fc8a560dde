// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Planes. A device has up to eight netdevs; a connection has a way for each of ours, to one of the
 * peer's. MR-12.*
 *
 *	PLANES ----------------->	all planes of its sender, on each change, until acknowledged
 *	PROBE (nonce), padded -->	does this pair of planes let packets through?
 *	<--------- PROBE (nonce)	the reply: the way is up, and carries data from now on
 *
 * A way goes down when its netdev has no carrier or no route, when the peer says that its plane
 * is down, or when it is silent while others are not (core/way.c). Then it is probed until it
 * answers; by and by to another plane of the peer. Addresses come from PLANES, but nothing
 * is sent to one before it answered, except for probes, which are few.
 */
#include <linux/in.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include <metaroce/serial.h>

#include "internal.h"

#define PROBE_PAUSE	(80 * NSEC_PER_MSEC)
#define PROBE_FIRST	(10 * NSEC_PER_MSEC)	/* the least between two */
#define PROBE_IDLE	NSEC_PER_SEC		/* ... on a connection that nobody uses */
#define PROBE_TURN	4			/* three probes, then another plane of the peer */
#define PLANES_FIRST	(20 * NSEC_PER_MSEC)
#define PLANES_MAX	NSEC_PER_SEC
#define LASTS		NSEC_PER_SEC		/* a way that went down before that flaps */
#define MAX_FLAPS	5
#define CARRIES		(100 * NSEC_PER_MSEC)	/* without news from a way that it is relied on */

static void set_route(struct mroce_econn *econn, struct mroce_route *rt,
		      const struct mroce_addr *src, const struct mroce_addr *dst, int oif)
{
	mroce_route_drop(rt);
	memset(rt, 0, sizeof(*rt));
	rt->src = *src;
	rt->dst_addr = *dst;
	rt->tclass = econn->tclass;
	rt->hop_limit = econn->hop_limit;
	rt->oif = oif;
}

/* A new connection: one way, not up yet. */
void mroce_ways_init(struct mroce_econn *econn)
{
	struct mroce_eway *w = &econn->ways[0];
	int i;

	for (i = 0; i < MROCE_MAX_WAYS; i++)
		econn->ways[i].ask_at = MROCE_NEVER;
	econn->nways = 1;
	w->src = econn->src;
	w->dst = econn->dst;
	set_route(econn, &w->route, &w->src, &w->dst, w->dst.scope_id);
	set_route(econn, &w->small, &w->src, &w->dst, w->dst.scope_id);
}

/* Nobody uses the connection any more. Process context. */
void mroce_ways_exit(struct mroce_econn *econn)
{
	struct mroce_txq *txqs[MROCE_MAX_WAYS];
	int i;

	for (i = 0; i < MROCE_MAX_WAYS; i++) {
		mroce_route_drop(&econn->ways[i].route);
		mroce_route_drop(&econn->ways[i].small);
		txqs[i] = econn->ways[i].txq;
	}
	mroce_txqs_close(txqs, MROCE_MAX_WAYS);
	kfree_rcu(rcu_dereference_protected(econn->peer, true), rcu);
}

static void rearm(struct mroce_econn *econn, u64 at, u64 now)
{
	mroce_assert_conn(econn);
	econn->ways_at = min(econn->ways_at, at);
	mroce_econn_arm(econn, now);
}

/* The planes that one side or the other has may have changed. */
void mroce_ways_changed(struct mroce_econn *econn)
{
	if (econn->is_self || READ_ONCE(econn->gone) ||
	    READ_ONCE(econn->conn.state) != MROCE_CONN_UP ||
	    (!READ_ONCE(econn->dev->has_planes) && !rcu_access_pointer(econn->peer)))
		return;
	refcount_inc(&econn->refs);
	if (!queue_work(mroce_wq, &econn->ways_work))
		refcount_dec(&econn->refs);
}

void mroce_ways_start(struct mroce_econn *econn, u64 now)
{
	mroce_assert_conn(econn);
	econn->ways[0].state = MROCE_EWAY_UP;
	econn->ways[0].since = now;
	econn->ways[0].oif = econn->dst.scope_id;
}

/* ------------------------------------------------------------------------ up and down */

/* Whoever names addresses does not set how often they are probed. */
static u64 ask_soon(const struct mroce_eway *w, u64 now)
{
	return w->asked_at ? max(now, w->asked_at + PROBE_FIRST) : now;
}

/* The core has it down already, or keeps it as its last one. */
static void went_down(struct mroce_econn *econn, struct mroce_eway *w, u64 now)
{
	mroce_assert_conn(econn);
	w->flaps = now < w->since + LASTS ? min(w->flaps + 1, MAX_FLAPS) : 0;
	w->state = MROCE_EWAY_ASKING;
	w->since = now;
	w->tries = 0;
	w->ask_at = ask_soon(w, now);
	rearm(econn, w->ask_at, now);
}

/* Return: whether it was up, and others are. */
static bool take_down(struct mroce_econn *econn, u8 way, u64 now)
{
	if (!mroce_conn_way_down(&econn->conn, way, now))
		return false;
	went_down(econn, &econn->ways[way], now);
	return true;
}

/* Its route fails. */
void mroce_ways_failed(struct mroce_econn *econn, u8 way, u64 now)
{
	bool down;

	spin_lock_bh(&econn->lock);
	down = econn->ways[way].state == MROCE_EWAY_UP;
	if (down && !take_down(econn, way, now))
		went_down(econn, &econn->ways[way], now);
	spin_unlock_bh(&econn->lock);
	if (down)
		mroce_ways_changed(econn);	/* tells the peer, if it is our plane */
}

/* The core took it down: nothing was heard of what left by it. */
void mroce_ways_silent(struct mroce_econn *econn, u8 way)
{
	went_down(econn, &econn->ways[way], mroce_now());
}

/* Is there another one that packets go by? */
static bool another_carries(const struct mroce_econn *econn, u8 way, u64 now)
{
	u8 i;

	for (i = 0; i < MROCE_MAX_WAYS; i++)
		if (i != way && econn->ways[i].state == MROCE_EWAY_UP &&
		    econn->conn.ways[i].ack_at + CARRIES > now)
			return true;
	return false;
}

/* One that flaps has to wait, longer each time, unless it is needed. */
static u64 held_until(const struct mroce_eway *w)
{
	return w->flaps > 1 ? w->since + ((u64)50 * NSEC_PER_MSEC << w->flaps) : 0;
}

static void answered(struct mroce_econn *econn, u8 way, u64 now)
{
	struct mroce_eway *w = &econn->ways[way];
	u64 rtt = div_u64(now - min(now, w->asked_at), NSEC_PER_USEC);
	u8 i;

	mroce_assert_conn(econn);
	if (now < held_until(w) && another_carries(econn, way, now)) {
		w->tries = 0;
		return;
	}
	w->state = MROCE_EWAY_UP;
	w->since = now;
	w->tries = 0;
	w->ask_at = MROCE_NEVER;
	mroce_conn_way_up(&econn->conn, way, clamp_t(u64, rtt, 1, USEC_PER_SEC), now);
	/* one that the core kept only because there was no other */
	for (i = 0; i < MROCE_MAX_WAYS; i++)
		if (i != way && econn->ways[i].state != MROCE_EWAY_UP)
			mroce_conn_way_down(&econn->conn, i, now);
}

/* ------------------------------------------------------------------------ who goes where */

struct own_plane {
	bool there;
	struct mroce_plane_info info;
};

/* Ours, as they are now; with addresses of the connection's kind. */
static void own_planes(struct mroce_econn *econn, struct own_plane *own)
{
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++)
		own[i].there = mroce_plane_info(econn->dev, i, &econn->src, &own[i].info);
	/* whatever addresses its netdev has: this one the connection was opened with */
	own[0].there = true;
	own[0].info.addr = econn->src;
}

/*
 * The plane of the peer that our plane @way goes to: the one of its number, or, if that is not
 * there or does not answer, one of the others in turn. The first one, whose route nobody bound to
 * a netdev, does not stray: it would only use the wire of another. Return: whether it strays.
 */
static bool choose(struct mroce_econn *econn, u8 way, struct mroce_peer_plane *to)
{
	const struct mroce_peer_planes *peer =
		rcu_dereference_protected(econn->peer, lockdep_is_held(&econn->lock));
	u32 i, first = 0, n = 0, turn = econn->ways[way].tries / PROBE_TURN;
	u32 live[MROCE_MAX_PLANES];
	int best = -1;

	mroce_assert_conn(econn);
	for (i = 0; peer && i < peer->count; i++) {
		if (!peer->plane[i].up)
			continue;
		if (peer->plane[i].index <= way && peer->plane[i].index > best) {
			best = peer->plane[i].index;
			first = n;
		}
		live[n++] = i;
	}
	if (!n) {
		to->index = 0;
		to->up = true;
		to->addr = econn->dst;
		return false;
	}
	if (best == way && !way)
		turn = 0;
	*to = peer->plane[live[(first + turn) % n]];
	return best == way && to->index != way;
}

static bool same_ip(const struct mroce_addr *a, const struct mroce_addr *b)
{
	if (a->family != b->family)
		return false;
	return a->family == MROCE_AF_INET ? a->v4 == b->v4 : !memcmp(a->v6, b->v6, sizeof(a->v6));
}

static bool link_local(const struct mroce_addr *a)
{
	return a->family == MROCE_AF_INET6 &&
	       ipv6_addr_type((const struct in6_addr *)a->v6) & IPV6_ADDR_LINKLOCAL;
}

/* Our netdev by which a way to @to leaves; 0: wherever routes lead. */
static int way_oif(const struct mroce_econn *econn, u8 way, const struct own_plane *own,
		   const struct mroce_peer_plane *to)
{
	return way || to->index ? own->info.ifindex : econn->dst.scope_id;
}

/* Gives a way that is AIMING new ends. */
static void aim(struct mroce_econn *econn, u8 way, const struct own_plane *own,
		const struct mroce_peer_plane *to)
{
	int oif = way_oif(econn, way, own, to);
	struct mroce_eway *w = &econn->ways[way];
	struct mroce_addr dst = to->addr;
	u64 now;

	if (link_local(&dst))
		dst.scope_id = own->info.ifindex;
	mroce_econn_pump_claim(econn);
	if (!w->txq)
		w->txq = mroce_txq_alloc(mroce_econn_wakeup, econn, MROCE_TXQ_LIMIT / 2);
	set_route(econn, &w->route, &own->info.addr, &dst, oif);
	spin_lock_bh(&econn->ack_lock);
	set_route(econn, &w->small, &own->info.addr, &dst, oif);
	spin_unlock_bh(&econn->ack_lock);
	spin_lock_bh(&econn->lock);
	now = mroce_now();
	w->src = own->info.addr;
	w->dst = dst;
	w->oif = oif;
	w->peer_plane = to->index;
	w->state = MROCE_EWAY_NONE;
	if (w->txq && !econn->gone) {
		w->state = MROCE_EWAY_ASKING;
		w->ask_at = own->info.up ? ask_soon(w, now) : MROCE_NEVER;
		WRITE_ONCE(econn->nways, max_t(u32, econn->nways, way + 1));
		rearm(econn, w->ask_at, now);
	}
	spin_unlock_bh(&econn->lock);
	mroce_econn_pump_release(econn);
}

/* Our plane is gone. */
static void way_gone(struct mroce_econn *econn, u8 way, u64 now)
{
	struct mroce_eway *w = &econn->ways[way];

	if (w->state == MROCE_EWAY_UP && !take_down(econn, way, now))
		went_down(econn, w, now);
	/* what the core keeps as its last one is not NONE: nothing is sent by it */
	w->state = econn->conn.ways_up >> way & 1 ? MROCE_EWAY_ASKING : MROCE_EWAY_NONE;
	w->ask_at = MROCE_NEVER;
}

static void settle_way(struct mroce_econn *econn, u8 way, const struct own_plane *own)
{
	struct mroce_eway *w = &econn->ways[way];
	struct mroce_peer_plane to;
	u64 now = mroce_now();
	bool same, strays;

	spin_lock_bh(&econn->lock);
	if (!own->there) {
		way_gone(econn, way, now);
		spin_unlock_bh(&econn->lock);
		return;
	}
	if (w->state == MROCE_EWAY_UP && !own->info.up && !take_down(econn, way, now))
		went_down(econn, w, now);
	strays = choose(econn, way, &to);
	same = w->txq && w->state != MROCE_EWAY_NONE && same_ip(&w->src, &own->info.addr) &&
	       w->oif == way_oif(econn, way, own, &to) && same_ip(&w->dst, &to.addr);
	/* one that works where it strayed to stays until the peer's planes change */
	if (w->state == MROCE_EWAY_UP && w->strayed && same_ip(&w->src, &own->info.addr) &&
	    w->oif == own->info.ifindex)
		same = true;
	if (same) {
		if (w->state == MROCE_EWAY_ASKING && !own->info.up) {
			w->ask_at = MROCE_NEVER;
		} else if (w->state == MROCE_EWAY_ASKING && w->ask_at == MROCE_NEVER) {
			w->ask_at = ask_soon(w, now);
			rearm(econn, w->ask_at, now);
		}
		spin_unlock_bh(&econn->lock);
		return;
	}
	if (w->state == MROCE_EWAY_UP && !take_down(econn, way, now))
		went_down(econn, w, now);
	if (w->state == MROCE_EWAY_NONE)
		w->since = now;
	w->strayed = strays;
	w->state = MROCE_EWAY_AIMING;
	w->ask_at = MROCE_NEVER;
	spin_unlock_bh(&econn->lock);
	aim(econn, way, own, &to);
}

/* --------------------------------------------------------------------------- PLANES */

static bool same_planes(const struct mroce_planes *a, const struct mroce_planes *b)
{
	u32 i;

	for (i = 0; i < a->count && i < b->count; i++)
		if (a->plane[i].index != b->plane[i].index || a->plane[i].up != b->plane[i].up ||
		    memcmp(a->plane[i].gid, b->plane[i].gid, sizeof(a->plane[i].gid)) != 0)
			return false;
	return a->count == b->count;
}

/* Return: whether there is news for the peer. */
static bool say(struct mroce_econn *econn, const struct own_plane *own, u64 now)
{
	struct mroce_planes m = {};
	union ib_gid gid;
	bool news;
	u32 i;

	for (i = 0; i < MROCE_MAX_PLANES; i++) {
		if (!own[i].there)
			continue;
		m.plane[m.count].index = i;
		m.plane[m.count].up = own[i].info.up;
		mroce_addr_to_gid(&own[i].info.addr, &gid);
		memcpy(m.plane[m.count].gid, gid.raw, sizeof(gid.raw));
		m.count++;
	}
	spin_lock_bh(&econn->lock);
	m.serial = econn->said.serial;
	m.dcid = econn->conn.peer_cid;
	m.scid = econn->conn.cid;
	/* one plane needs no words, unless there have been more */
	news = (m.serial || m.count > 1) && !same_planes(&m, &econn->said);
	if (news) {
		m.serial++;
		econn->said = m;
		econn->planes_pause = PLANES_FIRST;
		econn->planes_at = now;
		rearm(econn, now, now);
	}
	spin_unlock_bh(&econn->lock);
	return news;
}

/* By two ways: one of them may be the one that it says is down. */
static void send_planes(struct mroce_econn *econn, const struct mroce_planes *m)
{
	u8 buf[MROCE_PLANES_MAX_LEN], up = READ_ONCE(econn->conn.ways_up), i;
	unsigned int len = mroce_wire_put_planes(m, buf), n = 0;

	for (i = 0; up && n < 2; i++, up >>= 1) {
		if (!(up & 1))
			continue;
		mroce_econn_send_by(econn, i, buf, len);
		n++;
	}
}

void mroce_ways_work(struct work_struct *work)
{
	struct mroce_econn *econn = container_of(work, struct mroce_econn, ways_work);
	struct own_plane own[MROCE_MAX_PLANES];
	u8 i;

	if (!READ_ONCE(econn->gone) && READ_ONCE(econn->conn.state) == MROCE_CONN_UP) {
		own_planes(econn, own);
		for (i = 0; i < MROCE_MAX_PLANES; i++)
			if (own[i].there || econn->ways[i].state != MROCE_EWAY_NONE)
				settle_way(econn, i, &own[i]);
		say(econn, own, mroce_now());
	}
	mroce_econn_put(econn);
}

/* ------------------------------------------------------------------------------ time */

static void send_probe(struct mroce_econn *econn, u8 way, u64 nonce)
{
	bool v6 = econn->dst.family == MROCE_AF_INET6;
	unsigned int len = READ_ONCE(econn->mtu) - (v6 ? 48 : 28);
	struct mroce_probe m = {
		.dcid = econn->conn.peer_cid,
		.scid = econn->conn.cid,
		.nonce = nonce,
	};
	u8 *buf = kzalloc(len, GFP_ATOMIC);

	if (!buf)
		return;
	mroce_wire_put_probe(MROCE_T_PROBE, &m, buf);
	mroce_econn_send_by(econn, way, buf, len);
	kfree(buf);
}

void mroce_ways_timeout(struct mroce_econn *econn, u64 now)
{
	bool say_it = false, turn = false;
	u64 nonce[MROCE_MAX_WAYS], pause;
	struct mroce_planes m;
	u8 i, due = 0;

	spin_lock_bh(&econn->lock);
	econn->ways_at = MROCE_NEVER;
	/* the next one is not sent before the answer to this one may have come */
	pause = econn->conn.alive_at + NSEC_PER_SEC < now ? PROBE_IDLE : PROBE_PAUSE;
	pause = max_t(u64, pause, 2 * econn->conn.base_us * (u64)NSEC_PER_USEC);
	for (i = 0; i < MROCE_MAX_WAYS; i++) {
		struct mroce_eway *w = &econn->ways[i];

		if (w->state != MROCE_EWAY_ASKING)
			continue;
		if (w->ask_at <= now && ++w->tries % PROBE_TURN == 0) {
			/* no answer to three: ways_work may take another plane */
			turn = true;
			w->ask_at = now + PROBE_FIRST;
		} else if (w->ask_at <= now) {
			due |= BIT(i);
			w->nonce = get_random_u64();
			nonce[i] = w->nonce;
			w->asked_at = now;
			w->ask_at = now + pause;
		}
		econn->ways_at = min(econn->ways_at, w->ask_at);
	}
	if (econn->planes_at <= now) {
		say_it = true;
		m = econn->said;
		econn->planes_at = now + econn->planes_pause;
		econn->planes_pause = min_t(u64, 2 * econn->planes_pause, PLANES_MAX);
	}
	econn->ways_at = min(econn->ways_at, econn->planes_at);
	mroce_econn_arm(econn, now);
	spin_unlock_bh(&econn->lock);

	if (say_it)
		send_planes(econn, &m);
	for (i = 0; due; i++, due >>= 1)
		if (due & 1)
			send_probe(econn, i, nonce[i]);
	if (turn)
		mroce_ways_changed(econn);
}

/* ------------------------------------------------------------------------- receiving */

bool mroce_ways_known(struct mroce_econn *econn, const struct mroce_addr *src,
		      const struct mroce_addr *dst)
{
	const struct mroce_peer_planes *peer;
	u32 nways = READ_ONCE(econn->nways), i;
	bool known = mroce_addr_equal(&econn->dst, src);

	if (known && mroce_addr_equal(&econn->src, dst)) {
		if (nways > 1)
			WRITE_ONCE(econn->ack_way, 0);
		return true;
	}
	if (econn->is_self)
		return false;
	rcu_read_lock();
	peer = rcu_dereference(econn->peer);
	for (i = 0; !known && peer && i < peer->count; i++)
		known = same_ip(&peer->plane[i].addr, src);
	rcu_read_unlock();
	/* torn ends of a way that is just being aimed match nothing, or make a poorer choice */
	for (i = 0; known && i < nways; i++) {
		if (!same_ip(&econn->ways[i].src, dst))
			continue;
		WRITE_ONCE(econn->ack_way, i);
		break;
	}
	return known;
}

/* Return: false if nothing may be sent there. */
static bool plane_addr(const struct mroce_addr *like, const u8 *gid, struct mroce_addr *addr)
{
	struct in6_addr in6;

	memcpy(&in6, gid, sizeof(in6));		/* aligned */
	memset(addr, 0, sizeof(*addr));
	addr->family = like->family;
	if (like->family == MROCE_AF_INET) {
		addr->v4 = in6.s6_addr32[3];
		return ipv6_addr_v4mapped(&in6) && !ipv4_is_multicast(addr->v4) &&
		       !ipv4_is_lbcast(addr->v4) && !ipv4_is_zeronet(addr->v4) &&
		       !ipv4_is_loopback(addr->v4);
	}
	memcpy(addr->v6, gid, sizeof(addr->v6));
	return !ipv6_addr_v4mapped(&in6) && !ipv6_addr_any(&in6) && !ipv6_addr_loopback(&in6) &&
	       !ipv6_addr_is_multicast(&in6);
}

static struct mroce_peer_planes *read_planes(struct mroce_econn *econn,
					     const struct mroce_planes *m)
{
	struct mroce_peer_planes *peer = kzalloc(sizeof(*peer), GFP_ATOMIC);
	u32 i;

	if (!peer)
		return NULL;
	peer->serial = m->serial;
	for (i = 0; i < m->count; i++) {
		struct mroce_peer_plane *p = &peer->plane[peer->count];

		if (!plane_addr(&econn->dst, m->plane[i].gid, &p->addr))
			continue;
		p->index = m->plane[i].index;
		p->up = m->plane[i].up;
		peer->count++;
	}
	return peer;
}

/* Ways to planes that the peer says are down, or that it has no more; others begin anew. */
static void peer_planes_down(struct mroce_econn *econn, const struct mroce_peer_planes *peer,
			     u64 now)
{
	u32 i, k;

	for (i = 0; i < econn->nways; i++) {
		struct mroce_eway *w = &econn->ways[i];
		bool there = false;

		w->strayed = false;
		if (w->state == MROCE_EWAY_ASKING)
			w->tries = 0;
		if (w->state != MROCE_EWAY_UP)
			continue;
		for (k = 0; k < peer->count; k++)
			there |= peer->plane[k].up && same_ip(&peer->plane[k].addr, &w->dst);
		if (!there)
			take_down(econn, i, now);
	}
}

static void rx_planes(struct mroce_econn *econn, const struct mroce_planes *m)
{
	struct mroce_peer_planes *peer = read_planes(econn, m), *old;
	u8 buf[MROCE_COMMON_LEN];
	u64 now = mroce_now();
	unsigned int len;
	bool news;

	if (!peer)
		return;		/* it is said again */
	spin_lock(&econn->lock);
	old = rcu_dereference_protected(econn->peer, lockdep_is_held(&econn->lock));
	news = !econn->gone && (!old || mroce_before32(old->serial, m->serial));
	if (news) {
		rcu_assign_pointer(econn->peer, peer);
		peer_planes_down(econn, peer, now);
	}
	spin_unlock(&econn->lock);
	if (!news) {
		kfree(peer);
	} else {
		if (old)
			kfree_rcu(old, rcu);
		mroce_ways_changed(econn);
		mroce_econn_pump(econn, now);
	}
	len = mroce_wire_put_planes_ack(m->scid, m->dcid, m->serial, buf);
	mroce_econn_send_small(econn, buf, len);
}

static void rx_planes_ack(struct mroce_econn *econn, u32 serial)
{
	spin_lock(&econn->lock);
	if (serial == econn->said.serial)
		econn->planes_at = MROCE_NEVER;
	spin_unlock(&econn->lock);
}

/*
 * The reply goes where the probe came from, whatever that is: its sender knows both ids, and it is
 * no longer than the probe.
 */
static void rx_probe(struct mroce_net_port *np, struct mroce_probe *m,
		     const struct mroce_addr *src, const struct mroce_addr *dst, int ifindex)
{
	struct mroce_econn *econn = mroce_econn_find(m->dcid);
	struct mroce_route rt = { .src = *dst, .dst_addr = *src, .oif = src->scope_id };
	u8 buf[MROCE_PROBE_LEN];

	if (!econn)
		return;
	if (econn->dev->np != np || econn->is_self || econn->conn.state != MROCE_CONN_UP ||
	    econn->conn.peer_cid != m->scid) {
		mroce_count(econn->dev, MROCE_CNT_RX_WRONG_SOURCE);
		goto out;
	}
	rt.tclass = econn->tclass;
	rt.hop_limit = econn->hop_limit;
	if (mroce_plane_index(econn->dev, ifindex) > 0)
		rt.oif = ifindex;
	swap(m->dcid, m->scid);
	mroce_wire_put_probe(MROCE_T_PROBE_REPLY, m, buf);
	mroce_send_once(econn->dev, &rt, buf, sizeof(buf));
out:
	mroce_econn_put(econn);
}

static void rx_reply(struct mroce_net_port *np, const struct mroce_probe *m,
		     const struct mroce_addr *src, const struct mroce_addr *dst)
{
	struct mroce_econn *econn = mroce_econn_find(m->dcid);
	u64 now = mroce_now();
	bool ours = false;
	u32 i;

	if (!econn)
		return;
	spin_lock(&econn->lock);
	for (i = 0; i < econn->nways && !ours && econn->conn.peer_cid == m->scid; i++) {
		struct mroce_eway *w = &econn->ways[i];

		ours = econn->dev->np == np && w->state == MROCE_EWAY_ASKING && w->asked_at &&
		       w->nonce == m->nonce && same_ip(&w->dst, src) && same_ip(&w->src, dst);
		if (ours)
			answered(econn, i, now);
	}
	spin_unlock(&econn->lock);
	if (ours)
		mroce_econn_pump(econn, now);
	mroce_econn_put(econn);
}

void mroce_ways_rx(struct mroce_net_port *np, int type, const u8 *data, unsigned int len,
		   const struct mroce_addr *src, const struct mroce_addr *dst, int ifindex)
{
	struct mroce_econn *econn;
	struct mroce_planes planes;
	struct mroce_probe probe;

	switch (type) {
	case MROCE_T_PLANES:
		if (mroce_wire_get_planes(&planes, data, len))
			break;
		econn = mroce_hs_between(np, planes.dcid, planes.scid, src, dst);
		if (!econn)
			return;
		rx_planes(econn, &planes);
		mroce_econn_put(econn);
		return;
	case MROCE_T_PLANES_ACK:
		econn = mroce_hs_between(np, mroce_wire_dcid(data), mroce_wire_bare_scid(data),
					 src, dst);
		if (!econn)
			return;
		rx_planes_ack(econn, mroce_wire_planes_serial(data));
		mroce_econn_put(econn);
		return;
	default:
		if (mroce_wire_get_probe(&probe, data, len))
			break;
		if (type == MROCE_T_PROBE)
			rx_probe(np, &probe, src, dst, ifindex);
		else
			rx_reply(np, &probe, src, dst);
		return;
	}
	mroce_count_at(np, dst, MROCE_CNT_RX_MALFORMED);
}
