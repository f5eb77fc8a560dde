// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two devices, one connection, whatever addresses of theirs queue pairs name (MR-3.6-*).
 *
 * Which device an address belongs to shows in its CHALLENGE. If there is a connection with that
 * device already, the HELLO that follows names it; the responder notes the pair of addresses,
 * and says so in its WELCOME. What waited for a connection of its own moves to the one that there
 * is, and that which was only being opened ends.
 */
#include "internal.h"

#define PATIENCE	4	/* HELLOs; a first attempt that takes longer may never succeed */

/* Its lock not held. Is @econn one with that device, in that life of it? */
static bool is_with(struct mroce_econn *econn, u8 state, u64 device_id, u32 epoch)
{
	bool yes;

	if (READ_ONCE(econn->peer_device_id) != device_id)
		return false;	/* most: their locks are left alone */
	spin_lock_bh(&econn->lock);
	yes = !econn->is_self && !econn->gone && econn->conn.state == state &&
	      econn->peer_device_id == device_id && econn->peer_epoch == epoch;
	spin_unlock_bh(&econn->lock);
	return yes;
}

/* The connection that there is with a device. Return: with a reference, or NULL. */
static struct mroce_econn *find_up(struct mroce_dev *dev, u64 device_id, u32 epoch, u8 tclass)
{
	struct mroce_econn *econn, *found = NULL;

	/* two addresses of one device: the two ends would not be told apart */
	if (device_id == dev->device_id)
		return NULL;
	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(econn, &dev->conns, node) {
		if (econn->tclass != tclass || econn->nalso == MROCE_MAX_ALSO ||
		    !is_with(econn, MROCE_CONN_UP, device_id, epoch))
			continue;
		refcount_inc(&econn->refs);
		found = econn;
		break;
	}
	spin_unlock_bh(&dev->conns_lock);
	return found;
}

/**
 * mroce_join_choose - before HELLO is sent: look for what it could join
 * @econn: connection that is being opened
 *
 * Sets econn->hs_join.
 */
void mroce_join_choose(struct mroce_econn *econn)
{
	struct mroce_econn *up = NULL;
	u32 join = 0;

	if (econn->hs_cookie && econn->conn.state == MROCE_CONN_CONNECTING)
		up = find_up(econn->dev, econn->peer_device_id, econn->peer_epoch, econn->tclass);
	if (up) {
		join = READ_ONCE(up->conn.peer_cid);
		mroce_econn_put(up);
	}
	WRITE_ONCE(econn->hs_join, join);
}

/**
 * mroce_join_waits - should another attempt to reach the same device come first?
 * @econn: connection that is being opened
 *
 * Of several, the one with the lowest id goes on; the others join it when it is up.
 * Return: true: no HELLO now, the next pause looks again.
 */
bool mroce_join_waits(struct mroce_econn *econn)
{
	struct mroce_dev *dev = econn->dev;
	struct mroce_econn *other;
	bool waits = false;

	if (!econn->hs_cookie || econn->hs_tries > PATIENCE ||
	    econn->conn.state != MROCE_CONN_CONNECTING)
		return false;
	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(other, &dev->conns, node) {
		if (other == econn || other->tclass != econn->tclass ||
		    other->conn.cid > econn->conn.cid || READ_ONCE(other->hs_tries) > PATIENCE ||
		    !is_with(other, MROCE_CONN_CONNECTING, econn->peer_device_id,
			     econn->peer_epoch))
			continue;
		waits = true;
		break;
	}
	spin_unlock_bh(&dev->conns_lock);
	return waits;
}

/**
 * mroce_join_yields - should this HELLO stay unanswered, for ours will be?
 * @dev: device that received it
 * @m: HELLO with a good cookie
 * @tclass: of it
 *
 * Both devices ask, by different addresses: the lower id goes on, as in MR-3.3-01.
 */
bool mroce_join_yields(struct mroce_dev *dev, const struct mroce_hello *m, u8 tclass)
{
	struct mroce_econn *econn;
	bool yields = false;

	if (m->dcid || dev->device_id >= m->device_id)
		return false;
	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(econn, &dev->conns, node) {
		if (econn->tclass != tclass || !econn->hs_tries || econn->hs_tries > PATIENCE ||
		    !is_with(econn, MROCE_CONN_CONNECTING, m->device_id, m->epoch))
			continue;
		yields = true;
		break;
	}
	spin_unlock_bh(&dev->conns_lock);
	return yields;
}

/* @econn came up: those that waited for it ask now. */
void mroce_join_wake(struct mroce_econn *econn)
{
	struct mroce_dev *dev = econn->dev;
	u64 now = mroce_now();
	struct mroce_econn *other;

	spin_lock_bh(&dev->conns_lock);
	list_for_each_entry(other, &dev->conns, node) {
		if (other == econn || other->tclass != econn->tclass || !other->hs_cookie ||
		    !is_with(other, MROCE_CONN_CONNECTING, econn->peer_device_id,
			     econn->peer_epoch))
			continue;
		spin_lock(&other->lock);
		mroce_hs_start(other, now);
		spin_unlock(&other->lock);
	}
	spin_unlock_bh(&dev->conns_lock);
}

/**
 * mroce_join_asked - the connection that a HELLO asks to join
 * @dev: device that received it
 * @m: HELLO with a good cookie
 * @tclass: of it
 *
 * Return: with a reference; NULL if it asks for none, or for one that there is not between these
 * two devices: then it is answered as if it had not asked.
 */
struct mroce_econn *mroce_join_asked(struct mroce_dev *dev, const struct mroce_hello *m, u8 tclass)
{
	struct mroce_econn *econn;

	if (!m->dcid || m->device_id == dev->device_id)
		return NULL;
	econn = mroce_econn_find(m->dcid);
	if (!econn)
		return NULL;
	if (econn->dev == dev && econn->tclass == tclass &&
	    is_with(econn, MROCE_CONN_UP, m->device_id, m->epoch))
		return econn;
	mroce_econn_put(econn);
	return NULL;
}

/**
 * mroce_join_take - the peer comes by another pair of addresses
 * @econn: connection that it asks to join
 * @src: own address
 * @dst: peer's address, which a cookie has proved
 * @peer_cid: what the peer called the attempt
 *
 * Return: false if the attempt got a connection of its own before, or @econn can take no more.
 */
bool mroce_join_take(struct mroce_econn *econn, const struct mroce_addr *src,
		     const struct mroce_addr *dst, u32 peer_cid)
{
	struct mroce_econn *own = mroce_econn_lookup(econn->dev, src, dst, econn->tclass, 0);
	bool taken = true;

	if (own && own != econn) {
		spin_lock_bh(&own->lock);
		taken = own->conn.state != MROCE_CONN_UP || own->conn.peer_cid != peer_cid;
		spin_unlock_bh(&own->lock);
	}
	taken = taken && mroce_econn_add_pair(econn, src, dst, peer_cid);
	if (own && own != econn && taken)
		mroce_econn_lost(own);	/* its streams move */
	if (own)
		mroce_econn_put(own);
	return taken;
}

/**
 * mroce_join_welcomed - the peer takes us into the connection that we asked to join
 * @econn: the attempt, whose streams move
 * @m: WELCOME, from the peer's end of the connection that there is
 */
void mroce_join_welcomed(struct mroce_econn *econn, const struct mroce_hello *m)
{
	struct mroce_econn *up = find_up(econn->dev, m->device_id, m->epoch, econn->tclass);

	/* it may have ended in the meantime: the next HELLO will not name it */
	if (!up)
		return;
	if (up != econn && READ_ONCE(up->conn.peer_cid) == m->scid &&
	    mroce_econn_add_pair(up, &econn->src, &econn->dst, 0))
		mroce_econn_lost(econn);
	mroce_econn_put(up);
}
