// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Which path the next burst takes. A scheduler is one const table. */
#include "internal.h"

/*
 * Most room: bursts stay long and every path is used. Ties go round, so that equal
 * paths share evenly. A suspect path is taken only when no active one lives.
 */
static struct mroce_path *pick_most_room(struct mroce_conn *c, u64 now)
{
	struct mroce_path *best = NULL;
	u32 i, room, best_room = 0;
	u8 want = MROCE_PATH_SUSPECT;

	for (i = 0; i < c->npaths; i++)
		if (c->paths[i].state == MROCE_PATH_ACTIVE)
			want = MROCE_PATH_ACTIVE;
	for (i = 0; i < c->npaths; i++) {
		struct mroce_path *p = &c->paths[(c->last_path + 1 + i) % c->npaths];

		if (p->state != want)
			continue;
		room = mroce_path_room(c, p);
		if (room > best_room) {
			best_room = room;
			best = p;
		}
	}
	if (best)
		c->last_path = best->id;
	return best;
}

const struct mroce_sched_ops mroce_sched_default = {
	.name = "most-room",
	.pick = pick_most_room,
};
