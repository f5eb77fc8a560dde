// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Connections: found, made on demand, kept while a QP uses them, reaped. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

#define LINGER		(2 * HZ)	/* an unused connection waits for the next QP */
#define MAX_REAPS	15		/* ... so often, if its peer sends */

static DEFINE_XARRAY(cids);		/* connection id -> econn, readers under RCU */

struct mroce_econn *mroce_econn_find(u32 cid)
{
	struct mroce_econn *econn;

	rcu_read_lock();
	econn = xa_load(&cids, cid);
	if (econn && !refcount_inc_not_zero(&econn->refs))
		econn = NULL;
	rcu_read_unlock();
	return econn;
}

/**
 * mroce_engine_conn_next - walk the connections of all devices in the order of their ids
 * @cid: the first id to look at
 *
 * Process context. A walk sees what exists all the while once. Return: the listed connection with
 * the lowest id from @cid on, mroce_engine_conn_put() it; NULL if there is none.
 */
struct mroce_econn *mroce_engine_conn_next(u32 cid)
{
	unsigned long index = cid;
	struct mroce_econn *econn;
	bool got;

	for (;; index++) {
		rcu_read_lock();
		econn = xa_find(&cids, &index, U32_MAX, XA_PRESENT);
		got = econn && refcount_inc_not_zero(&econn->refs);
		rcu_read_unlock();
		/* one that is not listed may be half made */
		if (got && mroce_econn_listed(econn))
			return econn;
		if (got)
			mroce_econn_put(econn);
		if (!econn || index == U32_MAX)
			return NULL;
	}
}

/* Return: where in @also; @nalso: nowhere. */
static u32 find_pair(const struct mroce_econn *econn, const struct mroce_addr *src,
		     const struct mroce_addr *dst)
{
	u32 i;

	lockdep_assert_held(&econn->dev->conns_lock);
	for (i = 0; i < econn->nalso; i++)
		if (mroce_addr_equal(&econn->also[i].dst, dst) &&
		    mroce_addr_equal(&econn->also[i].src, src))
			break;
	return i;
}

static bool has_pair(const struct mroce_econn *econn, const struct mroce_addr *src,
		     const struct mroce_addr *dst)
{
	return (mroce_addr_equal(&econn->dst, dst) && mroce_addr_equal(&econn->src, src)) ||
	       find_pair(econn, src, dst) < econn->nalso;
}

/* Return: false if it is not listed any more, or knows too many pairs. */
bool mroce_econn_add_pair(struct mroce_econn *econn, const struct mroce_addr *src,
			  const struct mroce_addr *dst, u32 peer_cid)
{
	bool ok;

	spin_lock_bh(&econn->dev->conns_lock);
	ok = econn->listed;
	if (ok && !has_pair(econn, src, dst)) {
		ok = econn->nalso < MROCE_MAX_ALSO;
		if (ok) {
			econn->also[econn->nalso].src = *src;
			econn->also[econn->nalso].dst = *dst;
			econn->also[econn->nalso].peer_cid = peer_cid;
			econn->nalso++;
		}
	}
	spin_unlock_bh(&econn->dev->conns_lock);
	return ok;
}

/* Is it by this attempt of the peer that @econn is known by these addresses? */
bool mroce_econn_joined_by(struct mroce_econn *econn, const struct mroce_addr *src,
			   const struct mroce_addr *dst, u32 peer_cid)
{
	bool joined;
	u32 i;

	spin_lock_bh(&econn->dev->conns_lock);
	i = find_pair(econn, src, dst);
	joined = i < econn->nalso && econn->also[i].peer_cid == peer_cid;
	spin_unlock_bh(&econn->dev->conns_lock);
	return joined;
}

/* Return: false if it is not one that was added. */
bool mroce_econn_drop_pair(struct mroce_econn *econn, const struct mroce_addr *src,
			   const struct mroce_addr *dst)
{
	bool found;
	u32 i;

	spin_lock_bh(&econn->dev->conns_lock);
	i = find_pair(econn, src, dst);
	found = i < econn->nalso;
	if (found)
		econn->also[i] = econn->also[--econn->nalso];
	spin_unlock_bh(&econn->dev->conns_lock);
	return found;
}

static struct mroce_econn *find_listed(struct mroce_dev *dev, const struct mroce_addr *src,
				       const struct mroce_addr *dst, u8 tclass, u8 side)
{
	struct mroce_econn *econn;

	lockdep_assert_held(&dev->conns_lock);
	list_for_each_entry(econn, &dev->conns, node)
		if (econn->side == side && econn->tclass == tclass && has_pair(econn, src, dst))
			return econn;
	return NULL;
}

struct mroce_econn *mroce_econn_lookup(struct mroce_dev *dev, const struct mroce_addr *src,
				       const struct mroce_addr *dst, u8 tclass, u8 side)
{
	struct mroce_econn *econn;

	spin_lock_bh(&dev->conns_lock);
	econn = find_listed(dev, src, dst, tclass, side);
	if (econn)
		refcount_inc(&econn->refs);
	spin_unlock_bh(&dev->conns_lock);
	return econn;
}

/* The connection to @dst whose other end has the id @peer_cid. */
struct mroce_econn *mroce_econn_by_peer(struct mroce_dev *dev, const struct mroce_addr *dst,
					u32 peer_cid)
{
	struct mroce_econn *econn, *found = NULL;

	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(econn, &dev->conns, node) {
		if (econn->is_self || READ_ONCE(econn->conn.peer_cid) != peer_cid ||
		    !mroce_addr_equal(&econn->dst, dst))
			continue;
		refcount_inc(&econn->refs);
		found = econn;
		break;
	}
	spin_unlock_bh(&dev->conns_lock);
	return found;
}

/* Completions of what happens under the lock go to @notify. */
void mroce_econn_lock(struct mroce_econn *econn, struct mroce_notify *notify)
	__acquires(&econn->lock)
{
	spin_lock_bh(&econn->lock);
	econn->notify = notify;
}

void mroce_econn_unlock(struct mroce_econn *econn)
	__releases(&econn->lock)
{
	econn->notify = NULL;
	spin_unlock_bh(&econn->lock);
}

static u64 next_deadline(const struct mroce_econn *econn)
{
	u64 at = mroce_conn_deadline(&econn->conn);

	at = min(at, econn->pump_at);
	at = min(at, econn->ways_at);
	return min(at, econn->hs_at);
}

void mroce_econn_arm(struct mroce_econn *econn, u64 now)
{
	u64 at = next_deadline(econn);

	mroce_assert_conn(econn);
	/* a timer that fires too early just arms again: moving it later is not worth it */
	if (econn->gone || at == MROCE_NEVER || at >= econn->armed_at)
		return;
	econn->armed_at = at;
	hrtimer_start(&econn->timer, ns_to_ktime(max(at, now + 1)), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	struct mroce_econn *econn = container_of(timer, struct mroce_econn, timer);
	u64 now = mroce_now();
	bool handshake, ways;
	MROCE_NOTIFY(notify);

	mroce_econn_lock(econn, &notify);
	econn->armed_at = MROCE_NEVER;
	mroce_conn_timeout(&econn->conn, now);
	if (econn->pump_at <= now)
		econn->pump_at = MROCE_NEVER;
	handshake = econn->hs_at <= now;
	if (handshake)
		econn->hs_at = MROCE_NEVER;
	ways = econn->ways_at <= now;
	mroce_econn_unlock(econn);

	if (handshake)
		mroce_hs_timeout(econn, now);
	if (ways)
		mroce_ways_timeout(econn, now);
	mroce_econn_pump(econn, now);
	mroce_notify_flush(&notify);
	return HRTIMER_NORESTART;
}

/* There is room in the local stack again. */
void mroce_econn_wakeup(void *arg)
{
	struct mroce_econn *econn = arg;

	tasklet_schedule(&econn->tasklet);
}

void mroce_econn_set_mtu(struct mroce_econn *econn, u16 mtu)
{
	mtu = clamp_t(u16, mtu, econn->dst.family == MROCE_AF_INET6 ? 1280 : 576, MROCE_MAX_MTU);
	econn->mtu = mtu;
	mroce_cfg_mtu(&econn->conn.cfg, mtu, econn->dst.family == MROCE_AF_INET6);
}

/* The device keeps what was counted. */
static void hand_over_counters(struct mroce_econn *econn)
{
	int i;

	for (i = 0; i < MROCE_CNT_MAX; i++) {
		atomic64_add(econn->conn.counters[i], &econn->dev->counters[i]);
		econn->conn.counters[i] = 0;
	}
}

static void free_econn(struct mroce_econn *econn)
{
	struct mroce_dev *dev = econn->dev;

	hand_over_counters(econn);
	mroce_ways_exit(econn);
	/* a wakeup may have come since the connection was unlisted */
	tasklet_kill(&econn->tasklet);
	cancel_work_sync(&econn->pump_work);
	cancel_work_sync(&econn->grow_work);
	xa_destroy(&econn->streams);
	xa_destroy(&econn->by_qpn);
	mroce_econn_shrink(econn);
	kvfree(econn->conn.txmem);
	kvfree(econn->mem);
	kvfree_rcu(econn, rcu);
	/* under the lock, so that the device outlives the call: mroce_engine_dev_exit() */
	spin_lock_bh(&dev->conns_lock);
	if (!--dev->nconns)
		wake_up(&dev->conns_wq);
	spin_unlock_bh(&dev->conns_lock);
}

/* Softirq drops references too; what sleeps is left to a work. */
static void free_work(struct work_struct *work)
{
	free_econn(container_of(work, struct mroce_econn, free_work));
}

void mroce_econn_put(struct mroce_econn *econn)
{
	if (refcount_dec_and_test(&econn->refs))
		queue_work(mroce_wq, &econn->free_work);
}

/* No new QP from here on. Return: whether it was listed: then the caller ends it. */
static bool take_off_list(struct mroce_econn *econn)
{
	lockdep_assert_held(&econn->dev->conns_lock);
	if (!econn->listed)
		return false;
	econn->listed = false;
	list_del_init(&econn->node);
	spin_lock(&econn->lock);
	hand_over_counters(econn);
	spin_unlock(&econn->lock);
	return true;
}

/* Ends one that was taken off the list; drops the list's reference and the one on its twin. */
static void end_one(struct mroce_econn *econn)
{
	struct mroce_econn *twin;

	spin_lock_bh(&econn->dev->conns_lock);
	twin = econn->twin;
	econn->twin = NULL;
	spin_unlock_bh(&econn->dev->conns_lock);
	if (twin)
		mroce_econn_put(twin);
	mroce_hs_close(econn);
	xa_erase(&cids, econn->conn.cid);
	spin_lock_bh(&econn->lock);
	econn->gone = true;
	mroce_conn_lost(&econn->conn, mroce_now());
	spin_unlock_bh(&econn->lock);
	hrtimer_cancel(&econn->timer);
	tasklet_kill(&econn->tasklet);
	cancel_work_sync(&econn->pump_work);
	cancel_work_sync(&econn->grow_work);
	if (cancel_work_sync(&econn->ways_work))
		mroce_econn_put(econn);
	if (cancel_delayed_work(&econn->reap_work))
		mroce_econn_put(econn);
	mroce_econn_put(econn);
}

static void end_both(struct mroce_econn *econn, bool mine, struct mroce_econn *twin, bool its)
{
	if (mine)
		end_one(econn);
	if (its)
		end_one(twin);
}

/* No new QP, no timer, no tasklet from here on. Process context; drops the list's reference. */
void mroce_econn_unlist(struct mroce_econn *econn)
{
	struct mroce_econn *twin;
	bool mine, its = false;

	spin_lock_bh(&econn->dev->conns_lock);
	twin = econn->twin;
	mine = take_off_list(econn);
	if (twin) {
		refcount_inc(&twin->refs);
		its = take_off_list(twin);
	}
	spin_unlock_bh(&econn->dev->conns_lock);
	end_both(econn, mine, twin, its);
	if (twin)
		mroce_econn_put(twin);
}

/* Connections that no QP of ours uses: those that peers made, mostly. */
u32 mroce_econn_unused(struct mroce_dev *dev)
{
	struct mroce_econn *econn;
	u32 n = 0;

	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(econn, &dev->conns, node)
		n += !econn->nstreams;
	spin_unlock_bh(&dev->conns_lock);
	return n;
}

static void queue_reap(struct mroce_econn *econn)
{
	lockdep_assert_held(&econn->dev->conns_lock);
	/* the work's reference; one that was queued has its own */
	refcount_inc(&econn->refs);
	if (mod_delayed_work(mroce_wq, &econn->reap_work, LINGER))
		refcount_dec(&econn->refs);
}

/* A connection that was made to answer goes again if nobody comes to use it. */
void mroce_econn_reap_unused(struct mroce_econn *econn)
{
	spin_lock_bh(&econn->dev->conns_lock);
	if (econn->listed && !econn->nstreams)
		queue_reap(econn);
	spin_unlock_bh(&econn->dev->conns_lock);
}

static void reap_work(struct work_struct *work)
{
	struct mroce_econn *econn = container_of(to_delayed_work(work), struct mroce_econn,
						 reap_work);
	u64 seen = READ_ONCE(econn->conn.counters[MROCE_CNT_RX_PKTS]);
	struct mroce_dev *dev = econn->dev;
	struct mroce_econn *twin;
	bool unused, again, mine = false, its = false;

	spin_lock_bh(&dev->conns_lock);
	twin = econn->twin;
	unused = econn->listed && !econn->nstreams && (!twin || !twin->nstreams);
	/* the peer may be using it, or closing it; but it does not keep it for ever by that */
	again = unused && seen != econn->reap_seen && econn->reaps++ < MAX_REAPS;
	econn->reap_seen = seen;
	if (again) {
		queue_reap(econn);
	} else if (unused) {
		/* in the section that decides: nobody attaches in between */
		mine = take_off_list(econn);
		if (twin)
			its = take_off_list(twin);
	}
	if (twin)
		refcount_inc(&twin->refs);
	spin_unlock_bh(&dev->conns_lock);
	end_both(econn, mine, twin, its);
	if (twin)
		mroce_econn_put(twin);
	mroce_econn_put(econn);
}

/* Nobody finds the connection by it before xa_store(). */
static int new_cid(u32 *cid)
{
	int err;

	do {
		*cid = get_random_u32();
		if (!*cid)
			continue;
		err = xa_insert(&cids, *cid, NULL, GFP_KERNEL);
	} while (!*cid || err == -EBUSY);
	return err;
}

static void init_econn(struct mroce_econn *econn)
{
	refcount_set(&econn->refs, 1);
	spin_lock_init(&econn->lock);
	spin_lock_init(&econn->ack_lock);
	xa_init_flags(&econn->streams, XA_FLAGS_ALLOC1);
	xa_init(&econn->by_qpn);
	init_waitqueue_head(&econn->idle_wq);
	INIT_LIST_HEAD(&econn->node);
	tasklet_setup(&econn->tasklet, mroce_econn_tasklet);
	hrtimer_init(&econn->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	econn->timer.function = timer_fn;
	INIT_WORK(&econn->pump_work, mroce_econn_pump_work);
	INIT_WORK(&econn->grow_work, mroce_econn_grow_work);
	INIT_WORK(&econn->ways_work, mroce_ways_work);
	INIT_DELAYED_WORK(&econn->reap_work, reap_work);
	INIT_WORK(&econn->lost_work, mroce_econn_lost_work);
	INIT_WORK(&econn->free_work, free_work);
	econn->armed_at = MROCE_NEVER;
	econn->pump_at = MROCE_NEVER;
	econn->hs_at = MROCE_NEVER;
	econn->ways_at = MROCE_NEVER;
	econn->planes_at = MROCE_NEVER;
}

/**
 * mroce_econn_create - make a connection, unlisted
 * @dev: device
 * @src: own address
 * @dst: peer's address; the same for a self-connection
 * @tclass: traffic class without its ECN bits
 * @hop_limit: 0: the route's default
 * @side: 0, or, of a self-connection, 0 or 1
 * @is_self: one of two sides of a self-connection
 *
 * Process context. The caller lists it. Return: connection with one reference, or ERR_PTR().
 */
struct mroce_econn *mroce_econn_create(struct mroce_dev *dev, const struct mroce_addr *src,
				       const struct mroce_addr *dst, u8 tclass, u8 hop_limit,
				       u8 side, bool is_self)
{
	struct mroce_econn *econn = kvzalloc(sizeof(*econn), GFP_KERNEL);
	struct mroce_conn_cfg cfg;
	int err = -ENOMEM;
	void *txmem;
	u32 cid;

	if (!econn)
		return ERR_PTR(-ENOMEM);
	init_econn(econn);
	econn->dev = dev;
	econn->src = *src;
	econn->dst = *dst;
	econn->tclass = tclass;
	econn->hop_limit = hop_limit;
	econn->side = side;
	econn->is_self = is_self;
	mroce_ways_init(econn);
	econn->mem = kvzalloc(mroce_conn_mem(), GFP_KERNEL);
	if (!econn->mem)
		goto err_free;
	txmem = kvzalloc(mroce_txmem_size(MROCE_WINDOW, MROCE_INIT_PATHS), GFP_KERNEL);
	if (!txmem)
		goto err_mem;
	econn->ways[0].txq = mroce_txq_alloc(mroce_econn_wakeup, econn, MROCE_TXQ_LIMIT / 2);
	if (!econn->ways[0].txq)
		goto err_txmem;
	err = new_cid(&cid);
	if (err)
		goto err_txq;
	mroce_cfg_default(&cfg);
	mroce_params_to_cfg(&dev->params, &cfg);
	mroce_conn_init(&econn->conn, econn->mem, txmem, &mroce_engine_ops, &cfg, cid,
			get_random_u64());
	mroce_econn_set_mtu(econn, 1280);
	/* the slot is allocated: this can't fail */
	xa_store(&cids, cid, econn, GFP_KERNEL);
	spin_lock_bh(&dev->conns_lock);
	dev->nconns++;
	spin_unlock_bh(&dev->conns_lock);
	return econn;

err_txq:
	mroce_txqs_close(&econn->ways[0].txq, 1);
err_txmem:
	kvfree(txmem);
err_mem:
	kvfree(econn->mem);
err_free:
	kvfree(econn);
	return ERR_PTR(err);
}

static void self_up(struct mroce_econn *econn)
{
	struct mroce_econn *twin = econn->twin;
	u64 now = mroce_now();

	local_bh_disable();
	mroce_econn_set_mtu(econn, mroce_hs_route_mtu(econn));
	local_bh_enable();
	econn->peer_device_id = econn->dev->device_id;
	econn->peer_epoch = econn->dev->epoch;
	spin_lock_bh(&econn->lock);
	mroce_conn_peer_limits(&econn->conn, MROCE_MAX_WINDOW, MROCE_MAX_PATHS);
	mroce_conn_up(&econn->conn, twin->conn.cid, 0, now);
	spin_unlock_bh(&econn->lock);
}

/* Undoes mroce_econn_create() of one that was never listed. */
static void discard(struct mroce_econn *econn)
{
	xa_erase(&cids, econn->conn.cid);
	econn->gone = true;
	hrtimer_cancel(&econn->timer);
	if (econn->twin)
		mroce_econn_put(econn->twin);
	econn->twin = NULL;
	mroce_econn_put(econn);
}

/**
 * mroce_econn_list - let a new connection be found, and its twin
 * @econn: from mroce_econn_create()
 *
 * Process context. Return: @econn with a reference for the caller; another one likewise if
 * somebody was faster, or ERR_PTR(): then @econn is gone.
 */
struct mroce_econn *mroce_econn_list(struct mroce_econn *econn)
{
	struct mroce_econn *twin = econn->twin, *other = NULL;
	struct mroce_dev *dev = econn->dev;
	bool dying;

	spin_lock_bh(&dev->conns_lock);
	dying = dev->dying;
	if (!dying)
		other = find_listed(dev, &econn->src, &econn->dst, econn->tclass, econn->side);
	if (other) {
		refcount_inc(&other->refs);
	} else if (!dying) {
		list_add_tail(&econn->node, &dev->conns);
		econn->listed = true;
		refcount_inc(&econn->refs);	/* the list's */
		if (twin) {
			list_add_tail(&twin->node, &dev->conns);
			twin->listed = true;
			mroce_econn_set_params(twin);
		}
		/* they may have changed since it was made */
		mroce_econn_set_params(econn);
	}
	spin_unlock_bh(&dev->conns_lock);
	if (!other && !dying)
		return econn;
	if (twin)
		discard(twin);
	discard(econn);
	return other ?: ERR_PTR(-ENODEV);
}

static struct mroce_econn *create_self(struct mroce_dev *dev, const struct mroce_addr *addr,
				       u8 tclass, u8 hop_limit, u8 side)
{
	struct mroce_econn *econn, *twin;

	econn = mroce_econn_create(dev, addr, addr, tclass, hop_limit, side, true);
	if (IS_ERR(econn))
		return econn;
	twin = mroce_econn_create(dev, addr, addr, tclass, hop_limit, !side, true);
	if (IS_ERR(twin)) {
		discard(econn);
		return twin;
	}
	econn->twin = twin;
	twin->twin = econn;
	refcount_inc(&econn->refs);
	refcount_inc(&twin->refs);
	self_up(econn);
	self_up(twin);
	return econn;
}

/**
 * mroce_econn_attach - the connection that a QP uses
 * @dev: device
 * @src: own address
 * @dst: peer's address; the same for a self-connection
 * @tclass: traffic class without its ECN bits
 * @hop_limit: 0: the route's default
 * @side: 0, or, of a self-connection, 0 or 1
 *
 * Process context. Counts the QP; mroce_econn_detach() undoes it. Return: connection with a
 * reference, or ERR_PTR().
 */
struct mroce_econn *mroce_econn_attach(struct mroce_dev *dev, const struct mroce_addr *src,
				       const struct mroce_addr *dst, u8 tclass, u8 hop_limit,
				       u8 side)
{
	struct mroce_econn *econn;
	bool self = mroce_addr_equal(src, dst);
	bool ok;

	do {
		econn = mroce_econn_lookup(dev, src, dst, tclass, side);
		if (!econn) {
			econn = self ? create_self(dev, src, tclass, hop_limit, side) :
				       mroce_econn_create(dev, src, dst, tclass, hop_limit, 0,
							  false);
			if (!IS_ERR(econn))
				econn = mroce_econn_list(econn);
		}
		if (IS_ERR(econn))
			return econn;
		spin_lock_bh(&dev->conns_lock);
		ok = econn->listed;
		if (ok) {
			econn->nstreams++;
			econn->reaps = 0;
		}
		spin_unlock_bh(&dev->conns_lock);
		if (!ok)
			mroce_econn_put(econn);
	} while (!ok);
	return econn;
}

bool mroce_econn_listed(struct mroce_econn *econn)
{
	bool listed;

	spin_lock_bh(&econn->dev->conns_lock);
	listed = econn->listed;
	spin_unlock_bh(&econn->dev->conns_lock);
	return listed;
}

void mroce_econn_detach(struct mroce_econn *econn)
{
	struct mroce_dev *dev = econn->dev;

	spin_lock_bh(&dev->conns_lock);
	if (!--econn->nstreams && econn->listed)
		queue_reap(econn);
	spin_unlock_bh(&dev->conns_lock);
	mroce_econn_put(econn);
}
