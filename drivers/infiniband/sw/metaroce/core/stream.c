// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of a stream on one side:
 *
 *	mroce_stream_init() -> IDLE -> OPENING -> OPEN -> ERROR -> mroce_stream_unbind()
 *
 * ERROR is entered from any state, once, by mroce_stream_stop(). The memory may go when
 * nothing refers to it any more: mroce_stream_busy().
 */
#include "internal.h"

void mroce_stream_init(struct mroce_stream *s, struct mroce_conn *c, u32 lqpn, u32 rqpn,
		       u32 handle, u32 incarnation)
{
	s->conn = c;
	s->lqpn = lqpn;
	s->rqpn = rqpn;
	s->handle = handle;
	s->incarnation = incarnation;
	s->state = MROCE_STREAM_IDLE;
	s->refused = MROCE_NONE;
	s->resume_at = MROCE_NEVER;
	s->open_at = MROCE_NEVER;
	s->query_at = MROCE_NEVER;
	INIT_LIST_HEAD(&s->active);
	INIT_LIST_HEAD(&s->timed);
	INIT_LIST_HEAD(&s->newsy);
}

void mroce_stream_stop(struct mroce_stream *s, u64 now)
{
	if (s->state == MROCE_STREAM_ERROR)
		return;
	mroce_stream_set_state(s, MROCE_STREAM_ERROR);
	if (!s->rx_nak)
		s->rx_nak = MROCE_NAK_GONE;
	list_del_init(&s->active);
	list_del_init(&s->timed);
	mroce_tx_void_stream(s->conn, s);
	mroce_stream_drop_held(s);
	if (s->announced)
		mroce_stream_news(s);
}

bool mroce_stream_busy(const struct mroce_stream *s)
{
	return s->pins || s->rx_inflight;
}

void mroce_stream_unbind(struct mroce_stream *s)
{
	list_del_init(&s->newsy);
	mroce_stream_drop_held(s);
	s->conn = NULL;
}
