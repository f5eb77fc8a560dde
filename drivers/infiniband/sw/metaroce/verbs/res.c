// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* `rdma -d -d resource show`: what a queue waits for, for who looks into a program that hangs. */
#include <rdma/restrack.h>

#include "../engine/engine.h"
#include "internal.h"

static int put_queues(struct sk_buff *msg, struct mroce_qp *qp)
{
	return rdma_nl_put_driver_u32(msg, "sq-posted", READ_ONCE(qp->sq.head)) ?:
	       rdma_nl_put_driver_u32(msg, "sq-done", READ_ONCE(qp->sq.tail)) ?:
	       rdma_nl_put_driver_u32(msg, "rq-posted", mroce_rq_posted(qp)) ?:
	       rdma_nl_put_driver_u32(msg, "rq-done", READ_ONCE(qp->rq.tail));
}

static int put_stream(struct sk_buff *msg, const struct mroce_stream_info *info)
{
	const char *conn_state = mroce_conn_state_name(info->conn_state);
	const char *state = mroce_stream_state_name(info->state);

	return rdma_nl_put_driver_u32_hex(msg, "cid", info->cid) ?:
	       rdma_nl_put_driver_string(msg, "conn-state", conn_state) ?:
	       rdma_nl_put_driver_string(msg, "stream-state", state) ?:
	       rdma_nl_put_driver_u32(msg, "unacked-msgs", info->unacked_msgs) ?:
	       rdma_nl_put_driver_u32(msg, "inflight-pkts", info->inflight_pkts) ?:
	       rdma_nl_put_driver_u32(msg, "rx-msn", info->rx_msn);
}

int mroce_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	struct mroce_stream_info info;
	struct nlattr *table;
	int err;

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	err = put_queues(msg, qp);
	if (!err && mroce_engine_qp_info(qp, &info))
		err = put_stream(msg, &info);
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int mroce_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	static const char * const armed[] = {
		[0] = "no", [IB_CQ_SOLICITED] = "solicited", [IB_CQ_NEXT_COMP] = "next",
	};
	struct mroce_cq *cq = to_mcq(ibcq);
	u32 producer, consumer;
	struct nlattr *table;
	bool overflowed;
	int err;
	u8 arm;

	spin_lock_bh(&cq->lock);
	producer = cq->producer;
	consumer = mroce_cq_consumer(cq);
	arm = cq->armed;
	overflowed = cq->dead;
	spin_unlock_bh(&cq->lock);

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	err = rdma_nl_put_driver_u32(msg, "producer", producer) ?:
	      rdma_nl_put_driver_u32(msg, "consumer", consumer) ?:
	      rdma_nl_put_driver_string(msg, "armed", armed[arm]) ?:
	      rdma_nl_put_driver_u32(msg, "overflowed", overflowed);
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}
