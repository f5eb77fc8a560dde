// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Congestion control of a path. A policy is one const table.
 *
 * "default": what congestion is: marks (as DCTCP, RFC 8257: cut by half the marked
 * fraction, once per round), a round-trip time that stays more than
 * cfg.delay_target over its base for a round, and the loss of half a round. Random loss is not.
 */
#include "internal.h"

#define ALPHA_ONE	1024
#define ALPHA_SHIFT	4	/* g = 1/16, RFC 8257 3.3 */
#define BASE_LIFE	(10000 * MROCE_NSEC_PER_MSEC)
#define MIN_CWND	4
#define MIN_CWND_DELAY	16	/* delay alone never takes more: hosts are late, too */

static void init(struct mroce_conn *c, struct mroce_path *p)
{
	p->cwnd = c->cfg.init_cwnd;
	p->cwnd_frac = 0;
	p->slow_start = 1;
	p->ce_alpha = ALPHA_ONE;
	p->round_seq = p->next_seq;
	p->round_acked = 0;
	p->round_marked = 0;
	p->round_lost = 0;
	p->round_rtt_us = 0;
}

static void cut(struct mroce_path *p, u32 cwnd, u32 least)
{
	p->slow_start = 0;
	p->cwnd_frac = 0;
	p->cwnd = max_t(u32, cwnd, min_t(u32, least, p->cwnd));
}

/*
 * A queue shows in every packet of a round, a busy host in some: so it is the smallest
 * round-trip time of a round that tells.
 */
static bool delayed(const struct mroce_conn *c, const struct mroce_path *p)
{
	u32 target = max_t(u32, p->base_us, div_u64(c->cfg.delay_target, MROCE_NSEC_PER_USEC));

	return p->base_us && p->round_rtt_us > p->base_us + target;
}

/* One window of packets has been judged. */
static void round_end(struct mroce_conn *c, struct mroce_path *p)
{
	u32 total = p->round_acked + p->round_lost;
	u32 marked = p->round_acked ? p->round_marked * ALPHA_ONE / p->round_acked : 0;

	p->ce_alpha += (marked >> ALPHA_SHIFT) - (p->ce_alpha >> ALPHA_SHIFT);
	if (p->round_marked) {
		cut(p, p->cwnd - p->cwnd * p->ce_alpha / (2 * ALPHA_ONE), MIN_CWND);
		mroce_cnt(c, MROCE_CNT_CC_MARK);
	} else if (delayed(c, p)) {
		cut(p, p->cwnd - p->cwnd / 8, MIN_CWND_DELAY);
		mroce_cnt(c, MROCE_CNT_CC_DELAY);
	} else if (total >= 16 && p->round_lost > total / 2) {
		cut(p, p->cwnd - p->cwnd / 4, MIN_CWND);
		mroce_cnt(c, MROCE_CNT_CC_OVERFLOW);
	}
	p->round_seq = p->next_seq;
	p->round_acked = 0;
	p->round_marked = 0;
	p->round_lost = 0;
	p->round_rtt_us = 0;
}

static void note_rtt(struct mroce_path *p, u32 rtt_us, u64 now)
{
	if (!p->round_rtt_us || rtt_us < p->round_rtt_us)
		p->round_rtt_us = rtt_us;
	if (!p->base_us || rtt_us <= p->base_us || now > p->base_at + BASE_LIFE) {
		p->base_us = max_t(u32, rtt_us, 1);
		p->base_at = now;
	}
}

static void acked(struct mroce_conn *c, struct mroce_path *p, u32 n, u32 marked, u32 rtt_us,
		  u64 now)
{
	if (rtt_us)
		note_rtt(p, rtt_us, now);
	p->round_acked += n;
	p->round_marked += marked;
	if (marked && p->slow_start) {
		/* the first mark ends the start at once, not at the end of the round */
		round_end(c, p);
		return;
	}
	if (!mroce_lt(p->acked_high, p->round_seq))
		round_end(c, p);
	if (p->slow_start) {
		p->cwnd += n;
	} else {
		p->cwnd_frac += n;
		if (p->cwnd_frac >= p->cwnd) {
			p->cwnd_frac -= p->cwnd;
			p->cwnd++;
		}
	}
	p->cwnd = min_t(u32, p->cwnd, c->cfg.max_cwnd);
}

static void lost(struct mroce_conn *c, struct mroce_path *p, u32 n, u64 now)
{
	p->round_lost += n;
}

const struct mroce_cc_ops mroce_cc_default = {
	.name = "default",
	.init = init,
	.acked = acked,
	.lost = lost,
};
