// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Which path the next burst takes. A scheduler is one const table. */
#include "internal.h"

#define CANDIDATES	16

/* Is a packet on @a expected to arrive earlier than on @b? */
static bool earlier(const struct mroce_path *a, const struct mroce_path *b)
{
	u64 cost_a = (u64)a->srtt_us * (a->inflight + 1) * b->cwnd;
	u64 cost_b = (u64)b->srtt_us * (b->inflight + 1) * a->cwnd;

	return cost_a < cost_b;
}

/*
 * What is in flight on a path left by one local queue; through another one, packets would
 * overtake it, and a gap on a path is to mean loss.
 */
static bool other_lane(const struct mroce_conn *c, const struct mroce_path *p)
{
	return p->inflight && p->lane != c->lane;
}

/*
 * Less room than a good burst, while acknowledgments are on their way: wait for them. Else the
 * short burst at the end of a message would beget short bursts for ever, one per
 * acknowledgment (the silly window of RFC 813).
 */
static bool silly(struct mroce_conn *c, const struct mroce_path *p)
{
	u32 good = min_t(u32, c->want, max_t(u32, p->cwnd / 4, 1));

	return p->inflight && mroce_path_room(c, p) < good;
}

/*
 * Earliest delivery: the round-trip time times the share of the window that is full. Every
 * path is used, in proportion to its window: one that is not used shows neither that it
 * is good nor that it is dead. Ties go round. A suspect path is taken only when no active
 * one lives.
 */
static struct mroce_path *pick_earliest(struct mroce_conn *c, u64 now)
{
	u8 want = c->nactive ? MROCE_PATH_ACTIVE : MROCE_PATH_SUSPECT;
	u32 start = (c->last_path + 1) % MROCE_MAX_PATHS, from = start, looked = 0, gone = 0, id;
	struct mroce_path *best = NULL;

	/* among hundreds, the best of some is as good as the best of all */
	while (looked < CANDIDATES && mroce_bit_next(c->open, MROCE_MAX_PATHS, from, &id)) {
		struct mroce_path *p = &c->paths[id];
		u32 way = (id - start) % MROCE_MAX_PATHS + 1;

		if (way <= gone)
			break;		/* once round */
		gone = way;
		from = (id + 1) % MROCE_MAX_PATHS;
		if (!mroce_path_room(c, p)) {
			mroce_path_close(c, p);
			continue;
		}
		if (p->state != want || !mroce_way_ready(c, p) || other_lane(c, p) || silly(c, p))
			continue;
		looked++;
		if (!best || earlier(p, best))
			best = p;
	}
	if (best)
		c->last_path = best->id;
	return best;
}

const struct mroce_sched_ops mroce_sched_default = {
	.name = "earliest",
	.pick = pick_earliest,
};
