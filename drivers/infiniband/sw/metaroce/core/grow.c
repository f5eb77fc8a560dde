// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How much may be under way. A sender begins with room for few packets and few paths, and asks for
 * more when a long or fast way needs it:
 *
 *	window	when no number is left although paths have room
 *	paths	when all paths are as wide as they get (255 packets, MR-5.2-03) and the way is
 *		not full: less than two bandwidth-delay products
 *
 * The memory comes from where one may sleep: ops->grow(), then mroce_conn_grow().
 * MR-5.1-05, MR-5.1-06, MR-6.4-02
 */
#include "internal.h"

#define GROW_PAUSE	(100 * MROCE_NSEC_PER_MSEC)	/* after a failure */
#define BDP_LIFE_RTTS	16
#define BDP_MIN_NS	(50 * MROCE_NSEC_PER_USEC)	/* shorter measurements show bursts */
#define PATHS_FACTOR	4				/* more of them, at most, at a time */

static struct mroce_path *paths_in(void *mem, u32 window)
{
	return (struct mroce_path *)((struct mroce_txrec *)mem + window);
}

static struct mroce_piece *pieces_in(void *mem, u32 window, u32 paths)
{
	return (struct mroce_piece *)(paths_in(mem, window) + paths);
}

size_t mroce_txmem_size(u32 window, u32 paths)
{
	return window * (sizeof(struct mroce_txrec) + 2 * sizeof(struct mroce_piece)) +
	       paths * sizeof(struct mroce_path);
}

void mroce_txmem_prepare(void *mem, u32 window, u32 paths)
{
	struct mroce_piece *pieces = pieces_in(mem, window, paths);
	u32 i;

	for (i = 0; i < 2 * window; i++)
		pieces[i].next = i + 1 < 2 * window ? i + 1 : MROCE_NONE;
}

static void carve(struct mroce_conn *c, void *mem, u32 window, u32 paths)
{
	c->txmem = mem;
	c->tx = mem;
	c->window = window;
	c->paths = paths_in(mem, window);
	c->max_paths = paths;
	c->pieces = pieces_in(mem, window, paths);
}

void mroce_txmem_init(struct mroce_conn *c, void *mem)
{
	mroce_txmem_prepare(mem, MROCE_WINDOW, MROCE_INIT_PATHS);
	carve(c, mem, MROCE_WINDOW, MROCE_INIT_PATHS);
	c->piece_free = 0;
	c->peer_window = MROCE_WINDOW;
	c->peer_paths = MROCE_INIT_PATHS;
}

void mroce_conn_peer_limits(struct mroce_conn *c, u32 window, u32 paths)
{
	u32 size = MROCE_WINDOW;

	/* the largest power of two that both sides take */
	while (size < MROCE_MAX_WINDOW && 2 * size <= window)
		size *= 2;
	c->peer_window = size;
	c->peer_paths = clamp_t(u32, paths, 1, MROCE_MAX_PATHS);
}

void *mroce_conn_grow(struct mroce_conn *c, void *mem, u32 window, u32 paths)
{
	struct mroce_piece *pieces = c->pieces;
	struct mroce_path *old_paths = c->paths;
	struct mroce_txrec *tx = c->tx;
	u32 was = c->window, cpn, i;
	void *old = c->txmem;

	/* lists link slots, and a slot is the low bits of a number */
#define MOVED(slot) ((slot) == MROCE_NONE ? MROCE_NONE : tx[slot].cpn & (window - 1))
	carve(c, mem, window, paths);
	for (cpn = c->cpn_base; cpn != c->cpn_next; cpn++) {
		const struct mroce_txrec *from = &tx[cpn & (was - 1)];
		struct mroce_txrec *to = mroce_rec(c, cpn);

		*to = *from;
		to->next = from->state == MROCE_TX_FREE ? MROCE_NONE : MOVED(from->next);
	}
	memcpy(c->paths, old_paths, c->npaths * sizeof(*c->paths));
	for (i = 0; i < c->npaths; i++) {
		struct mroce_path *p = &c->paths[i];

		if (p->head == MROCE_NONE)
			continue;
		p->head = MOVED(p->head);
		p->tail = MOVED(p->tail);
	}
	if (c->resend != MROCE_NONE) {
		c->resend = MOVED(c->resend);
		c->resend_tail = MOVED(c->resend_tail);
	}
#undef MOVED
	if (c->pieces_used) {
		/* the new ones, chained already, before the old ones */
		memcpy(c->pieces, pieces, 2 * was * sizeof(*pieces));
		if (window > was) {
			c->pieces[2 * window - 1].next = c->piece_free;
			c->piece_free = 2 * was;
		}
	} else {
		c->piece_free = 0;
	}
	c->growing = false;
	return old;
}

void mroce_conn_no_growth(struct mroce_conn *c, u64 now)
{
	c->growing = false;
	c->grow_at = now + GROW_PAUSE;
}

static void ask(struct mroce_conn *c, u32 window, u32 paths, u64 now)
{
	if (c->growing || now < c->grow_at)
		return;
	c->growing = true;
	c->want_window = window;
	c->want_paths = paths;
	c->ops->grow(c);
}

void mroce_want_window(struct mroce_conn *c, u64 now)
{
	if (c->window < c->peer_window)
		ask(c, 2 * c->window, max_t(u32, c->npaths, c->max_paths), now);
}

void mroce_want_room(struct mroce_conn *c, u32 paths, u64 now)
{
	if (c->max_paths < paths)
		ask(c, c->window, paths, now);
}

/* Packets that the paths may have in flight, if every one is as wide as it gets, or nearly. */
static u32 all_wide(const struct mroce_conn *c)
{
	u32 total = 0, i;

	for (i = 0; i < c->npaths; i++)
		if (c->paths[i].state != MROCE_PATH_FAILED)
			total += c->paths[i].cwnd;
	return total >= (c->npaths - c->nfailed) * c->cfg.max_cwnd / 8 * 7 ? total : 0;
}

/*
 * Not while a path is silent: more of them would be, too. And not again unless the last time made
 * it faster: a queue lets any number of packets be under way, and more paths fill it more.
 */
bool mroce_want_paths(struct mroce_conn *c, u64 now)
{
	u32 limit = min_t(u32, c->peer_paths, c->cfg.max_paths), total, want, n = c->npaths;

	if (n >= limit || c->nactive + c->nfailed < n ||
	    c->bdp <= c->grown_bdp + c->grown_bdp / 8 ||
	    n * c->cfg.max_cwnd / 8 * 7 >= 2 * c->bdp)
		return false;
	total = all_wide(c);
	if (!total || total >= 2 * c->bdp)
		return false;
	want = (2 * c->bdp + c->cfg.max_cwnd - 1) / c->cfg.max_cwnd;
	want = min_t(u32, min_t(u32, want, PATHS_FACTOR * n), limit);
	if (want > c->max_paths)
		ask(c, c->window, want, now);
	while (c->npaths < min_t(u32, want, c->max_paths))
		mroce_path_add(c, mroce_way_for_path(c), c->paths[0].srtt_us, now);
	if (c->npaths >= want)
		c->grown_bdp = c->bdp;
	return c->npaths > n;
}

/*
 * The best rate of the last round trips, times the shortest round trip ever: the one of late may
 * have our own queue in it, for as long as we send. A rate that is limited by what there is to send
 * says little, but is not too high.
 */
void mroce_bw_sample(struct mroce_conn *c, const struct mroce_path *p, u32 n, u64 now)
{
	u64 base = c->base_us * MROCE_NSEC_PER_USEC;
	u64 span = now - min_t(u64, now, c->bw_at);
	u32 bdp;

	c->delivered += n;
	if (!base || span < max_t(u64, p->srtt_us * MROCE_NSEC_PER_USEC, BDP_MIN_NS))
		return;
	bdp = div64_u64((c->delivered - c->bw_delivered) * base, span);
	c->bw_at = now;
	c->bw_delivered = c->delivered;
	if (bdp >= c->bdp || now > c->bdp_at + BDP_LIFE_RTTS * p->srtt_us * MROCE_NSEC_PER_USEC) {
		c->bdp = bdp;
		c->bdp_at = now;
	}
}
