// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Overlapping WRITEs keep their order, and only the sender can know of them: it
 * compares a new WRITE's target with those of unfinished earlier ones and tells the
 * receiver the distance to the nearest that overlaps. MR-7.3-*
 *
 * A smaller distance is always safe (it waits for more), so beyond the last requests one
 * hull of all targets serves. How far to look back is a matter of cost: a large message
 * can afford to look as far as a distance reaches, and a buffer used in turn needs it (each
 * new WRITE lies within the hull, and overlaps nothing).
 */
#include "internal.h"

#define LOOK_BACK	32	/* requests, at least */
#define LOOK_BYTES	256	/* one more for so many bytes of the message */
#define MAX_DEP		255	/* what the header holds */

static bool overlaps(u64 lo, u64 hi, u64 a, u64 b)
{
	return lo < b && a < hi;
}

void mroce_overlap_mark(struct mroce_stream *s, u32 index)
{
	struct mroce_txmsg *m = mroce_stream_msg(s, index);
	u64 lo = m->raddr, hi = m->raddr + m->len;
	u32 back = min_t(u32, LOOK_BACK + m->len / LOOK_BYTES, MAX_DEP);
	u32 i, looked = 0;

	m->dep = 0;
	if (s->sq_tail == index) {
		s->hull_lo = ~0ULL;
		s->hull_hi = 0;
	}
	if (m->op != MROCE_OP_WRITE || !m->len)
		return;
	if (overlaps(lo, hi, s->hull_lo, s->hull_hi)) {
		for (i = index; i != s->sq_tail && looked < back; looked++) {
			struct mroce_txmsg *e = mroce_stream_msg(s, --i);

			if (e->op != MROCE_OP_WRITE ||
			    e->flags & (MROCE_MSG_LOCAL | MROCE_MSG_FAILED))
				continue;
			if (!overlaps(lo, hi, e->raddr, e->raddr + e->len))
				continue;
			m->dep = min_t(u32, m->msn - e->msn, MAX_DEP);
			break;
		}
		if (!m->dep && looked == back)
			m->dep = clamp_t(u32, m->msn - mroce_stream_msg(s, i)->msn, 1, MAX_DEP);
	}
	s->hull_lo = min_t(u64, s->hull_lo, lo);
	s->hull_hi = max_t(u64, s->hull_hi, hi);
}
