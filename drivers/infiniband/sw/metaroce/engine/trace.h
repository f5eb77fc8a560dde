/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints: each change of a state, each repair, each refusal. All under the lock of the
 * connection that @cid names.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM metaroce

#if !defined(_METAROCE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _METAROCE_TRACE_H

#include <linux/tracepoint.h>

#include <metaroce/core.h>

TRACE_DEFINE_ENUM(MROCE_CONN_CONNECTING);
TRACE_DEFINE_ENUM(MROCE_CONN_UP);
TRACE_DEFINE_ENUM(MROCE_CONN_DEAD);
#define show_conn_state(state)					\
	__print_symbolic(state,					\
		{ MROCE_CONN_CONNECTING, "CONNECTING" },	\
		{ MROCE_CONN_UP, "UP" },			\
		{ MROCE_CONN_DEAD, "DEAD" })

TRACE_DEFINE_ENUM(MROCE_PATH_PROBING);
TRACE_DEFINE_ENUM(MROCE_PATH_ACTIVE);
TRACE_DEFINE_ENUM(MROCE_PATH_SUSPECT);
TRACE_DEFINE_ENUM(MROCE_PATH_FAILED);
#define show_path_state(state)					\
	__print_symbolic(state,					\
		{ MROCE_PATH_PROBING, "PROBING" },		\
		{ MROCE_PATH_ACTIVE, "ACTIVE" },		\
		{ MROCE_PATH_SUSPECT, "SUSPECT" },		\
		{ MROCE_PATH_FAILED, "FAILED" })

TRACE_DEFINE_ENUM(MROCE_STREAM_IDLE);
TRACE_DEFINE_ENUM(MROCE_STREAM_OPENING);
TRACE_DEFINE_ENUM(MROCE_STREAM_OPEN);
TRACE_DEFINE_ENUM(MROCE_STREAM_ERROR);
#define show_stream_state(state)				\
	__print_symbolic(state,					\
		{ MROCE_STREAM_IDLE, "IDLE" },			\
		{ MROCE_STREAM_OPENING, "OPENING" },		\
		{ MROCE_STREAM_OPEN, "OPEN" },			\
		{ MROCE_STREAM_ERROR, "ERROR" })

TRACE_DEFINE_ENUM(MROCE_REPAIR_GAP);
TRACE_DEFINE_ENUM(MROCE_REPAIR_PROBE);
TRACE_DEFINE_ENUM(MROCE_REPAIR_FAILOVER);
TRACE_DEFINE_ENUM(MROCE_REPAIR_REFUSED);
#define show_repair(why)					\
	__print_symbolic(why,					\
		{ MROCE_REPAIR_GAP, "gap" },			\
		{ MROCE_REPAIR_PROBE, "probe" },		\
		{ MROCE_REPAIR_FAILOVER, "failover" },		\
		{ MROCE_REPAIR_REFUSED, "refused" })

TRACE_DEFINE_ENUM(MROCE_NAK_RNR);
TRACE_DEFINE_ENUM(MROCE_NAK_HOLD);
TRACE_DEFINE_ENUM(MROCE_NAK_NOT_READY);
#define show_refusal(nak)					\
	__print_symbolic(nak,					\
		{ MROCE_NAK_RNR, "RNR" },			\
		{ MROCE_NAK_HOLD, "HOLD" },			\
		{ MROCE_NAK_NOT_READY, "NOT_READY" })

TRACE_EVENT(mroce_conn_state,
	TP_PROTO(const struct mroce_conn *c),
	TP_ARGS(c),
	TP_STRUCT__entry(
		__field(u32, cid)
		__field(u32, peer_cid)
		__field(u8, state)
	),
	TP_fast_assign(
		__entry->cid = c->cid;
		__entry->peer_cid = c->peer_cid;
		__entry->state = c->state;
	),
	TP_printk("cid=%#x peer_cid=%#x state=%s", __entry->cid, __entry->peer_cid,
		  show_conn_state(__entry->state))
);

TRACE_EVENT(mroce_path_state,
	TP_PROTO(const struct mroce_conn *c, const struct mroce_path *p, u8 old),
	TP_ARGS(c, p, old),
	TP_STRUCT__entry(
		__field(u32, cid)
		__field(u16, path)
		__field(u16, sport)
		__field(u8, old)
		__field(u8, state)
	),
	TP_fast_assign(
		__entry->cid = c->cid;
		__entry->path = p->id;
		__entry->sport = p->sport;
		__entry->old = old;
		__entry->state = p->state;
	),
	TP_printk("cid=%#x path=%u sport=%u old=%s state=%s", __entry->cid, __entry->path,
		  __entry->sport, show_path_state(__entry->old), show_path_state(__entry->state))
);

TRACE_EVENT(mroce_stream_state,
	TP_PROTO(const struct mroce_stream *s, u8 old),
	TP_ARGS(s, old),
	TP_STRUCT__entry(
		__field(u32, cid)
		__field(u32, lqpn)
		__field(u32, rqpn)
		__field(u8, old)
		__field(u8, state)
	),
	TP_fast_assign(
		__entry->cid = s->conn->cid;
		__entry->lqpn = s->lqpn;
		__entry->rqpn = s->rqpn;
		__entry->old = old;
		__entry->state = s->state;
	),
	TP_printk("cid=%#x lqpn=%#x rqpn=%#x old=%s state=%s", __entry->cid, __entry->lqpn,
		  __entry->rqpn, show_stream_state(__entry->old),
		  show_stream_state(__entry->state))
);

TRACE_EVENT(mroce_repair,
	TP_PROTO(const struct mroce_conn *c, const struct mroce_txrec *r, enum mroce_repair why),
	TP_ARGS(c, r, why),
	TP_STRUCT__entry(
		__field(u32, cid)
		__field(u32, cpn)
		__field(u32, pseq)
		__field(u16, path)
		__field(u8, tries)
		__field(u8, why)
	),
	TP_fast_assign(
		__entry->cid = c->cid;
		__entry->cpn = r->cpn;
		__entry->pseq = r->pseq;
		__entry->path = r->path;
		__entry->tries = r->tries;
		__entry->why = why;
	),
	TP_printk("cid=%#x cpn=%u path=%u pseq=%u tries=%u why=%s", __entry->cid, __entry->cpn,
		  __entry->path, __entry->pseq, __entry->tries, show_repair(__entry->why))
);

TRACE_EVENT(mroce_refused,
	TP_PROTO(const struct mroce_conn *c, const struct mroce_rxpkt *pkt, u8 nak),
	TP_ARGS(c, pkt, nak),
	TP_STRUCT__entry(
		__field(u32, cid)
		__field(u32, pseq)
		__field(u16, path)
		__field(u8, nak)
	),
	TP_fast_assign(
		__entry->cid = c->cid;
		__entry->pseq = pkt->h.pseq;
		__entry->path = pkt->h.path;
		__entry->nak = nak;
	),
	TP_printk("cid=%#x path=%u pseq=%u nak=%s", __entry->cid, __entry->path, __entry->pseq,
		  show_refusal(__entry->nak))
);

#endif /* _METAROCE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
