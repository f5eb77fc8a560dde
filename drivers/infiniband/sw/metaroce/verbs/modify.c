// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * modify_qp: attribute checks, then one function per target state.
 *
 *	RESET -> INIT -> RTR -> RTS	by modify_qp
 *	RTR, RTS -> ERR			by modify_qp or mroce_qp_fail()
 *	any -> ERR, any -> RESET	by modify_qp
 *
 * SQD isn't offered. Nothing here waits for the network.
 */
#include <rdma/ib_cache.h>

#include "../engine/engine.h"
#include "internal.h"

#define MROCE_QP_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | IB_ACCESS_OPTIONAL)

/* Attributes that the core's table allows and we don't have. */
#define MROCE_QP_UNSUPPORTED	(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE | IB_QP_CAP | \
				 IB_QP_EN_SQD_ASYNC_NOTIFY | IB_QP_RATE_LIMIT)

static bool mroce_qp_attr_in_range(const struct ib_qp_attr *attr, int mask)
{
	return !((mask & IB_QP_PORT && attr->port_num != MROCE_PORT) ||
		 (mask & IB_QP_PKEY_INDEX && attr->pkey_index) ||
		 (mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~MROCE_QP_ACCESS) ||
		 (mask & IB_QP_PATH_MTU &&
		  (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)) ||
		 (mask & IB_QP_DEST_QPN && attr->dest_qp_num > MROCE_MAX_QPN) ||
		 (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > MROCE_MAX_RD_ATOMIC) ||
		 (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
		  attr->max_dest_rd_atomic > MROCE_MAX_RD_ATOMIC) ||
		 (mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
		 (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
		 (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7) ||
		 (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31));
}

VISIBLE_FOR_KUNIT int mroce_qp_attr_check(struct mroce_qp *qp, const struct ib_qp_attr *attr,
					  int mask, enum ib_qp_state cur, enum ib_qp_state next)
{
	if (mask & ~IB_QP_ATTR_STANDARD_BITS || mask & MROCE_QP_UNSUPPORTED)
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(cur, next, qp->ibqp.qp_type, mask)) {
		ibdev_dbg(qp->ibqp.device, "QP %#x: %d -> %d with mask %#x refused\n",
			  qp->ibqp.qp_num, cur, next, mask);
		return -EINVAL;
	}
	if (next == IB_QPS_SQD)
		return -EOPNOTSUPP;
	return mroce_qp_attr_in_range(attr, mask) ? 0 : -EINVAL;
}

static void mroce_qp_attr_store(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IB_QP_AV)
		to->ah_attr = from->ah_attr;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = from->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
}

/* Return: false if the transport has put it into ERR meanwhile. */
static bool mroce_qp_set_state(struct mroce_qp *qp, enum ib_qp_state from, enum ib_qp_state to)
{
	bool same;

	spin_lock_irq(&qp->state_lock);
	same = qp->state == from;
	if (same)
		WRITE_ONCE(qp->state, to);
	spin_unlock_irq(&qp->state_lock);
	return same;
}

static int mroce_qp_to_rtr(struct mroce_qp *qp)
{
	int err;

	if (qp->ibqp.qp_type != IB_QPT_RC) {
		mroce_qp_set_state(qp, IB_QPS_INIT, IB_QPS_RTR);
		return 0;
	}
	err = mroce_ah_attr_addrs(&qp->attr.ah_attr, &qp->src, &qp->dst);
	if (err)
		return err;

	/* first the state: the peer's packets may come at once */
	mroce_qp_set_state(qp, IB_QPS_INIT, IB_QPS_RTR);
	err = mroce_engine_qp_connect(qp);
	if (err)
		mroce_qp_set_state(qp, IB_QPS_RTR, IB_QPS_INIT);
	return err;
}

static int mroce_qp_to_rts(struct mroce_qp *qp, enum ib_qp_state cur)
{
	if (qp->ibqp.qp_type == IB_QPT_RC)
		mroce_engine_qp_update(qp);
	mroce_qp_set_state(qp, cur, IB_QPS_RTS);
	return 0;
}

static void mroce_qp_to_err(struct mroce_qp *qp)
{
	spin_lock_irq(&qp->state_lock);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_irq(&qp->state_lock);
	mroce_qp_flush(qp);
}

static void mroce_qp_to_reset(struct mroce_qp *qp)
{
	spin_lock_irq(&qp->state_lock);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	qp->error_event = -1;
	spin_unlock_irq(&qp->state_lock);
	if (qp->ibqp.qp_type == IB_QPT_RC)
		mroce_engine_qp_disconnect(qp);
	mroce_qp_reset(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
}

static int mroce_qp_transition(struct mroce_qp *qp, enum ib_qp_state cur, enum ib_qp_state next)
{
	switch (next) {
	case IB_QPS_RESET:
		mroce_qp_to_reset(qp);
		return 0;
	case IB_QPS_INIT:
		mroce_qp_set_state(qp, cur, IB_QPS_INIT);
		return 0;
	case IB_QPS_RTR:
		return mroce_qp_to_rtr(qp);
	case IB_QPS_RTS:
		return mroce_qp_to_rts(qp, cur);
	case IB_QPS_ERR:
		mroce_qp_to_err(qp);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int mroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct mroce_qp *qp = to_mqp(ibqp);
	enum ib_qp_state cur, next;
	struct ib_qp_attr old;
	int err;

	mutex_lock(&qp->modify_lock);
	cur = READ_ONCE(qp->state);
	next = mask & IB_QP_STATE ? attr->qp_state : cur;

	err = mroce_qp_attr_check(qp, attr, mask, cur, next);
	if (err)
		goto out;

	old = qp->attr;
	mroce_qp_attr_store(&qp->attr, attr, mask);
	err = mroce_qp_transition(qp, cur, next);
	if (err)
		qp->attr = old;
out:
	mutex_unlock(&qp->modify_lock);
	return err;
}
