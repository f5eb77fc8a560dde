// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The peer does not know a connection any more: it was reborn, or gave it up. Streams that had
 * been opened fail, they never resume (MR-3.4-*): at once if requests wait, else when the next
 * one is posted. Streams that had not been opened yet move to a new connection.
 */
#include "internal.h"

/* Return: the QP of the next stream from *handle on, referenced; NULL: no more. */
static struct mroce_qp *next_qp(struct mroce_econn *econn, unsigned long *handle)
{
	struct mroce_stream *s;
	struct mroce_qp *qp = NULL;

	spin_lock_bh(&econn->lock);
	s = xa_find(&econn->streams, handle, ULONG_MAX, XA_PRESENT);
	if (s && s->conn) {
		/* bound, so the QP is there: it is unbound before it goes */
		qp = s->owner;
		mroce_qp_get(qp);
	}
	spin_unlock_bh(&econn->lock);
	return qp;
}

static void settle_qp(struct mroce_econn *econn, struct mroce_qp *qp)
{
	bool failed = false;
	MROCE_NOTIFY(notify);

	mutex_lock(&qp->modify_lock);
	if (qp->econn != econn)
		goto out;
	mroce_econn_lock(econn, &notify);
	if (qp->stream.announced) {
		failed = true;
		if (qp->stream.sq_tail != qp->stream.sq_seen)
			mroce_stream_fail(&qp->stream, MROCE_FAIL_LOST, 0, mroce_now());
	}
	mroce_econn_unlock(econn);
	mroce_notify_flush(&notify);
	if (failed || READ_ONCE(qp->state) == IB_QPS_ERR)
		goto out;
	mroce_engine_qp_disconnect(qp);
	if (mroce_engine_qp_connect(qp))
		mroce_qp_fail(qp, IB_EVENT_QP_FATAL);
	else
		mroce_engine_qp_kick(qp);
out:
	mutex_unlock(&qp->modify_lock);
}

void mroce_econn_lost_work(struct work_struct *work)
{
	struct mroce_econn *econn = container_of(work, struct mroce_econn, lost_work);
	unsigned long handle = 0;
	struct mroce_qp *qp;

	mroce_econn_unlist(econn);
	while ((qp = next_qp(econn, &handle))) {
		settle_qp(econn, qp);
		mroce_qp_put(qp);
		handle++;
	}
	mroce_econn_put(econn);
}

void mroce_econn_lost(struct mroce_econn *econn)
{
	refcount_inc(&econn->refs);
	if (!queue_work(mroce_wq, &econn->lost_work))
		refcount_dec(&econn->refs);
}
