// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The ops for those who watch: what they see is counted, and looked at in path_test.cc. */
#include "sim_test.h"

namespace sim {

static Side *side_of(mroce_conn *c) { return reinterpret_cast<Side *>(c); }

static void op_conn_event(mroce_conn *c) { side_of(c)->conn_events++; }

static void op_path_event(mroce_conn *c, const mroce_path *p, u8 old)
{
	EXPECT_NE(p->state, old);
	side_of(c)->paths_failed += p->state == MROCE_PATH_FAILED;
}

static void op_stream_event(mroce_stream *s, u8 old) { EXPECT_NE(s->state, old); }

static void op_repair(mroce_conn *c, const mroce_txrec *, enum mroce_repair why)
{
	side_of(c)->repairs[why]++;
}

static void op_refused(mroce_conn *c, const mroce_rxpkt *, u8) { side_of(c)->refusals++; }

void watch(mroce_core_ops *ops)
{
	ops->conn_event = op_conn_event;
	ops->path_event = op_path_event;
	ops->stream_event = op_stream_event;
	ops->repair = op_repair;
	ops->refused = op_refused;
}

} // namespace sim
