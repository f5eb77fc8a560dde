// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Receive queues: what is made of a process' entries, and of the indices that it writes. */
#include "kunit.h"

#define RQ_ENTRIES	16
#define RQ_SGE		2
#define RQ_WRAP		(U32_MAX - 2)

struct rq_env {
	struct ib_pd *pd;
	struct mroce_kunit_cq *cq;
	struct mroce_qp *qp;	/* a process' */
};

static const struct ib_qp_cap rq_cap = {
	.max_send_wr = 1, .max_recv_wr = RQ_ENTRIES, .max_send_sge = 1, .max_recv_sge = RQ_SGE,
};

static struct mroce_qp *rq_qp(struct kunit *test, bool user)
{
	struct rq_env *e = test->priv;
	struct mroce_qp *qp = mroce_kunit_qp(test, e->pd, e->cq, IB_QPT_RC, &rq_cap, user);

	WRITE_ONCE(qp->state, IB_QPS_RTR);
	return qp;
}

static int rq_init(struct kunit *test)
{
	struct rq_env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	struct mroce_dev *dev = mroce_kunit_dev(test);

	KUNIT_ASSERT_NOT_NULL(test, e);
	test->priv = e;
	e->pd = mroce_kunit_pd(test, dev, true);
	e->cq = mroce_kunit_cq(test, dev, 64);
	e->qp = rq_qp(test, true);
	return 0;
}

static void rq_index(struct mroce_qp *qp, u32 index)
{
	qp->rq.head = index;
	qp->rq.fetched = index;
	qp->rq.tail = index;
	qp->rq.ring.hdr->producer = index;
	qp->rq.ring.hdr->consumer = index;
}

static struct mroce_recv_wqe *rq_slot(struct mroce_qp *qp, u32 index)
{
	return qp->rq.ring.slots + (size_t)(index % RQ_ENTRIES) * qp->rq.ring.entry_size;
}

static void rq_write(struct mroce_qp *qp, u32 index, u32 num_sge, u32 len0, u32 len1)
{
	struct mroce_recv_wqe *slot = rq_slot(qp, index);

	slot->wr_id = 1000ULL + index;
	slot->num_sge = num_sge;
	slot->sge[0] = (struct mroce_sge) { .addr = 0x10000, .length = len0, .lkey = 7 };
	slot->sge[1] = (struct mroce_sge) { .addr = 0x20000, .length = len1, .lkey = 8 };
}

static struct mroce_rwqe *rq_get(struct mroce_qp *qp, u32 rqn)
{
	struct mroce_rwqe *wqe;

	local_bh_disable();
	wqe = mroce_rq_get(qp, rqn);
	local_bh_enable();
	return wqe;
}

static void rq_complete(struct mroce_qp *qp, u32 rqn)
{
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV, .byte_len = 5 };
	MROCE_NOTIFY(notify);

	local_bh_disable();
	mroce_rq_complete(qp, rqn, &wc, false, &notify);
	mroce_notify_flush(&notify);
	local_bh_enable();
}

static const struct rq_entry {
	const char *name;
	u32 num_sge, len0, len1;
	enum ib_wc_status status;
	u32 length, sges;
} rq_entries[] = {
	{ "one SGE", 1, 100, 0xffff, IB_WC_SUCCESS, 100, 1 },
	{ "all SGEs", RQ_SGE, 100, 200, IB_WC_SUCCESS, 300, RQ_SGE },
	{ "none", 0, 100, 200, IB_WC_SUCCESS, 0, 0 },
	{ "one too many", RQ_SGE + 1, 100, 200, IB_WC_LOC_QP_OP_ERR, 0, 0 },
	{ "2^32 - 1", U32_MAX, 100, 200, IB_WC_LOC_QP_OP_ERR, 0, 0 },
	{ "as large as a message", 2, MROCE_MAX_MSG_SIZE / 2, MROCE_MAX_MSG_SIZE / 2,
	  IB_WC_SUCCESS, MROCE_MAX_MSG_SIZE, 2 },
	{ "larger", 2, MROCE_MAX_MSG_SIZE, 1, IB_WC_LOC_LEN_ERR, MROCE_MAX_MSG_SIZE, 2 },
	{ "a sum that wraps", 2, U32_MAX, 2, IB_WC_LOC_LEN_ERR, MROCE_MAX_MSG_SIZE, 2 },
};

KUNIT_ARRAY_PARAM_DESC(rq_entry, rq_entries, name);

static void rq_user_entry(struct kunit *test)
{
	const struct rq_entry *r = test->param_value;
	struct rq_env *e = test->priv;
	struct mroce_rwqe *wqe;

	rq_index(e->qp, RQ_WRAP);
	rq_write(e->qp, RQ_WRAP, r->num_sge, r->len0, r->len1);
	e->qp->rq.ring.hdr->producer = RQ_WRAP + 1;
	wqe = rq_get(e->qp, RQ_WRAP);
	KUNIT_ASSERT_NOT_NULL(test, wqe);
	KUNIT_EXPECT_EQ(test, wqe->status, r->status);
	KUNIT_EXPECT_EQ(test, wqe->length, r->length);
	KUNIT_EXPECT_EQ(test, wqe->num_sge, r->sges);
	KUNIT_EXPECT_EQ(test, wqe->wr_id, 1000ULL + RQ_WRAP);
}

/* A slot is looked at once. */
static void rq_slot_is_copied(struct kunit *test)
{
	struct rq_env *e = test->priv;
	struct mroce_rwqe *wqe;

	rq_write(e->qp, 0, 1, 100, 0);
	rq_write(e->qp, 1, 1, 200, 0);
	e->qp->rq.ring.hdr->producer = 2;
	wqe = rq_get(e->qp, 0);
	KUNIT_ASSERT_NOT_NULL(test, wqe);
	rq_write(e->qp, 0, 1, 999, 0);
	KUNIT_EXPECT_PTR_EQ(test, rq_get(e->qp, 0), wqe);
	KUNIT_EXPECT_EQ(test, wqe->length, 100);
	/* a later one first: those before it are copied with it */
	rq_index(e->qp, 0);
	rq_write(e->qp, 0, 1, 100, 0);
	e->qp->rq.ring.hdr->producer = 2;
	wqe = rq_get(e->qp, 1);
	KUNIT_ASSERT_NOT_NULL(test, wqe);
	KUNIT_EXPECT_EQ(test, wqe->length, 200);
	KUNIT_EXPECT_EQ(test, e->qp->rq.fetched, 2);
	rq_write(e->qp, 0, 1, 999, 0);
	KUNIT_EXPECT_EQ(test, rq_get(e->qp, 0)->length, 100);
}

/* ---- indices ---- */

static const struct rq_producer {
	const char *name;
	u32 tail, fetched;	/* the kernel's */
	u32 producer;		/* the process' */
	u32 posted;		/* what is believed */
} rq_producers[] = {
	{ "nothing", 5, 5, 5, 5 },
	{ "one", 5, 5, 6, 6 },
	{ "full", 5, 5, 5 + RQ_ENTRIES, 5 + RQ_ENTRIES },
	{ "one too many", 5, 7, 6 + RQ_ENTRIES, 7 },
	{ "behind the tail", 5, 7, 4, 7 },
	{ "half around", 5, 7, 0x80000005, 7 },
	{ "across the wrap", U32_MAX, U32_MAX, 3, 3 },
	{ "across the wrap, full", U32_MAX, U32_MAX, RQ_ENTRIES - 1, RQ_ENTRIES - 1 },
	{ "across the wrap, one too many", U32_MAX, 0, RQ_ENTRIES, 0 },
};

KUNIT_ARRAY_PARAM_DESC(rq_producer, rq_producers, name);

static void rq_scribbled_producer(struct kunit *test)
{
	const struct rq_producer *p = test->param_value;
	struct rq_env *e = test->priv;
	struct mroce_wq *rq = &e->qp->rq;
	u32 i;

	rq->tail = p->tail;
	rq->fetched = p->fetched;
	rq->ring.hdr->producer = p->producer;
	KUNIT_EXPECT_EQ(test, mroce_rq_posted(e->qp), p->posted);
	KUNIT_EXPECT_PTR_EQ(test, rq_get(e->qp, p->posted), NULL);
	KUNIT_EXPECT_PTR_EQ(test, rq_get(e->qp, p->tail - 1), NULL);
	KUNIT_EXPECT_PTR_EQ(test, rq_get(e->qp, p->tail + RQ_ENTRIES), NULL);
	for (i = p->tail; i != p->posted; i++)
		KUNIT_EXPECT_NOT_NULL(test, rq_get(e->qp, i));
}

/*
 * It goes back behind what was fetched, within what is open: the transport may have placed bytes
 * by these entries, so they must not be copied again.
 */
static void rq_producer_goes_back(struct kunit *test)
{
	struct rq_env *e = test->priv;
	struct mroce_rwqe *wqe;

	rq_write(e->qp, 0, 1, 100, 0);
	rq_write(e->qp, 1, 1, 200, 0);
	e->qp->rq.ring.hdr->producer = 2;
	wqe = rq_get(e->qp, 1);
	KUNIT_ASSERT_NOT_NULL(test, wqe);
	e->qp->rq.ring.hdr->producer = 1;
	rq_write(e->qp, 1, RQ_SGE, 555, 555);
	rq_get(e->qp, 1);
	KUNIT_EXPECT_EQ(test, e->qp->rq.fetched, 2);
	KUNIT_EXPECT_EQ(test, wqe->length, 200);
	e->qp->rq.ring.hdr->producer = 3;
	rq_write(e->qp, 2, 1, 300, 0);
	KUNIT_ASSERT_NOT_NULL(test, rq_get(e->qp, 2));
	KUNIT_EXPECT_EQ(test, rq_get(e->qp, 2)->length, 300);
	KUNIT_EXPECT_EQ(test, wqe->length, 200);
}

/* ---- completion ---- */

static void rq_completion(struct kunit *test)
{
	struct rq_env *e = test->priv;
	struct mroce_qp *qp = e->qp;
	struct ib_wc wc[3];
	u32 i;

	rq_index(qp, RQ_WRAP);
	for (i = 0; i < 3; i++)
		rq_write(qp, RQ_WRAP + i, 1, 100, 0);
	qp->rq.ring.hdr->producer = RQ_WRAP + 3;
	KUNIT_ASSERT_NOT_NULL(test, rq_get(qp, RQ_WRAP));
	/* not the oldest: nothing happens */
	rq_complete(qp, RQ_WRAP + 1);
	KUNIT_EXPECT_EQ(test, qp->rq.tail, RQ_WRAP);
	/* the second one was never looked at, as with immediate data alone */
	rq_complete(qp, RQ_WRAP);
	rq_complete(qp, RQ_WRAP + 1);
	rq_complete(qp, RQ_WRAP + 1);
	KUNIT_EXPECT_EQ(test, qp->rq.tail, RQ_WRAP + 2);
	KUNIT_EXPECT_EQ(test, qp->rq.ring.hdr->consumer, RQ_WRAP + 2);
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->cq.ibcq, 3, wc), 2);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, 1000ULL + (u32)(RQ_WRAP + i));
		KUNIT_EXPECT_EQ(test, wc[i].byte_len, 5);
		KUNIT_EXPECT_PTR_EQ(test, wc[i].qp, &qp->ibqp);
	}
}

static void rq_flush(struct kunit *test)
{
	struct rq_env *e = test->priv;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct mroce_qp *qp = e->qp;
	const struct ib_recv_wr *bad;
	struct ib_wc wc[6];
	u32 i;

	rq_index(qp, RQ_WRAP);
	for (i = 0; i < 5; i++)
		rq_write(qp, RQ_WRAP + i, 1, 100, 0);
	qp->rq.ring.hdr->producer = RQ_WRAP + 4;
	rq_get(qp, RQ_WRAP + 1);
	KUNIT_ASSERT_EQ(test, mroce_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->cq.ibcq, 6, wc), 4);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, 1000ULL + (u32)(RQ_WRAP + i));
		KUNIT_EXPECT_EQ(test, wc[i].status, IB_WC_WR_FLUSH_ERR);
	}
	/* from now on it wants to hear of each new one */
	KUNIT_EXPECT_EQ(test, qp->rq.ring.hdr->flags, MROCE_RING_F_NEED_DOORBELL);
	KUNIT_EXPECT_PTR_EQ(test, rq_get(qp, RQ_WRAP + 4), NULL);
	qp->rq.ring.hdr->producer = RQ_WRAP + 5;
	KUNIT_EXPECT_EQ(test, mroce_post_recv(&qp->ibqp, NULL, &bad), 0);
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->cq.ibcq, 6, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 1000ULL + (u32)(RQ_WRAP + 4));

	attr.qp_state = IB_QPS_RESET;
	KUNIT_ASSERT_EQ(test, mroce_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	KUNIT_EXPECT_EQ(test, qp->rq.ring.hdr->flags, 0);
	KUNIT_EXPECT_EQ(test, qp->rq.ring.hdr->producer, 0);
	KUNIT_EXPECT_EQ(test, qp->rq.ring.hdr->consumer, 0);
}

/* ---- a kernel user ---- */

static void rq_kernel(struct kunit *test)
{
	struct mroce_qp *qp = rq_qp(test, false);
	struct ib_sge sge[RQ_SGE] = { { 0x1000, 100, 7 }, { 0x2000, 200, 8 } };
	struct ib_recv_wr wr[2] = {
		{ .next = &wr[1], .wr_id = 1, .sg_list = sge, .num_sge = RQ_SGE },
		{ .wr_id = 2, .sg_list = sge, .num_sge = RQ_SGE + 1 },
	};
	const struct ib_recv_wr *bad = NULL;
	struct mroce_rwqe *wqe;

	KUNIT_EXPECT_EQ(test, mroce_post_recv(&qp->ibqp, wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wr[1]);
	KUNIT_EXPECT_EQ(test, mroce_rq_posted(qp), 1);
	wqe = rq_get(qp, 0);
	KUNIT_ASSERT_NOT_NULL(test, wqe);
	KUNIT_EXPECT_EQ(test, wqe->length, 300);
	KUNIT_EXPECT_EQ(test, wqe->sge[1].addr, 0x2000ULL);
	KUNIT_EXPECT_PTR_EQ(test, rq_get(qp, 1), NULL);

	wr[0].next = NULL;
	wr[0].num_sge = -1;
	KUNIT_EXPECT_EQ(test, mroce_post_recv(&qp->ibqp, wr, &bad), -EINVAL);
	wr[0].num_sge = 1;
	while (mroce_rq_posted(qp) < RQ_ENTRIES)
		KUNIT_ASSERT_EQ(test, mroce_post_recv(&qp->ibqp, wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, mroce_post_recv(&qp->ibqp, wr, &bad), -ENOMEM);
	rq_complete(qp, 0);
	KUNIT_EXPECT_EQ(test, mroce_post_recv(&qp->ibqp, wr, &bad), 0);

	WRITE_ONCE(qp->state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, mroce_post_recv(&qp->ibqp, wr, &bad), -EINVAL);
}

static void rq_process_posts_by_ring_only(struct kunit *test)
{
	struct rq_env *e = test->priv;
	struct ib_recv_wr wr = {};
	const struct ib_recv_wr *bad = NULL;

	KUNIT_EXPECT_EQ(test, mroce_post_recv(&e->qp->ibqp, &wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wr);
	KUNIT_EXPECT_EQ(test, mroce_post_recv(&e->qp->ibqp, NULL, &bad), 0);
}

static struct kunit_case rq_cases[] = {
	KUNIT_CASE_PARAM(rq_user_entry, rq_entry_gen_params),
	KUNIT_CASE(rq_slot_is_copied),
	KUNIT_CASE_PARAM(rq_scribbled_producer, rq_producer_gen_params),
	KUNIT_CASE(rq_producer_goes_back),
	KUNIT_CASE(rq_completion),
	KUNIT_CASE(rq_flush),
	KUNIT_CASE(rq_kernel),
	KUNIT_CASE(rq_process_posts_by_ring_only),
	{}
};

static struct kunit_suite rq_suite = {
	.name = "metaroce_rq",
	.init = rq_init,
	.test_cases = rq_cases,
};

kunit_test_suite(rq_suite);
