/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared by the files of engine/ only. */
#ifndef _METAROCE_ENGINE_INTERNAL_H
#define _METAROCE_ENGINE_INTERNAL_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/wait.h>

#include "../kunit/visible.h"
#include "../net/net.h"
#include "../nl/nl.h"
#include "engine.h"
#include "locking.h"

#define MROCE_MAX_MTU		9216
#define MROCE_TXQ_LIMIT		(4U << 20)	/* bytes in the local stack per connection */
#define MROCE_HS_TABLE		256		/* handshakes being answered at a time */
#define MROCE_UNUSED_CONNS	256		/* connections of a device that only peers want */
enum mroce_eway_state {
	MROCE_EWAY_NONE,		/* we, or the peer, have no such plane */
	MROCE_EWAY_AIMING,		/* is given new ends: no reply counts */
	MROCE_EWAY_ASKING,		/* PROBE is sent now and then */
	MROCE_EWAY_UP,			/* the core may use it */
};

/*
 * A way as the engine drives it: plane @index of ours, plane @peer_plane of the peer's. way.c
 */
struct mroce_eway {
	struct mroce_addr src, dst;	/* written by way.c's work while nobody uses the routes */
	struct mroce_route route;	/* whoever set pumping */
	struct mroce_txq *txq;		/* likewise; NULL: never used */
	struct mroce_route small;	/* under ack_lock: what is no data */

	/* under lock */
	u8 state;			/* enum mroce_eway_state */
	u8 peer_plane;
	bool strayed;			/* not to the plane of its number, which does not answer */
	int oif;			/* of its routes */
	u32 tries;			/* probes in a row without an answer */
	u8 flaps;			/* times in a row that it did not last */
	u64 nonce;
	u64 asked_at, ask_at;
	u64 since;			/* when it last came up, or went down */
};

/* The peer's planes, as it said last. Replaced as a whole. */
struct mroce_peer_planes {
	struct rcu_head rcu;
	u32 serial;
	u8 count;
	struct mroce_peer_plane {
		u8 index;
		bool up;
		struct mroce_addr addr;
	} plane[MROCE_MAX_PLANES];
};

/*
 * A connection as the engine drives it. Two of them make a self-connection: the QP with the
 * lower number is on side 0, the other one on side 1.
 */
struct mroce_econn {
	struct rcu_head rcu;		/* near the start: kvfree_rcu() */
	struct mroce_dev *dev;
	refcount_t refs;
	spinlock_t lock;		/* see locking.h */
	struct mroce_conn conn;
	void *mem;			/* the core's pools */
	struct mroce_notify *notify;	/* of whoever holds @lock */

	struct mroce_addr src, dst;	/* what it was opened between */
	struct mroce_addr_pair also[MROCE_MAX_ALSO];	/* QPs use it by these, too; conns_lock */
	u32 nalso;
	u8 tclass;
	u8 hop_limit;
	u8 side;			/* self-connections: 0 or 1 */
	bool is_self;
	bool listed;			/* in dev->conns: new QPs may use it; under conns_lock */
	bool gone;			/* nothing may be started any more */
	struct list_head node;		/* dev->conns */
	struct mroce_econn *twin;	/* the other side, referenced; under conns_lock */
	struct xarray streams;		/* handle -> struct mroce_stream */
	struct xarray by_qpn;		/* own QP number -> the same */
	u32 next_handle;
	u32 nstreams;			/* under conns_lock */
	wait_queue_head_t idle_wq;

	/* transmission: whoever set pumping */
	bool pumping, pump_again;	/* under lock */
	u64 pump_at;			/* no route or no room: try again */
	struct mroce_burst burst;

	struct mroce_eway ways[MROCE_MAX_WAYS];	/* by our plane; [0] from the start */
	u32 nways;			/* the highest one that was ever used, and 1 */
	struct mroce_peer_planes __rcu *peer;	/* NULL: it has one plane; written under lock */
	struct mroce_planes said;	/* our PLANES; under lock; serial 0: none was sent */
	u64 planes_at, planes_pause;	/* when it is repeated; MROCE_NEVER: it has arrived */
	u16 mtu;			/* of its packets; under lock */
	u64 ways_at;			/* no probe and no PLANES is due earlier; under lock */
	struct work_struct ways_work;

	spinlock_t ack_lock;		/* protects ways[].small */
	u16 ack_sport;			/* source port of acknowledgments: path 0's */
	u8 ack_way;			/* by which the last packets came */

	struct tasklet_struct tasklet;	/* what was left to do: acknowledge, pump */
	struct hrtimer timer;
	u64 armed_at;			/* under lock */
	struct work_struct pump_work;
	struct work_struct grow_work;	/* more may be under way: grow.c */
	long grown_bytes;		/* of conn.txmem, if it was grown; grow_work's */
	struct delayed_work reap_work;
	struct work_struct lost_work;
	struct work_struct free_work;

	/* handshake */
	u64 hs_at, hs_sent_at, hs_cookie;	/* under lock */
	u32 hs_join;			/* the peer's id of what it asks to join: join.c */
	u32 hs_tries;
	u16 hs_mtu;
	bool hs_verify;			/* asking whether the peer still knows us; under lock */
	u64 reap_seen;			/* packets received when last looked at */
	u32 reaps;			/* times that they kept it, unused */
	u32 peer_epoch;			/* under lock; by CHALLENGE, then by who was agreed with */
	u64 peer_device_id;

	atomic_t held_bytes;
};

static inline struct mroce_econn *to_econn(struct mroce_conn *c)
{
	return container_of(c, struct mroce_econn, conn);
}

static inline u64 mroce_now(void)
{
	return ktime_get_ns();
}

static inline bool mroce_addr_equal(const struct mroce_addr *a, const struct mroce_addr *b)
{
	if (a->family != b->family)
		return false;
	if (a->family == MROCE_AF_INET)
		return a->v4 == b->v4;
	return a->scope_id == b->scope_id && !memcmp(a->v6, b->v6, sizeof(a->v6));
}

/* device.c */
struct mroce_dev *mroce_dev_find(struct mroce_net_port *np, const struct mroce_addr *addr);
void mroce_dev_put(struct mroce_dev *dev);
void mroce_count_at(struct mroce_net_port *np, const struct mroce_addr *addr,
		    enum mroce_counter id);
void mroce_addr_to_gid(const struct mroce_addr *addr, union ib_gid *gid);
/*
 * A message that no way of a connection is meant for. @rt: on the stack, not refreshed; dropped
 * when this returns. BH disabled.
 */
void mroce_send_once(struct mroce_dev *dev, struct mroce_route *rt, const u8 *data,
		     unsigned int len);

/* conn.c */
struct mroce_econn *mroce_econn_find(u32 cid);
struct mroce_econn *mroce_econn_by_peer(struct mroce_dev *dev, const struct mroce_addr *dst,
					u32 peer_cid);
void mroce_econn_reap_unused(struct mroce_econn *econn);
bool mroce_econn_add_pair(struct mroce_econn *econn, const struct mroce_addr *src,
			  const struct mroce_addr *dst, u32 peer_cid);
bool mroce_econn_joined_by(struct mroce_econn *econn, const struct mroce_addr *src,
			   const struct mroce_addr *dst, u32 peer_cid);
bool mroce_econn_drop_pair(struct mroce_econn *econn, const struct mroce_addr *src,
			   const struct mroce_addr *dst);
struct mroce_econn *mroce_econn_lookup(struct mroce_dev *dev, const struct mroce_addr *src,
				       const struct mroce_addr *dst, u8 tclass, u8 side);
struct mroce_econn *mroce_econn_create(struct mroce_dev *dev, const struct mroce_addr *src,
				       const struct mroce_addr *dst, u8 tclass, u8 hop_limit,
				       u8 side, bool is_self);
struct mroce_econn *mroce_econn_attach(struct mroce_dev *dev, const struct mroce_addr *src,
				       const struct mroce_addr *dst, u8 tclass, u8 hop_limit,
				       u8 side);
void mroce_econn_detach(struct mroce_econn *econn);
struct mroce_econn *mroce_econn_list(struct mroce_econn *econn);
void mroce_econn_put(struct mroce_econn *econn);
void mroce_econn_unlist(struct mroce_econn *econn);
u32 mroce_econn_unused(struct mroce_dev *dev);
bool mroce_econn_listed(struct mroce_econn *econn);
/* @lock held: (re)arms the timer for whatever comes next. */
void mroce_econn_arm(struct mroce_econn *econn, u64 now);
void mroce_econn_lock(struct mroce_econn *econn, struct mroce_notify *notify)
	__acquires(&econn->lock);
void mroce_econn_unlock(struct mroce_econn *econn) __releases(&econn->lock);
void mroce_econn_set_mtu(struct mroce_econn *econn, u16 mtu);
void mroce_econn_wakeup(void *econn);

/* handshake.c */
void mroce_hs_start(struct mroce_econn *econn, u64 now);	/* @lock held */
void mroce_hs_timeout(struct mroce_econn *econn, u64 now);	/* no lock, BH off */
void mroce_hs_rx(struct mroce_net_port *np, int type, const u8 *data, unsigned int len,
		 unsigned int wire_len, const struct mroce_addr *src,
		 const struct mroce_addr *dst, u8 tclass);
void mroce_hs_unknown(struct mroce_net_port *np, u32 dcid, const struct mroce_addr *src,
		      const struct mroce_addr *dst);
void mroce_hs_close(struct mroce_econn *econn);
u16 mroce_hs_route_mtu(const struct mroce_econn *econn);
struct mroce_econn *mroce_hs_between(struct mroce_net_port *np, u32 dcid, u32 scid,
				     const struct mroce_addr *src, const struct mroce_addr *dst);
/* Waits until no handshake of the device is being answered. */
void mroce_hs_flush(void);
/* Makes the secret of cookies. Process context. Return: 0 or -ENOMEM. */
int mroce_hs_init(void);
void mroce_hs_exit(void);

/* join.c: two devices, one connection. Any context but hard interrupts, no lock held. */
void mroce_join_choose(struct mroce_econn *econn);
bool mroce_join_waits(struct mroce_econn *econn);
bool mroce_join_yields(struct mroce_dev *dev, const struct mroce_hello *m, u8 tclass);
void mroce_join_wake(struct mroce_econn *econn);
struct mroce_econn *mroce_join_asked(struct mroce_dev *dev, const struct mroce_hello *m, u8 tclass);
bool mroce_join_take(struct mroce_econn *econn, const struct mroce_addr *src,
		     const struct mroce_addr *dst, u32 peer_cid);
void mroce_join_welcomed(struct mroce_econn *econn, const struct mroce_hello *m);

/* lost.c: the peer went away or was reborn */
void mroce_econn_lost_work(struct work_struct *work);
void mroce_econn_lost(struct mroce_econn *econn);		/* any context */

/* @lock held. Who sleeps until a stream is idle looks under that lock, after it has queued. */
static inline void mroce_econn_wake(struct mroce_econn *econn)
{
	mroce_assert_conn(econn);
	/* ordered by the lock, see above */
	if (waitqueue_active(&econn->idle_wq))
		wake_up(&econn->idle_wq);
}

/* tx.c */
/* No lock, BH off. @now: of the event that is the reason, in ns. */
void mroce_econn_pump(struct mroce_econn *econn, u64 now);
/* From the process that posted @bytes: no lock, BH off; on when it returns. */
void mroce_econn_pump_post(struct mroce_econn *econn, u64 bytes, u64 now);
void mroce_econn_pump_work(struct work_struct *work);
/* Process context: nobody sends data until mroce_econn_pump_release(). */
void mroce_econn_pump_claim(struct mroce_econn *econn);
void mroce_econn_pump_release(struct mroce_econn *econn);
int mroce_tx_init(void);
void mroce_tx_exit(void);
void mroce_econn_send_ack(struct mroce_econn *econn, const struct mroce_ack *ack);
/* BH disabled. By the way that is best; by this one. */
int mroce_econn_send_small(struct mroce_econn *econn, const void *data, unsigned int len);
int mroce_econn_send_by(struct mroce_econn *econn, u8 way, const void *data, unsigned int len);

/* way.c */
void mroce_ways_init(struct mroce_econn *econn);
void mroce_ways_exit(struct mroce_econn *econn);
void mroce_ways_start(struct mroce_econn *econn, u64 now);	/* @lock held: it comes up */
void mroce_ways_changed(struct mroce_econn *econn);		/* any context */
void mroce_ways_work(struct work_struct *work);
void mroce_ways_timeout(struct mroce_econn *econn, u64 now);	/* no lock, BH off */
void mroce_ways_failed(struct mroce_econn *econn, u8 way, u64 now);	/* no lock, BH off */
void mroce_ways_silent(struct mroce_econn *econn, u8 way);	/* @lock held */
/* Does a packet come from the peer? Then acknowledgments go back that way. Softirq. */
bool mroce_ways_known(struct mroce_econn *econn, const struct mroce_addr *src,
		      const struct mroce_addr *dst);
void mroce_ways_rx(struct mroce_net_port *np, int type, const u8 *data, unsigned int len,
		   const struct mroce_addr *src, const struct mroce_addr *dst, int ifindex);

/* trace.c: ops of the core, @lock held */
void mroce_trace_conn_event(struct mroce_conn *c);
void mroce_trace_path_event(struct mroce_conn *c, const struct mroce_path *p, u8 old);
void mroce_trace_stream_event(struct mroce_stream *s, u8 old);
void mroce_trace_repair(struct mroce_conn *c, const struct mroce_txrec *r, enum mroce_repair why);
void mroce_trace_refused(struct mroce_conn *c, const struct mroce_rxpkt *pkt, u8 nak);

/* params.c */
void mroce_params_default(struct mroce_params *p);
void mroce_params_to_cfg(const struct mroce_params *p, struct mroce_conn_cfg *cfg);
void mroce_econn_set_params(struct mroce_econn *econn);		/* conns_lock held */

/* dump.c: ops of the core, @lock held */
void mroce_econn_conn_event(struct mroce_conn *c);
void mroce_econn_path_event(struct mroce_conn *c, const struct mroce_path *p, u8 old);

/* grow.c */
void mroce_econn_grow(struct mroce_econn *econn);		/* @lock held */
void mroce_econn_grow_work(struct work_struct *work);
void mroce_econn_shrink(struct mroce_econn *econn);

/* rx.c */
/* @lock held. Return: whether there is an acknowledgment to send with mroce_econn_send_acks(). */
bool mroce_econn_next_ack(struct mroce_econn *econn, u64 now);
/* No lock; BH has been off since mroce_econn_next_ack(), and no packet received meanwhile. */
void mroce_econn_send_acks(struct mroce_econn *econn, u64 now);
void mroce_econn_tasklet(struct tasklet_struct *t);

/* ops.c */
extern const struct mroce_core_ops mroce_engine_ops;

/* place.c */
void mroce_place_batch(struct mroce_econn *econn, struct mroce_rxbatch *b);

/* copy.c */
void mroce_copy_ascending(void *dst, const void *src, size_t len);

/* datagram.c */
void mroce_dgram_rx(struct mroce_net_port *np, struct sk_buff *skb, unsigned int off,
		    unsigned int len, const struct mroce_addr *src, const struct mroce_addr *dst);

#endif /* _METAROCE_ENGINE_INTERNAL_H */
