// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * From the sockets to the core. A merged batch is parsed once, enters the core in one round of
 * the lock, is copied without it, and leaves one acknowledgment.
 */
#include <net/inet_ecn.h>

#include "internal.h"
#include "cursor.h"

#define RX_BATCH	64

struct rx_scratch {
	struct mroce_rxpkt pkts[RX_BATCH];
	struct mroce_ack ack;
	u8 buf[MROCE_ACK_MAX_LEN];	/* control packets as they came */
};

/* Per CPU; used with BH disabled, which does not nest. More than a module may have statically. */
static struct rx_scratch __percpu *scratch;

/* One datagram, or merged ones; the addresses are the same for all of them. */
struct rx {
	struct mroce_net_port *np;
	struct sk_buff *skb;
	const struct mroce_addr *src, *dst;
	int ifindex;
	u8 tclass;
	u64 now;			/* read once: reading some clocks is expensive */
	struct mroce_cursor cur;
	struct mroce_econn *econn;	/* of the last packet */
	u32 count;			/* packets collected for it */
};

static void count_global(struct rx *rx, enum mroce_counter id)
{
	mroce_count_at(rx->np, rx->dst, id);
}

bool mroce_econn_next_ack(struct mroce_econn *econn, u64 now)
{
	mroce_assert_conn(econn);
	/* READ_ONCE() in mroce_econn_send_small(); the paths themselves may move */
	if (econn->conn.npaths)
		WRITE_ONCE(econn->ack_sport, econn->conn.paths[0].sport);
	return mroce_conn_next_ack(&econn->conn, &this_cpu_ptr(scratch)->ack, now);
}

/* What follows a change of the core's state, found out while the lock is held. */
struct follow {
	bool ack, pump;
};

static struct follow follow_up(struct mroce_econn *econn, u64 now)
{
	struct mroce_conn *c = &econn->conn;
	struct follow f = { .pump = mroce_conn_backlog(c) };

	if (mroce_conn_ack_urgent(c))
		f.ack = mroce_econn_next_ack(econn, now);
	else if (c->ack_now && !econn->gone)
		/* after the batches that are waiting behind this one */
		tasklet_schedule(&econn->tasklet);
	if (!f.pump)
		mroce_econn_arm(econn, now);
	mroce_econn_wake(econn);
	return f;
}

void mroce_econn_send_acks(struct mroce_econn *econn, u64 now)
{
	bool ready;

	do {
		mroce_econn_send_ack(econn, &this_cpu_ptr(scratch)->ack);
		spin_lock_bh(&econn->lock);
		ready = mroce_econn_next_ack(econn, now);
		spin_unlock_bh(&econn->lock);
	} while (ready);
}

static void settle(struct mroce_econn *econn, struct follow f, u64 now)
{
	if (f.ack)
		mroce_econn_send_acks(econn, now);
	if (f.pump)
		mroce_econn_pump(econn, now);
}

void mroce_econn_tasklet(struct tasklet_struct *t)
{
	struct mroce_econn *econn = container_of(t, struct mroce_econn, tasklet);
	u64 now = mroce_now();
	struct follow f;

	spin_lock_bh(&econn->lock);
	f.ack = mroce_econn_next_ack(econn, now);
	f.pump = mroce_conn_backlog(&econn->conn);
	spin_unlock_bh(&econn->lock);
	settle(econn, f, now);
}

static void flush_data(struct rx *rx)
{
	struct rx_scratch *s = this_cpu_ptr(scratch);
	struct mroce_econn *econn = rx->econn;
	struct mroce_rxbatch b;
	MROCE_NOTIFY(notify);
	struct follow f = {};
	bool more;

	if (!rx->count)
		return;
	mroce_econn_lock(econn, &notify);
	mroce_conn_rx(&econn->conn, s->pkts, rx->count, &b, rx->now);
	mroce_econn_unlock(econn);
	do {
		mroce_place_batch(econn, &b);
		mroce_econn_lock(econn, &notify);
		more = mroce_conn_placed(&econn->conn, &b, rx->now);
		if (!more)
			f = follow_up(econn, rx->now);
		mroce_econn_unlock(econn);
	} while (more);
	rx->count = 0;
	settle(econn, f, rx->now);
	mroce_notify_flush(&notify);
}

static void drop_econn(struct rx *rx)
{
	flush_data(rx);
	if (rx->econn)
		mroce_econn_put(rx->econn);
	rx->econn = NULL;
}

/* The connection of a packet, if it comes from its peer. */
static bool find_econn(struct rx *rx, u32 dcid)
{
	struct mroce_econn *econn;

	if (rx->econn && rx->econn->conn.cid == dcid)
		return true;	/* all of a merged batch come by one way */
	drop_econn(rx);
	econn = mroce_econn_find(dcid);
	if (!econn || econn->dev->np != rx->np) {
		count_global(rx, MROCE_CNT_RX_NO_CONN);
		mroce_hs_unknown(rx->np, dcid, rx->src, rx->dst);
		goto drop;
	}
	if (!mroce_ways_known(econn, rx->src, rx->dst)) {
		mroce_count(econn->dev, MROCE_CNT_RX_WRONG_SOURCE);
		goto drop;
	}
	rx->econn = econn;
	return true;
drop:
	if (econn)
		mroce_econn_put(econn);
	return false;
}

static void rx_data(struct rx *rx, const u8 *hdr, unsigned int avail, unsigned int off,
		    unsigned int len)
{
	struct mroce_rxpkt *pkt;

	if (!find_econn(rx, mroce_wire_dcid(hdr)))
		return;
	pkt = &this_cpu_ptr(scratch)->pkts[rx->count];
	if (mroce_wire_get_data(&pkt->h, hdr, avail, len)) {
		mroce_count(rx->econn->dev, MROCE_CNT_RX_MALFORMED);
		return;
	}
	pkt->plen = len - pkt->h.hdr_len;
	pkt->payload = rx->skb;
	pkt->payload_off = off + pkt->h.hdr_len;
	pkt->ce = INET_ECN_is_ce(rx->tclass);
	if (++rx->count == RX_BATCH)
		flush_data(rx);
}

static void rx_ack(struct rx *rx, const u8 *p, unsigned int len)
{
	struct rx_scratch *s = this_cpu_ptr(scratch);
	MROCE_NOTIFY(notify);
	struct follow f;

	flush_data(rx);
	if (!find_econn(rx, mroce_wire_dcid(p)))
		return;
	if (mroce_wire_get_ack(&s->ack, p, len)) {
		mroce_count(rx->econn->dev, MROCE_CNT_RX_MALFORMED);
		return;
	}
	mroce_econn_lock(rx->econn, &notify);
	mroce_conn_rx_ack(&rx->econn->conn, &s->ack, rx->now);
	f = follow_up(rx->econn, rx->now);
	mroce_econn_unlock(rx->econn);
	settle(rx->econn, f, rx->now);
	mroce_notify_flush(&notify);
}

static void rx_segment(struct rx *rx, unsigned int off, unsigned int len)
{
	struct rx_scratch *s = this_cpu_ptr(scratch);
	u8 hdr[MROCE_MAX_HDR_LEN];
	unsigned int avail = min_t(unsigned int, len, sizeof(hdr));
	int type;

	if (!mroce_cursor_copy(&rx->cur, rx->skb, off, hdr, avail))
		return;
	type = mroce_wire_type(hdr, avail);
	switch (type) {
	case MROCE_T_DATA:
		rx_data(rx, hdr, avail, off, len);
		return;
	case MROCE_T_DATAGRAM:
		drop_econn(rx);
		mroce_dgram_rx(rx->np, rx->skb, off, len, rx->src, rx->dst);
		return;
	case -1:
		count_global(rx, MROCE_CNT_RX_MALFORMED);
		return;
	case -2:
		count_global(rx, MROCE_CNT_RX_VERSION);
		return;
	case -3:
		count_global(rx, MROCE_CNT_RX_TYPE);
		return;
	}
	avail = min_t(unsigned int, len, sizeof(s->buf));
	if (!mroce_cursor_copy(&rx->cur, rx->skb, off, s->buf, avail))
		return;
	if (type == MROCE_T_ACK) {
		rx_ack(rx, s->buf, avail);
		return;
	}
	drop_econn(rx);
	if (type >= MROCE_T_PLANES) {
		mroce_ways_rx(rx->np, type, s->buf, avail, rx->src, rx->dst, rx->ifindex);
		return;
	}
	mroce_hs_rx(rx->np, type, s->buf, avail, len, rx->src, rx->dst, rx->tclass);
}

void mroce_engine_rx(struct mroce_net_port *np, struct sk_buff *skb,
		     const struct mroce_addr *src, const struct mroce_addr *dst, int ifindex,
		     u8 tclass, u8 ttl)
{
	unsigned int seg = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : skb->len;
	unsigned int off, len = skb->len;
	struct rx rx = {
		.np = np,
		.skb = skb,
		.src = src,
		.dst = dst,
		.ifindex = ifindex,
		.tclass = tclass,
		.now = mroce_now(),
	};

	if (!len)
		count_global(&rx, MROCE_CNT_RX_MALFORMED);
	for (off = 0; off < len; off += seg)
		rx_segment(&rx, off, min(seg, len - off));
	drop_econn(&rx);
	mroce_cursor_end(&rx.cur);
	consume_skb(skb);
}

int mroce_engine_init(void)
{
	int err = mroce_tx_init();

	if (err)
		return err;
	err = mroce_hs_init();
	if (err)
		goto err_tx;
	scratch = alloc_percpu(struct rx_scratch);
	if (scratch)
		return 0;
	err = -ENOMEM;
	mroce_hs_exit();
err_tx:
	mroce_tx_exit();
	return err;
}

void mroce_engine_exit(void)
{
	free_percpu(scratch);
	mroce_hs_exit();
	mroce_tx_exit();
}
