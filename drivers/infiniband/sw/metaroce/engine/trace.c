// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The tracepoints of trace.h, as ops of the core. */
#include "internal.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

void mroce_trace_conn_event(struct mroce_conn *c)
{
	trace_mroce_conn_state(c);
}

void mroce_trace_path_event(struct mroce_conn *c, const struct mroce_path *p, u8 old)
{
	trace_mroce_path_state(c, p, old);
}

void mroce_trace_stream_event(struct mroce_stream *s, u8 old)
{
	trace_mroce_stream_state(s, old);
}

void mroce_trace_repair(struct mroce_conn *c, const struct mroce_txrec *r, enum mroce_repair why)
{
	trace_mroce_repair(c, r, why);
}

void mroce_trace_refused(struct mroce_conn *c, const struct mroce_rxpkt *pkt, u8 nak)
{
	trace_mroce_refused(c, pkt, nak);
}
