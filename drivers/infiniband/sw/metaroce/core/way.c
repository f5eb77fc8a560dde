// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ways: one of our netdevs, one of the peer's, and the fabric between them. Every path leaves by
 * one. A way that is down takes its paths with it, at once: their packets go by others. Whether
 * packets come through again is for the caller to find out. MR-12.*
 */
#include "internal.h"

#define SILENT_PKTS	8	/* unanswered at a time: that much is no random loss */
#define SILENT_PROBES	2	/* ... or so many probes in a row */

static u8 bit(u8 way)
{
	return 1U << way;
}

u8 mroce_way_for_path(const struct mroce_conn *c)
{
	u8 best = 0, i;

	for (i = 0; i < MROCE_MAX_WAYS; i++)
		if (c->ways_up & bit(i) && (!(c->ways_up & bit(best)) ||
					    c->ways[i].npaths < c->ways[best].npaths))
			best = i;
	return best;
}

void mroce_ways_fill(struct mroce_conn *c, u64 now)
{
	u32 missing = 0, limit = min_t(u32, c->peer_paths, MROCE_MAX_PATHS);
	u32 each = min_t(u32, c->cfg.paths, c->cfg.max_paths);
	u8 i;

	for (i = 0; i < MROCE_MAX_WAYS; i++) {
		struct mroce_way *w = &c->ways[i];

		if (!(c->ways_up & bit(i)))
			continue;
		while (w->npaths < each && c->npaths < min_t(u32, c->max_paths, limit))
			mroce_path_add(c, i, max_t(u32, w->base_us, 1), now);
		missing += each - min_t(u32, w->npaths, each);
	}
	missing = min_t(u32, missing, limit - c->npaths);
	c->ways_short = missing;
	if (missing)
		mroce_want_room(c, c->npaths + missing, now);
}

void mroce_conn_way_up(struct mroce_conn *c, u8 way, u32 rtt_us, u64 now)
{
	struct mroce_way *w = &c->ways[way];
	u32 i;

	if (c->state != MROCE_CONN_UP || c->ways_up & bit(way))
		return;
	c->ways_up |= bit(way);
	/* a guess that is too long for the first sample to be taken for a queue */
	if (!w->base_us)
		w->base_us = max_t(u32, rtt_us, 1);
	w->ack_at = now;
	mroce_cnt(c, MROCE_CNT_WAY_UP);
	for (i = 0; i < c->npaths; i++)
		if (c->paths[i].way == way && c->paths[i].state == MROCE_PATH_FAILED)
			mroce_path_revive(c, &c->paths[i], rtt_us, now);
	mroce_ways_fill(c, now);
}

/* Ways without any path: there was no room for theirs. They get those of the way that failed. */
static void take_over(struct mroce_conn *c, u8 way, u64 now)
{
	u8 other = mroce_way_for_path(c), i;
	u32 k;

	for (i = 0; i < MROCE_MAX_WAYS; i++)
		if (c->ways_up & bit(i) && c->ways[i].npaths)
			return;
	for (k = 0; k < c->npaths; k++) {
		struct mroce_path *p = &c->paths[k];

		if (p->way != way)
			continue;
		/* nothing is in flight on it, and its source port is new */
		c->ways[way].npaths--;
		p->way = other;
		c->ways[other].npaths++;
		mroce_path_revive(c, p, c->ways[other].base_us, now);
	}
}

bool mroce_conn_way_down(struct mroce_conn *c, u8 way, u64 now)
{
	u32 i;

	if (c->state != MROCE_CONN_UP || !(c->ways_up & bit(way)) || c->ways_up == bit(way))
		return false;
	c->ways_up &= ~bit(way);
	mroce_cnt(c, MROCE_CNT_WAY_DOWN);
	for (i = 0; i < c->npaths; i++)
		if (c->paths[i].way == way)
			mroce_path_fail(c, &c->paths[i], MROCE_PATH_FAILED, now);
	take_over(c, way, now);
	return true;
}

/* Packets of the way that have waited longer than a probe would. */
static u32 unanswered(struct mroce_conn *c, u8 way, u64 pto, u64 now)
{
	u32 i, n = 0;

	for (i = 0; i < c->npaths; i++) {
		struct mroce_path *p = &c->paths[i];

		if (p->way == way && p->head != MROCE_NONE &&
		    mroce_rec(c, p->head)->sent_at + pto <= now)
			n += p->inflight;
	}
	return n;
}

bool mroce_way_is_silent(struct mroce_conn *c, const struct mroce_path *p, u64 now)
{
	u64 pto = mroce_path_pto(c, p), heard = c->ways[p->way].ack_at, last = 0;
	u8 i;

	if (c->ways_up == bit(p->way) || heard + pto > now)
		return false;
	for (i = 0; i < MROCE_MAX_WAYS; i++)
		if (i != p->way && c->ways_up & bit(i))
			last = max_t(u64, last, c->ways[i].ack_at);
	/* nobody is heard: the peer, or we, stood still */
	if (last <= heard || last + pto <= now)
		return false;
	return p->probes >= SILENT_PROBES || unanswered(c, p->way, pto, now) >= SILENT_PKTS;
}
