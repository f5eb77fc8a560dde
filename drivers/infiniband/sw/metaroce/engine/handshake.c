// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How two devices get a connection. MR-3.*
 *
 *	asks                               answers
 *	HELLO (padded to the MTU) ------>  nothing is kept
 *	          <--------------------- CHALLENGE (cookie over addresses and time)
 *	HELLO with the cookie ---------->  makes its side
 *	          <--------------------- WELCOME
 *
 * Both may ask at once: the device with the lower id goes on asking, the other one answers. An
 * answer is repeated when its question is. A spoofed HELLO costs one CHALLENGE, no larger than
 * itself, and no memory.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "internal.h"

#define HELLO_FIRST	(20 * NSEC_PER_MSEC)	/* first pause; doubles */
#define HELLO_MAX	(2000ULL * NSEC_PER_MSEC)
#define COOKIE_LIFE	(8ULL * NSEC_PER_SEC)
#define UNKNOWN_PAUSE	(10 * NSEC_PER_MSEC)
#define VERIFY_PAUSE	(50 * NSEC_PER_MSEC)

struct answer {
	struct work_struct work;
	struct mroce_dev *dev;
	struct mroce_hello hello;
	struct mroce_addr src, dst;
	u8 tclass;
};

/* Not mroce_wq: an answer may wait for what is queued there. */
static struct workqueue_struct *answer_wq;
static u64 cookie_key[2];
static atomic_t answering;		/* struct answer that exist */
static atomic64_t unknown_at;

/* ------------------------------------------------------------------------ cookies */

static u64 make_cookie(const struct mroce_addr *peer, const struct mroce_hello *m, u64 slot)
{
	struct {
		struct mroce_addr peer;
		u64 device_id;
		u64 slot;
		u32 scid;
		u32 epoch;
	} in = {
		.peer = *peer,
		.device_id = m->device_id,
		.slot = slot,
		.scid = m->scid,
		.epoch = m->epoch,
	};

	return mroce_siphash(&in, sizeof(in), cookie_key) ?: 1;
}

static bool cookie_good(const struct mroce_addr *peer, const struct mroce_hello *m)
{
	u64 slot = div64_u64(mroce_now(), COOKIE_LIFE);

	return m->cookie == make_cookie(peer, m, slot) ||
	       m->cookie == make_cookie(peer, m, slot - 1);
}

/* ------------------------------------------------------------------------- sending */

static void fill(struct mroce_hello *m, const struct mroce_dev *dev, u8 type, u32 scid, u32 dcid,
		 u8 tclass, const struct mroce_addr *src, const struct mroce_addr *dst)
{
	union ib_gid gid;

	memset(m, 0, sizeof(*m));
	m->type = type;
	m->version_min = MROCE_WIRE_VERSION;
	m->version_max = MROCE_WIRE_VERSION;
	m->dscp = tclass >> 2;
	m->dcid = dcid;
	m->scid = scid;
	m->epoch = dev->epoch;
	m->device_id = dev->device_id;
	m->window = MROCE_MAX_WINDOW;
	m->max_paths = MROCE_MAX_PATHS;
	mroce_addr_to_gid(src, &gid);
	memcpy(m->src_gid, gid.raw, sizeof(m->src_gid));
	mroce_addr_to_gid(dst, &gid);
	memcpy(m->dst_gid, gid.raw, sizeof(m->dst_gid));
}

static void send_to(struct mroce_dev *dev, const struct mroce_addr *src,
		    const struct mroce_addr *dst, u8 tclass, const u8 *data, unsigned int len)
{
	struct mroce_route rt = {
		.src = *src,
		.dst_addr = *dst,
		.tclass = tclass,
		.oif = dst->scope_id,
	};

	mroce_send_once(dev, &rt, data, len);
}

/* Between the addresses of the handshake, whatever ways there are by now. */
static struct mroce_route hello_route(const struct mroce_econn *econn)
{
	return (struct mroce_route) {
		.src = econn->src,
		.dst_addr = econn->dst,
		.tclass = econn->tclass,
		.hop_limit = econn->hop_limit,
		.oif = econn->dst.scope_id,
	};
}

/* BH disabled. */
u16 mroce_hs_route_mtu(const struct mroce_econn *econn)
{
	struct mroce_route rt = hello_route(econn);
	u16 mtu = 1280;

	if (!mroce_route_refresh(econn->dev->np, &rt))
		mtu = rt.mtu;
	mroce_route_drop(&rt);
	return mtu;
}

/* What a HELLO is padded to: less and less, should large packets not come through. */
static u16 hello_mtu(const struct mroce_econn *econn, u16 route_mtu)
{
	bool v6 = econn->dst.family == MROCE_AF_INET6;
	u16 floor = v6 ? 1280 : 576;
	u16 mtu = min_t(u16, route_mtu, MROCE_MAX_MTU);

	if (econn->hs_tries > 6)
		mtu = floor;
	else if (econn->hs_tries > 4)
		mtu = min_t(u16, mtu, 1280);
	else if (econn->hs_tries > 2)
		mtu = min_t(u16, mtu, 1500);
	return max(mtu, floor);
}

static void send_hello(struct mroce_econn *econn)
{
	unsigned int ip = econn->dst.family == MROCE_AF_INET6 ? 48 : 28;
	struct mroce_route rt = hello_route(econn);
	struct mroce_hello m;
	u16 mtu;
	u8 *buf;

	if (mroce_join_waits(econn))
		return;
	mtu = hello_mtu(econn, mroce_hs_route_mtu(econn));
	buf = kzalloc(mtu - ip, GFP_ATOMIC);
	if (!buf)
		return;		/* the next try may find memory */
	mroce_join_choose(econn);
	fill(&m, econn->dev, MROCE_T_HELLO, econn->conn.cid, READ_ONCE(econn->hs_join),
	     econn->tclass, &econn->src, &econn->dst);
	m.cookie = econn->hs_cookie;
	m.mtu = mtu;
	mroce_wire_put_hello(&m, buf);
	mroce_count(econn->dev, MROCE_CNT_HELLO_TX);
	mroce_send_once(econn->dev, &rt, buf, mtu - ip);
	kfree(buf);
}

void mroce_hs_start(struct mroce_econn *econn, u64 now)
{
	mroce_assert_conn(econn);
	econn->hs_at = now;
	mroce_econn_arm(econn, now);
}

void mroce_hs_timeout(struct mroce_econn *econn, u64 now)
{
	u64 pause;

	spin_lock_bh(&econn->lock);
	if (econn->conn.state != MROCE_CONN_CONNECTING || econn->gone) {
		spin_unlock_bh(&econn->lock);
		return;
	}
	/*
	 * The first of its kind: a WELCOME may answer any of those that were sent, and a round trip
	 * that is taken for too long is found out soon, one for too short is believed.
	 */
	if (!econn->hs_tries)
		econn->hs_sent_at = now;
	pause = min_t(u64, HELLO_FIRST << min_t(u32, econn->hs_tries, 10), HELLO_MAX);
	if (econn->hs_tries < 1000)
		econn->hs_tries++;
	econn->hs_at = now + pause;
	mroce_econn_arm(econn, now);
	spin_unlock_bh(&econn->lock);
	send_hello(econn);
}

void mroce_hs_close(struct mroce_econn *econn)
{
	u8 buf[MROCE_COMMON_LEN];

	if (econn->is_self || econn->conn.state != MROCE_CONN_UP)
		return;
	mroce_wire_put_bare(MROCE_T_CLOSE, econn->conn.peer_cid, econn->conn.cid, buf);
	local_bh_disable();
	mroce_econn_send_small(econn, buf, sizeof(buf));
	local_bh_enable();
}

/* ------------------------------------------------------------------------ answering */

static void send_welcome(struct mroce_econn *econn, u16 mtu)
{
	struct mroce_route rt = hello_route(econn);
	u8 buf[MROCE_HELLO_LEN];
	struct mroce_hello m;

	fill(&m, econn->dev, MROCE_T_WELCOME, econn->conn.cid, econn->conn.peer_cid,
	     econn->tclass, &econn->src, &econn->dst);
	m.mtu = mtu;
	mroce_wire_put_hello(&m, buf);
	mroce_send_once(econn->dev, &rt, buf, sizeof(buf));
}

/* Raises the connection on our side. Return: false if it was not waiting for that. */
static bool raise(struct mroce_econn *econn, const struct mroce_hello *m, u16 mtu, u32 rtt_us)
{
	MROCE_NOTIFY(notify);
	bool up;

	mroce_econn_lock(econn, &notify);
	up = econn->conn.state == MROCE_CONN_CONNECTING && !econn->gone;
	if (up) {
		econn->hs_at = MROCE_NEVER;
		econn->hs_mtu = mtu;
		econn->peer_device_id = m->device_id;
		econn->peer_epoch = m->epoch;
		mroce_econn_set_mtu(econn, mtu);
		mroce_conn_peer_limits(&econn->conn, m->window, m->max_paths);
		mroce_conn_up(&econn->conn, m->scid, rtt_us, mroce_now());
		mroce_ways_start(econn, mroce_now());
	}
	mroce_econn_unlock(econn);
	mroce_notify_flush(&notify);
	if (up) {
		mroce_ways_changed(econn);
		mroce_join_wake(econn);
	}
	return up;
}

/* Return: whether the HELLO is answered; false: look again for another connection. */
static bool answer_with(struct mroce_econn *econn, const struct answer *a)
{
	const struct mroce_hello *m = &a->hello;
	u16 mtu;

	local_bh_disable();
	mtu = min(m->mtu, mroce_hs_route_mtu(econn));
	if (econn->conn.state == MROCE_CONN_CONNECTING) {
		/* both ask: the lower id goes on asking */
		if (econn->hs_tries && econn->dev->device_id < m->device_id) {
			local_bh_enable();
			return true;
		}
		raise(econn, m, mtu, 0);
	}
	if (econn->conn.state != MROCE_CONN_UP || econn->conn.peer_cid != m->scid ||
	    econn->peer_device_id != m->device_id || econn->peer_epoch != m->epoch) {
		local_bh_enable();
		/* a late one of an attempt that has joined since */
		if (mroce_econn_joined_by(econn, &a->dst, &a->src, m->scid))
			return true;
		/* an attempt to join that the peer gave up is no reason to end the rest */
		if (econn->peer_device_id != m->device_id || econn->peer_epoch != m->epoch ||
		    !mroce_econn_drop_pair(econn, &a->dst, &a->src))
			mroce_econn_lost(econn);
		return false;
	}
	send_welcome(econn, econn->hs_mtu);
	mroce_econn_pump(econn, mroce_now());
	local_bh_enable();
	return true;
}

/* Return: whether the HELLO is answered: with the connection that it asks to join. */
static bool answer_join(const struct answer *a)
{
	struct mroce_econn *econn = mroce_join_asked(a->dev, &a->hello, a->tclass);
	u8 buf[MROCE_HELLO_LEN];
	struct mroce_hello m;
	bool taken;

	if (!econn)
		return false;
	taken = mroce_join_take(econn, &a->dst, &a->src, a->hello.scid);
	if (taken) {
		fill(&m, a->dev, MROCE_T_WELCOME, econn->conn.cid, a->hello.scid, a->tclass,
		     &a->dst, &a->src);
		m.mtu = econn->hs_mtu;
		mroce_wire_put_hello(&m, buf);
		local_bh_disable();
		send_to(a->dev, &a->dst, &a->src, a->tclass, buf, sizeof(buf));
		local_bh_enable();
	}
	mroce_econn_put(econn);
	return taken;
}

static void answer_work(struct work_struct *work)
{
	struct answer *a = container_of(work, struct answer, work);
	struct mroce_econn *econn;
	bool done;
	int tries;

	done = mroce_join_yields(a->dev, &a->hello, a->tclass) || answer_join(a);
	for (tries = 0; !done && tries < 3; tries++) {
		econn = mroce_econn_lookup(a->dev, &a->dst, &a->src, a->tclass, 0);
		if (!econn && mroce_econn_unused(a->dev) >= MROCE_UNUSED_CONNS) {
			mroce_count(a->dev, MROCE_CNT_HELLO_REJECT);
			break;
		}
		if (!econn) {
			econn = mroce_econn_create(a->dev, &a->dst, &a->src, a->tclass, 0, 0,
						   false);
			if (!IS_ERR(econn))
				econn = mroce_econn_list(econn);
		}
		if (IS_ERR(econn))
			break;
		done = answer_with(econn, a);
		if (!done)
			flush_work(&econn->lost_work);
		mroce_econn_reap_unused(econn);
		mroce_econn_put(econn);
	}
	mroce_dev_put(a->dev);
	kfree(a);
	atomic_dec(&answering);
}

static void rx_hello(struct mroce_net_port *np, struct mroce_hello *m,
		     const struct mroce_addr *src, const struct mroce_addr *dst, u8 tclass)
{
	struct mroce_dev *dev = mroce_dev_find(np, dst);
	u8 buf[MROCE_HELLO_LEN];
	struct mroce_hello reply;
	union ib_gid gid;
	struct answer *a;

	if (!dev)
		return;
	mroce_count(dev, MROCE_CNT_HELLO_RX);
	mroce_addr_to_gid(dst, &gid);
	if (memcmp(m->dst_gid, gid.raw, sizeof(gid.raw)) != 0) {
		mroce_count(dev, MROCE_CNT_RX_NO_DEVICE);
		goto put;
	}
	if (m->version_min > MROCE_WIRE_VERSION || m->version_max < MROCE_WIRE_VERSION ||
	    !m->scid) {
		mroce_count(dev, MROCE_CNT_HELLO_REJECT);
		fill(&reply, dev, MROCE_T_REJECT, 0, m->scid, tclass, dst, src);
		reply.reason = MROCE_REJECT_VERSION;
		mroce_wire_put_hello(&reply, buf);
		send_to(dev, dst, src, tclass, buf, sizeof(buf));
		goto put;
	}
	if (!m->cookie || !cookie_good(src, m)) {
		if (m->cookie)
			mroce_count(dev, MROCE_CNT_RX_BAD_COOKIE);
		fill(&reply, dev, MROCE_T_CHALLENGE, 0, m->scid, tclass, dst, src);
		reply.cookie = make_cookie(src, m, div64_u64(mroce_now(), COOKIE_LIFE));
		mroce_wire_put_hello(&reply, buf);
		send_to(dev, dst, src, tclass, buf, sizeof(buf));
		goto put;
	}
	if (atomic_inc_return(&answering) > MROCE_HS_TABLE)
		goto busy;
	a = kzalloc(sizeof(*a), GFP_ATOMIC);
	if (!a)
		goto busy;
	a->dev = dev;		/* with its reference */
	a->hello = *m;
	a->src = *src;
	a->dst = *dst;
	a->tclass = m->dscp << 2;
	INIT_WORK(&a->work, answer_work);
	queue_work(answer_wq, &a->work);
	return;
busy:
	atomic_dec(&answering);
	mroce_count(dev, MROCE_CNT_HELLO_REJECT);
put:
	mroce_dev_put(dev);
}

/* ---------------------------------------------------------------------------- asking */

/* Our connection that a reply is about. */
static struct mroce_econn *asked(struct mroce_net_port *np, u32 cid, const struct mroce_addr *src)
{
	struct mroce_econn *econn = mroce_econn_find(cid);

	if (!econn)
		return NULL;
	if (econn->dev->np == np && mroce_addr_equal(&econn->dst, src) && !econn->is_self)
		return econn;
	mroce_count(econn->dev, MROCE_CNT_RX_WRONG_SOURCE);
	mroce_econn_put(econn);
	return NULL;
}

/*
 * A HELLO has come through: the tries begin again, the next one not before the answer to this one
 * may be here. Else a long way would look like one that swallows large packets.
 */
static void rx_challenge(struct mroce_econn *econn, const struct mroce_hello *m)
{
	u64 now = mroce_now(), took;
	bool again;

	spin_lock(&econn->lock);
	again = econn->hs_tries && econn->hs_cookie != m->cookie && !econn->gone &&
		(econn->conn.state == MROCE_CONN_CONNECTING || econn->hs_verify);
	econn->hs_cookie = m->cookie;
	if (econn->conn.state == MROCE_CONN_CONNECTING) {
		econn->peer_device_id = m->device_id;
		econn->peer_epoch = m->epoch;
	}
	if (again) {
		took = now - econn->hs_sent_at;
		econn->hs_sent_at = now;
		econn->hs_tries = 1;
		if (econn->conn.state == MROCE_CONN_CONNECTING) {
			econn->hs_at = now + clamp_t(u64, 2 * took, HELLO_FIRST, HELLO_MAX);
			mroce_econn_arm(econn, now);
		}
	}
	spin_unlock(&econn->lock);
	if (again)
		send_hello(econn);
}

static void rx_welcome(struct mroce_econn *econn, const struct mroce_hello *m)
{
	u64 rtt = mroce_now() - econn->hs_sent_at;
	bool reborn;

	if (!m->scid || !econn->hs_tries)
		return;
	if (m->scid == READ_ONCE(econn->hs_join) &&
	    READ_ONCE(econn->conn.state) == MROCE_CONN_CONNECTING) {
		mroce_join_welcomed(econn, m);
		return;
	}
	spin_lock(&econn->lock);
	reborn = econn->hs_verify && econn->conn.state == MROCE_CONN_UP &&
		 econn->conn.peer_cid != m->scid;
	econn->hs_verify = false;
	spin_unlock(&econn->lock);
	if (reborn) {
		mroce_econn_lost(econn);
		return;
	}
	rtt = min_t(u64, div_u64(rtt, NSEC_PER_USEC), USEC_PER_SEC);
	if (raise(econn, m, min(m->mtu, mroce_hs_route_mtu(econn)), rtt))
		mroce_econn_pump(econn, mroce_now());
}

/*
 * A connection that a message of its peer is about, with both its ids. By any way.
 * Return: with a reference, or NULL.
 */
struct mroce_econn *mroce_hs_between(struct mroce_net_port *np, u32 dcid, u32 scid,
				     const struct mroce_addr *src, const struct mroce_addr *dst)
{
	struct mroce_econn *econn = mroce_econn_find(dcid);

	if (!econn)
		return NULL;
	if (econn->dev->np == np && !econn->is_self && mroce_ways_known(econn, src, dst) &&
	    READ_ONCE(econn->conn.state) == MROCE_CONN_UP &&
	    READ_ONCE(econn->conn.peer_cid) == scid)
		return econn;
	mroce_count(econn->dev, MROCE_CNT_RX_WRONG_SOURCE);
	mroce_econn_put(econn);
	return NULL;
}

/* CLOSE names both ids, so it comes from the peer: MR-3.5-02 */
static void rx_close(struct mroce_net_port *np, const u8 *data, const struct mroce_addr *src,
		     const struct mroce_addr *dst)
{
	struct mroce_econn *econn = mroce_hs_between(np, mroce_wire_dcid(data),
						     mroce_wire_bare_scid(data), src, dst);

	if (!econn)
		return;
	mroce_econn_lost(econn);
	mroce_econn_put(econn);
}

/*
 * Somebody at the peer's address does not know our peer's id. That alone proves nothing: ask the
 * peer with a handshake, whose answer only it can give. MR-3.5-03
 */
static void rx_unknown(struct mroce_net_port *np, const u8 *data, const struct mroce_addr *src,
		       const struct mroce_addr *dst)
{
	u64 now = mroce_now();
	struct mroce_econn *econn;
	struct mroce_dev *dev = mroce_dev_find(np, dst);
	bool verify;

	if (!dev)
		return;
	econn = mroce_econn_by_peer(dev, src, mroce_wire_bare_scid(data));
	mroce_dev_put(dev);
	if (!econn)
		return;
	spin_lock(&econn->lock);
	verify = econn->conn.state == MROCE_CONN_UP && now - econn->hs_sent_at > VERIFY_PAUSE;
	if (verify) {
		econn->hs_verify = true;
		econn->hs_cookie = 0;
		econn->hs_tries = 1;
		econn->hs_sent_at = now;
	}
	spin_unlock(&econn->lock);
	if (verify)
		send_hello(econn);
	mroce_econn_put(econn);
}

void mroce_hs_rx(struct mroce_net_port *np, int type, const u8 *data, unsigned int len,
		 unsigned int wire_len, const struct mroce_addr *src,
		 const struct mroce_addr *dst, u8 tclass)
{
	struct mroce_econn *econn;
	struct mroce_hello m;

	if (type == MROCE_T_CLOSE) {
		rx_close(np, data, src, dst);
		return;
	}
	if (type == MROCE_T_UNKNOWN_CONN) {
		rx_unknown(np, data, src, dst);
		return;
	}
	if (mroce_wire_get_hello(&m, data, len)) {
		mroce_count_at(np, dst, MROCE_CNT_RX_MALFORMED);
		return;
	}
	if (type == MROCE_T_HELLO) {
		/* what came through, not what it says: MR-3.2-04 */
		m.mtu = min_t(unsigned int, m.mtu,
			      wire_len + (src->family == MROCE_AF_INET6 ? 48 : 28));
		rx_hello(np, &m, src, dst, tclass);
		return;
	}
	econn = asked(np, m.dcid, src);
	if (!econn)
		return;
	if (type == MROCE_T_CHALLENGE)
		rx_challenge(econn, &m);
	else if (type == MROCE_T_WELCOME)
		rx_welcome(econn, &m);
	else
		mroce_count(econn->dev, MROCE_CNT_HELLO_REJECT);
	mroce_econn_put(econn);
}

/* A packet came for a connection that is not ours: tell its sender, now and then. BH disabled. */
void mroce_hs_unknown(struct mroce_net_port *np, u32 dcid, const struct mroce_addr *src,
		      const struct mroce_addr *dst)
{
	u64 now = mroce_now(), last = atomic64_read(&unknown_at);
	struct mroce_dev *dev;
	u8 buf[MROCE_COMMON_LEN];

	if (now - last < UNKNOWN_PAUSE || atomic64_cmpxchg(&unknown_at, last, now) != last)
		return;
	dev = mroce_dev_find(np, dst);
	if (!dev)
		return;
	mroce_wire_put_bare(MROCE_T_UNKNOWN_CONN, 0, dcid, buf);
	send_to(dev, dst, src, 0, buf, sizeof(buf));
	mroce_dev_put(dev);
}

int mroce_hs_init(void)
{
	get_random_bytes(cookie_key, sizeof(cookie_key));
	answer_wq = alloc_workqueue("metaroce_hello", WQ_UNBOUND, 0);
	return answer_wq ? 0 : -ENOMEM;
}

void mroce_hs_exit(void)
{
	destroy_workqueue(answer_wq);
}

void mroce_hs_flush(void)
{
	flush_workqueue(answer_wq);
	flush_workqueue(mroce_wq);
}
