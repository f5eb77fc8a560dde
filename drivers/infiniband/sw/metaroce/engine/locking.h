/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The lock chapter.
 *
 * Order, outermost first; a lock is taken only while those above it are held or none:
 *
 *	qp->modify_lock		mutex; one state change of a QP at a time
 *	dev->conns_lock		spinlock, BH off; dev->conns and whether a connection is in it
 *	econn->lock		spinlock, BH off; the transport: everything in econn->conn and in
 *				the core part of every stream bound to it
 *	wq.lock (RQ)		spinlock; a receive queue
 *	wq.lock (SQ)		spinlock; a send queue, while it is posted to. Never taken under
 *				econn->lock: completing a request moves sq.tail with a release
 *	cq->lock		spinlock; a completion queue. Innermost
 *
 * Leaves beside these: qp->state_lock, np->routes_lock (whose routes hold a dst_entry), and the
 * locks of lists of links and devices, and of netlink's queue of events. qp->ud_rx_lock
 * (spinlock, BH off; one datagram at a time takes a receive) is outside of the receive queue's.
 *
 * econn->ack_lock (spinlock, BH off) protects the routes of acknowledgments and other small
 * packets (ways[].small) and is held over the transmission of one of them. No other lock of ours
 * but a leaf is taken then.
 *
 * What is done without a lock: building and sending bursts (one CPU at a time per connection:
 * econn->pumping), copying payload (any number of CPUs). What they refer to is pinned in the
 * core: mroce_stream_busy() says when nothing is. Whoever set econn->pumping has ways[].route
 * and ways[].txq for himself, too: ways_work, which gives ways new ends, sets it for that.
 *
 * dev->planes and dev->netdev are written under RTNL, econn->peer under econn->lock; all are read
 * under RCU.
 *
 * Completion handlers and async events run with no lock of ours held: completions are collected
 * in a struct mroce_notify under econn->lock and raised after it.
 *
 * References: a QP bound to a connection holds it (qp->econn). A connection is found by its id
 * under RCU and then referenced. The timer, the tasklet, pump_work and grow_work of a connection
 * hold no reference: the last user cancels them before it frees the connection, and they do not
 * start anew once econn->gone is set.
 *
 * Teardown of a stream: mroce_stream_stop() under econn->lock makes it refuse whatever comes;
 * then wait (econn->idle_wq) until it is not busy; then unbind it under econn->lock.
 */
#ifndef _METAROCE_LOCKING_H
#define _METAROCE_LOCKING_H

#include <linux/lockdep.h>

#define mroce_assert_conn(econn)	lockdep_assert_held(&(econn)->lock)

#endif /* _METAROCE_LOCKING_H */
