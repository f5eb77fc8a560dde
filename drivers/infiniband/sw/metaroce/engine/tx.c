// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * From the core to the wire: bursts become skbs, one CPU at a time per connection, with no lock
 * held while they are built and sent.
 */
#include "internal.h"

#define PUMP_BURSTS	64			/* in a row; then others get the CPU */
#define CLOCK_BURSTS	4			/* ... between looks at the clock */
#define INLINE_BYTES	(32U << 10)		/* posts of more are sent by a worker */
#define RETRY_NS	(2 * NSEC_PER_MSEC)	/* no route, no memory */
#define COPY_BELOW	256			/* bytes that are not worth a page reference */
#define COPY_FLAT	2048			/* ... when the device takes few fragments */

/* The region that the last packet used: consecutive packets need one look-up. */
struct gather {
	struct mroce_dev *dev;
	struct mroce_burst_skb *b;
	bool copy;
	struct mroce_mr *mr;
	struct ib_pd *pd;
	u32 key;
};

static void gather_end(struct gather *g)
{
	if (g->mr)
		mroce_mr_put(g->mr);
	g->mr = NULL;
}

static int gather_region(struct gather *g, struct ib_pd *pd, u32 key, u64 va, u32 len, int access,
			 bool remote)
{
	enum ib_wc_status status;

	if (g->mr && g->pd == pd && g->key == key && !g->mr->dma && va >= g->mr->iova &&
	    va - g->mr->iova + len <= g->mr->length)
		return 0;
	gather_end(g);
	g->mr = mroce_mr_get(g->dev, pd, key, va, len, access, remote, &status);
	if (!g->mr)
		return -EACCES;
	g->pd = pd;
	g->key = key;
	return 0;
}

static int gather_range(struct gather *g, u64 va, u32 len)
{
	struct page *page;
	size_t off, n;
	int err;

	while (len) {
		n = mroce_mr_page(g->mr, va, len, &page, &off);
		if (g->copy)
			err = mroce_skb_add_copy(g->b, page_address(page) + off, n);
		else
			err = mroce_skb_add_page(g->b, page, off, n);
		if (err)
			return err;
		va += n;
		len -= n;
	}
	return 0;
}

static int gather_request(struct gather *g, const struct mroce_txpkt *t)
{
	struct mroce_qp *qp = t->stream->owner;
	struct mroce_swqe *wqe = (struct mroce_swqe *)mroce_stream_msg(t->stream, t->index);
	u32 off = t->offset, len = t->len, i;
	int err;

	if (wqe->flags & MROCE_WQE_INLINE)
		return off + len <= wqe->inline_len ?
		       mroce_skb_add_copy(g->b, wqe->data + off, len) : -EFAULT;
	for (i = 0; len && i < wqe->num_sge; i++) {
		const struct mroce_sge *sge = &wqe->sge[i];
		u32 n;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		err = gather_region(g, qp->ibqp.pd, sge->lkey, sge->addr + off, n, 0, false);
		if (!err)
			err = gather_range(g, sge->addr + off, n);
		if (err)
			return err;
		len -= n;
		off = 0;
	}
	return len ? -EFAULT : 0;
}

static int gather_answer(struct gather *g, const struct mroce_txpkt *t)
{
	struct mroce_qp *qp = t->stream->owner;
	struct mroce_resp *a = &t->stream->resp[t->index & t->stream->resp_mask];
	int err;

	if (t->source == MROCE_SRC_VALUE) {
		__be64 value = cpu_to_be64(a->value);

		return mroce_skb_add_copy(g->b, &value, sizeof(value));
	}
	err = gather_region(g, qp->ibqp.pd, a->rkey, a->va + t->offset, t->len,
			    IB_ACCESS_REMOTE_READ, true);
	return err ?: gather_range(g, a->va + t->offset, t->len);
}

/* Fragments that a packet may take; an upper bound. */
static unsigned int max_frags(const struct gather *g, const struct mroce_txpkt *t)
{
	unsigned int pages = t->len / PAGE_SIZE + 2;

	if (t->source != MROCE_SRC_REQUEST || g->copy)
		return pages;
	return pages + ((struct mroce_swqe *)mroce_stream_msg(t->stream, t->index))->num_sge;
}

static int add_packet(struct gather *g, const struct mroce_txpkt *t)
{
	int err = mroce_skb_add_header(g->b, t->hdr, t->hdr_len);

	if (err)
		return err;
	switch (t->source) {
	case MROCE_SRC_NONE:
		return 0;
	case MROCE_SRC_REQUEST:
		return gather_request(g, t);
	default:
		return gather_answer(g, t);
	}
}

static void local_error(struct mroce_econn *econn, struct mroce_txpkt *t)
{
	MROCE_NOTIFY(notify);

	mroce_econn_lock(econn, &notify);
	mroce_conn_local_error(&econn->conn, t, mroce_now());
	mroce_econn_unlock(econn);
	mroce_notify_flush(&notify);
}

static void xmit(struct mroce_econn *econn, struct mroce_burst_skb *b, u16 sport)
{
	struct mroce_eway *way = &econn->ways[econn->burst.way];

	if (!b->head)
		return;
	if (mroce_skb_xmit(econn->dev->np, b, &way->route, way->txq, sport, MROCE_UDP_PORT, true))
		mroce_count(econn->dev, MROCE_CNT_TX_DROPS);
	b->head = NULL;
}

/*
 * Sends a burst as one skb, or several if it does not fit. What can't be built is lost like a
 * packet on the wire; its repair, or the stream's failure, is the core's business.
 */
static void send_burst(struct mroce_econn *econn)
{
	struct mroce_burst *burst = &econn->burst;
	const struct mroce_route *route = &econn->ways[burst->way].route;
	struct mroce_burst_skb b = {};
	struct gather g = { .dev = econn->dev, .b = &b };
	u32 i, start = 0;
	int err;

	for (i = 0; i < burst->count; i++) {
		struct mroce_txpkt *t = &burst->pkts[i];

		g.copy = t->len <= COPY_BELOW ||
			 (!route->frag_list && t->len <= COPY_FLAT);
		if (b.head && !mroce_skb_room(&b, max_frags(&g, t)))
			xmit(econn, &b, burst->sport);
		if (!b.head) {
			start = i;
			if (mroce_skb_start(&b, route, burst->seg_size, burst->count - i)) {
				mroce_count(econn->dev, MROCE_CNT_TX_DROPS);
				break;
			}
		}
		err = add_packet(&g, t);
		if (!err)
			continue;
		/* an skb that broke inside of a packet is of no use: start over without it */
		mroce_skb_abort(&b);
		b.head = NULL;
		if (err == -EACCES || err == -EFAULT)
			local_error(econn, t);
		else
			mroce_count(econn->dev, MROCE_CNT_TX_DROPS);
		if (i > start && err != -ENOBUFS)
			mroce_count_n(econn->dev, MROCE_CNT_TX_DROPS, i - start);
	}
	xmit(econn, &b, burst->sport);
	gather_end(&g);
}

/* Return: whether something may be sent. */
static bool route_ready(struct mroce_econn *econn, struct mroce_route *route)
{
	u16 mtu = route->mtu;

	if (mroce_route_refresh(econn->dev->np, route)) {
		mroce_count(econn->dev, MROCE_CNT_TX_NO_ROUTE);
		return false;
	}
	if (unlikely(mtu && route->mtu < mtu)) {
		/* new packets are cut smaller; those that are cut travel in IP fragments */
		spin_lock_bh(&econn->lock);
		mroce_econn_set_mtu(econn, route->mtu);
		spin_unlock_bh(&econn->lock);
	}
	return true;
}

/* What the ways that are up can take now. */
struct ways_room {
	u8 ready;		/* one bit each */
	bool full;		/* one of them waits for the local stack, which will wake us */
	u16 max_segs;
};

static struct ways_room look_at_ways(struct mroce_econn *econn, u64 now)
{
	struct ways_room room = { .max_segs = U16_MAX };
	u8 i, up = READ_ONCE(econn->conn.ways_up);

	for (i = 0; up; i++, up >>= 1) {
		struct mroce_eway *way = &econn->ways[i];

		/* one that is being asked is up only because there is no other */
		if (!(up & 1) || READ_ONCE(way->state) == MROCE_EWAY_ASKING ||
		    READ_ONCE(way->state) == MROCE_EWAY_AIMING)
			continue;
		if (mroce_txq_bytes(way->txq) > MROCE_TXQ_LIMIT && mroce_txq_wait(way->txq)) {
			room.full = true;
		} else if (route_ready(econn, &way->route)) {
			room.ready |= BIT(i);
			room.max_segs = min(room.max_segs, way->route.max_segs);
		} else if (econn->nways > 1) {
			mroce_ways_failed(econn, i, now);
		}
	}
	return room;
}

/* Sends one burst. Return: false if there is nothing more to do, or it must wait. */
static bool pump_one(struct mroce_econn *econn, struct mroce_notify *notify, u64 now, bool arm)
{
	struct ways_room room = look_at_ways(econn, now);
	bool ready = room.ready, full = room.full;
	u32 n = 0;

	mroce_econn_lock(econn, notify);
	if (ready && !econn->gone) {
		econn->burst.max_count = min_t(u32, room.max_segs,
					       READ_ONCE(econn->dev->params.max_burst));
		econn->burst.ways = room.ready;
		econn->burst.lane = smp_processor_id();
		n = mroce_conn_next_burst(&econn->conn, &econn->burst, now);
	} else if (!full) {
		econn->pump_at = now + RETRY_NS;
	}
	if (!n) {
		/* somebody saw room, or more to send, while we looked */
		if (econn->pump_again && (ready || full)) {
			econn->pump_again = false;
			mroce_econn_unlock(econn);
			return true;
		}
		econn->pumping = false;
		if (arm)
			mroce_econn_arm(econn, now);
	}
	mroce_econn_unlock(econn);
	if (!n)
		return false;

	send_burst(econn);

	mroce_econn_lock(econn, notify);
	mroce_conn_burst_sent(&econn->conn, &econn->burst, now);
	mroce_econn_wake(econn);
	mroce_econn_unlock(econn);
	return true;
}

static struct workqueue_struct *tx_wq;

static void pump_later(struct mroce_econn *econn)
{
	mroce_assert_conn(econn);
	if (!econn->gone)
		queue_work(tx_wq, &econn->pump_work);
}

/* @arm: the timer; if not, the caller does. */
static void pump(struct mroce_econn *econn, u64 now, bool arm)
{
	MROCE_NOTIFY(notify);
	unsigned int left = PUMP_BURSTS;
	bool mine;

	spin_lock_bh(&econn->lock);
	mine = !econn->pumping && !econn->gone && econn->conn.state == MROCE_CONN_UP;
	if (mine)
		econn->pumping = true;
	else if (econn->pumping)
		econn->pump_again = true;
	if (!mine && !econn->gone && arm)
		mroce_econn_arm(econn, now);
	spin_unlock_bh(&econn->lock);
	if (!mine)
		return;

	local_bh_disable();
	while (pump_one(econn, &notify, now, arm)) {
		if (--left % CLOCK_BURSTS == 0)
			now = mroce_now();
		if (left)
			continue;
		spin_lock(&econn->lock);
		econn->pumping = false;
		mroce_econn_arm(econn, now);
		pump_later(econn);
		spin_unlock(&econn->lock);
		break;
	}
	local_bh_enable();
	mroce_notify_flush(&notify);
}

void mroce_econn_pump(struct mroce_econn *econn, u64 now)
{
	pump(econn, now, true);
}

/*
 * From a process, BH off; on when it returns. A peer on this machine answers within
 * local_bh_enable(): nothing is in flight any more then, and the timer, which is expensive to
 * start in a virtual machine, not needed. Others' packets are in flight, too: so we are not
 * preempted before it is started.
 */
static void pump_and_settle(struct mroce_econn *econn, u64 now)
{
	const bool rt = IS_ENABLED(CONFIG_PREEMPT_RT);	/* locks sleep there */

	pump(econn, now, rt);
	if (rt) {
		local_bh_enable();
		return;
	}
	preempt_disable();
	local_bh_enable();
	spin_lock_bh(&econn->lock);
	mroce_econn_arm(econn, now);
	spin_unlock_bh(&econn->lock);
	preempt_enable();
}

/*
 * Little is sent by whoever posts it, for latency. Much is not: he wants to go on, and the next
 * posts fill the bursts that would end with this one's last packet.
 */
void mroce_econn_pump_post(struct mroce_econn *econn, u64 bytes, u64 now)
{
	if (bytes <= INLINE_BYTES || READ_ONCE(econn->conn.state) != MROCE_CONN_UP) {
		pump_and_settle(econn, now);
		return;
	}
	spin_lock(&econn->lock);
	pump_later(econn);
	spin_unlock(&econn->lock);
	local_bh_enable();
}

void mroce_econn_pump_work(struct work_struct *work)
{
	local_bh_disable();
	pump_and_settle(container_of(work, struct mroce_econn, pump_work), mroce_now());
}

void mroce_econn_pump_claim(struct mroce_econn *econn)
{
	bool mine;

	for (;;) {
		spin_lock_bh(&econn->lock);
		mine = !econn->pumping;
		econn->pumping = true;
		spin_unlock_bh(&econn->lock);
		if (mine)
			return;
		usleep_range(20, 100);	/* others send some bursts in a row at most */
	}
}

void mroce_econn_pump_release(struct mroce_econn *econn)
{
	spin_lock_bh(&econn->lock);
	econn->pumping = false;
	econn->pump_again = false;
	spin_unlock_bh(&econn->lock);
	local_bh_disable();
	mroce_econn_pump(econn, mroce_now());
	local_bh_enable();
}

int mroce_tx_init(void)
{
	tx_wq = alloc_workqueue("metaroce_tx", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	return tx_wq ? 0 : -ENOMEM;
}

void mroce_tx_exit(void)
{
	destroy_workqueue(tx_wq);
}

int mroce_econn_send_by(struct mroce_econn *econn, u8 way, const void *data, unsigned int len)
{
	u16 sport = READ_ONCE(econn->ack_sport) ?: MROCE_UDP_PORT;
	struct mroce_route *route = &econn->ways[way].small;
	int err;

	spin_lock_bh(&econn->ack_lock);
	err = mroce_route_refresh(econn->dev->np, route);
	if (!err)
		err = mroce_net_send(econn->dev->np, route, sport, MROCE_UDP_PORT, false, data,
				     len);
	spin_unlock_bh(&econn->ack_lock);
	if (err)
		mroce_count(econn->dev, err == -ENOBUFS || err == -ENOMEM ?
			    MROCE_CNT_TX_DROPS : MROCE_CNT_TX_NO_ROUTE);
	return err;
}

/* By which its peer's packets come, else by one that is up. */
int mroce_econn_send_small(struct mroce_econn *econn, const void *data, unsigned int len)
{
	u8 up = READ_ONCE(econn->conn.ways_up), way = READ_ONCE(econn->ack_way);

	if (unlikely(up && !(up >> way & 1)))
		way = __ffs(up);
	return mroce_econn_send_by(econn, way, data, len);
}

static DEFINE_PER_CPU(u8[MROCE_ACK_MAX_LEN], ack_buf);

/* BH disabled. A lost acknowledgment is repeated by what comes next. */
void mroce_econn_send_ack(struct mroce_econn *econn, const struct mroce_ack *ack)
{
	u8 *buf = *this_cpu_ptr(&ack_buf);

	mroce_econn_send_small(econn, buf, mroce_wire_put_ack(ack, buf));
}
