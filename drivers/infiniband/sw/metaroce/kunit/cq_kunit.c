// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: indices that wrap, overflow, arming, resizing. */
#include "kunit.h"

#define CQ_ENTRIES	64
#define CQ_WRAP		(U32_MAX - 5)	/* both indices are a few steps before their wrap */

struct cq_env {
	struct mroce_dev *dev;
	struct mroce_kunit_cq *k;
	struct mroce_cq *cq;
	struct ib_qp qp, other_qp;
	struct ib_wc wc[CQ_ENTRIES + 1];
};

static int cq_init(struct kunit *test)
{
	struct cq_env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	e->dev = mroce_kunit_dev(test);
	e->k = mroce_kunit_cq(test, e->dev, CQ_ENTRIES);
	e->cq = &e->k->cq;
	e->qp.qp_num = 0x123;
	e->other_qp.qp_num = 0x124;
	test->priv = e;
	return 0;
}

/* Makes a process' CQ of it. */
static void cq_user(struct kunit *test)
{
	struct cq_env *e = test->priv;

	kvfree(e->cq->ring.slots);
	mroce_kunit_ring(test, &e->cq->ring, CQ_ENTRIES, sizeof(struct mroce_cqe));
	e->cq->is_user = true;
}

static void cq_index(struct mroce_cq *cq, u32 index)
{
	cq->producer = index;
	cq->consumer = index;
	if (cq->ring.hdr) {
		cq->ring.hdr->producer = index;
		cq->ring.hdr->consumer = index;
	}
}

static void cq_post_wc(struct kunit *test, const struct ib_wc *wc, bool solicited)
{
	struct cq_env *e = test->priv;
	MROCE_NOTIFY(notify);

	local_bh_disable();
	mroce_cq_post(e->cq, wc, solicited, &notify);
	mroce_notify_flush(&notify);
	local_bh_enable();
}

static void cq_post(struct kunit *test, u64 wr_id)
{
	struct cq_env *e = test->priv;
	struct ib_wc wc = { .wr_id = wr_id, .qp = &e->qp, .opcode = IB_WC_SEND };

	cq_post_wc(test, &wc, false);
}

static void cq_sizes(struct kunit *test)
{
	static const struct {
		u32 cqe, entries;
	} good[] = {
		{ 1, MROCE_MIN_CQE }, { MROCE_MIN_CQE, MROCE_MIN_CQE },
		{ MROCE_MIN_CQE + 1, 2 * MROCE_MIN_CQE }, { 1000, 1024 }, { 1024, 1024 },
	};
	struct cq_env *e = test->priv;
	struct ib_cq_init_attr attr = {};
	struct mroce_cq bad = { .ibcq.device = &e->dev->ibdev };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		struct mroce_kunit_cq *k = mroce_kunit_cq(test, e->dev, good[i].cqe);

		KUNIT_EXPECT_EQ(test, k->cq.ring.entries, good[i].entries);
		KUNIT_EXPECT_EQ(test, k->cq.ibcq.cqe, (int)good[i].entries);
	}
	KUNIT_EXPECT_EQ(test, mroce_create_cq(&bad.ibcq, &attr, NULL), -EINVAL);
	attr.cqe = MROCE_MAX_CQE + 1;
	KUNIT_EXPECT_EQ(test, mroce_create_cq(&bad.ibcq, &attr, NULL), -EINVAL);
	attr.cqe = 1;
	attr.flags = IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	KUNIT_EXPECT_EQ(test, mroce_create_cq(&bad.ibcq, &attr, NULL), -EOPNOTSUPP);
}

/* In order, whole, and never more than was asked for, while the indices wrap. */
static void cq_order(struct kunit *test)
{
	struct cq_env *e = test->priv;
	struct ib_wc *wc = e->wc;
	u32 turn, i;
	int n;

	cq_index(e->cq, CQ_WRAP);
	for (turn = 0; turn < 4; turn++) {
		for (i = 0; i < CQ_ENTRIES; i++)
			cq_post(test, turn * 1000 + i);
		KUNIT_EXPECT_EQ(test, mroce_poll_cq(&e->cq->ibcq, 0, wc), 0);
		n = mroce_poll_cq(&e->cq->ibcq, 5, wc);
		KUNIT_ASSERT_EQ(test, n, 5);
		n += mroce_poll_cq(&e->cq->ibcq, CQ_ENTRIES, wc + 5);
		KUNIT_ASSERT_EQ(test, n, CQ_ENTRIES);
		for (i = 0; i < CQ_ENTRIES; i++)
			KUNIT_EXPECT_EQ(test, wc[i].wr_id, turn * 1000ULL + i);
		KUNIT_EXPECT_EQ(test, mroce_poll_cq(&e->cq->ibcq, 1, wc), 0);
	}
	KUNIT_EXPECT_EQ(test, e->cq->producer, CQ_WRAP + 4 * CQ_ENTRIES);
	KUNIT_EXPECT_FALSE(test, e->cq->dead);
}

static void cq_overflow(struct kunit *test)
{
	struct cq_env *e = test->priv;
	struct ib_wc *wc = e->wc;
	u32 i;

	cq_index(e->cq, CQ_WRAP);
	for (i = 0; i < CQ_ENTRIES; i++)
		cq_post(test, i);
	KUNIT_EXPECT_EQ(test, e->k->errors, 0);
	cq_post(test, 1000);
	KUNIT_EXPECT_EQ(test, e->k->errors, 1);
	cq_post(test, 1001);
	KUNIT_EXPECT_EQ_MSG(test, e->k->errors, 1, "it is told once");
	/* what was there is there */
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->ibcq, CQ_ENTRIES + 1, wc), CQ_ENTRIES);
	for (i = 0; i < CQ_ENTRIES; i++)
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, (u64)i);
	cq_post(test, 1002);
	KUNIT_EXPECT_EQ_MSG(test, mroce_poll_cq(&e->cq->ibcq, 1, wc), 0, "it stays in error");
}

/* ---- arming ---- */

static const struct cq_arm {
	const char *name;
	u32 first, second;	/* enum ib_cq_notify_flags of two calls; 0: none */
	bool solicited, error;
	u32 events;		/* that the first of two completions raises */
} cq_arms[] = {
	{ "not armed", 0, 0, true, true, 0 },
	{ "next", IB_CQ_NEXT_COMP, 0, false, false, 1 },
	{ "next, solicited", IB_CQ_NEXT_COMP, 0, true, false, 1 },
	{ "solicited only", IB_CQ_SOLICITED, 0, false, false, 0 },
	{ "solicited only, solicited", IB_CQ_SOLICITED, 0, true, false, 1 },
	{ "solicited only, an error", IB_CQ_SOLICITED, 0, false, true, 1 },
	{ "both at once mean the wider", IB_CQ_SOLICITED | IB_CQ_NEXT_COMP, 0, false, false, 1 },
	{ "widened", IB_CQ_SOLICITED, IB_CQ_NEXT_COMP, false, false, 1 },
	{ "never narrowed", IB_CQ_NEXT_COMP, IB_CQ_SOLICITED, false, false, 1 },
	{ "twice is once", IB_CQ_NEXT_COMP, IB_CQ_NEXT_COMP, false, false, 1 },
};

KUNIT_ARRAY_PARAM_DESC(cq_arm, cq_arms, name);

static void cq_arming(struct kunit *test)
{
	const struct cq_arm *a = test->param_value;
	struct cq_env *e = test->priv;
	struct ib_wc wc = {
		.qp = &e->qp,
		.status = a->error ? IB_WC_WR_FLUSH_ERR : IB_WC_SUCCESS,
	};

	if (a->first)
		KUNIT_EXPECT_EQ(test, mroce_req_notify_cq(&e->cq->ibcq, a->first), 0);
	if (a->second)
		KUNIT_EXPECT_EQ(test, mroce_req_notify_cq(&e->cq->ibcq, a->second), 0);
	cq_post_wc(test, &wc, a->solicited);
	KUNIT_EXPECT_EQ(test, e->k->completions, a->events);
	/* one arming, one event */
	wc.status = IB_WC_SUCCESS;
	cq_post_wc(test, &wc, false);
	KUNIT_EXPECT_EQ(test, e->k->completions, a->events);
}

static void cq_missed_events(struct kunit *test)
{
	struct cq_env *e = test->priv;
	struct ib_cq *ibcq = &e->cq->ibcq;
	int both = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(test, mroce_req_notify_cq(ibcq, both), 0);
	cq_post(test, 1);
	KUNIT_EXPECT_EQ(test, mroce_req_notify_cq(ibcq, IB_CQ_NEXT_COMP), 0);
	KUNIT_EXPECT_GT(test, mroce_req_notify_cq(ibcq, both), 0);
	KUNIT_EXPECT_EQ(test, mroce_poll_cq(ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, mroce_req_notify_cq(ibcq, both), 0);
}

/* Several completions under one lock: as many events as there were armings that they met. */
static void cq_notify_is_collected(struct kunit *test)
{
	struct cq_env *e = test->priv;
	struct ib_wc wc = { .qp = &e->qp };
	MROCE_NOTIFY(notify);

	local_bh_disable();
	mroce_req_notify_cq(&e->cq->ibcq, IB_CQ_NEXT_COMP);
	mroce_cq_post(e->cq, &wc, false, &notify);
	mroce_cq_post(e->cq, &wc, false, &notify);
	KUNIT_EXPECT_EQ_MSG(test, e->k->completions, 0, "not under the lock");
	mroce_req_notify_cq(&e->cq->ibcq, IB_CQ_NEXT_COMP);
	mroce_cq_post(e->cq, &wc, false, &notify);
	mroce_notify_flush(&notify);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, e->k->completions, 2);
	KUNIT_EXPECT_EQ_MSG(test, refcount_read(&e->cq->refs), 1, "the list's reference is back");
}

static void cq_forget(struct kunit *test)
{
	struct cq_env *e = test->priv;
	struct ib_wc wc[8];
	u32 i;

	cq_index(e->cq, CQ_WRAP);
	for (i = 0; i < 8; i++) {
		wc[0] = (struct ib_wc) { .wr_id = i, .qp = i % 3 ? &e->qp : &e->other_qp };
		cq_post_wc(test, &wc[0], false);
	}
	mroce_cq_forget(e->cq, &e->other_qp);
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->ibcq, 8, wc), 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_PTR_EQ(test, wc[i].qp, &e->qp);
	KUNIT_EXPECT_EQ(test, wc[4].wr_id, 7ULL);
}

/* ---- a process' ring ---- */

static struct mroce_cqe *cq_cqe(const struct mroce_ring *ring, u32 index)
{
	return ring->slots + (size_t)(index & (ring->entries - 1)) * ring->entry_size;
}

static void cq_user_entry(struct kunit *test)
{
	struct cq_env *e = test->priv;
	struct ib_wc wc = {
		.wr_id = 0x1122334455667788ULL,
		.status = IB_WC_RNR_RETRY_EXC_ERR,
		.opcode = IB_WC_RECV,
		.vendor_err = 0x99,
		.byte_len = 4711,
		.ex.imm_data = cpu_to_be32(0xdeadbeef),
		.qp = &e->qp,
		.src_qp = 0x777,
		.wc_flags = IB_WC_GRH | IB_WC_WITH_IMM | IB_WC_IP_CSUM_OK,
		.pkey_index = 3,
		.sl = 4,
	};
	struct mroce_cqe *cqe;

	cq_user(test);
	cq_index(e->cq, U32_MAX);
	cqe = cq_cqe(&e->cq->ring, U32_MAX);
	cq_post_wc(test, &wc, false);
	KUNIT_EXPECT_EQ(test, e->cq->ring.hdr->producer, 0U);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, wc.wr_id);
	KUNIT_EXPECT_EQ(test, cqe->timestamp, 0ULL);
	KUNIT_EXPECT_EQ(test, cqe->status, IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, cqe->opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, cqe->vendor_err, 0x99);
	KUNIT_EXPECT_EQ(test, cqe->byte_len, 4711);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(cqe->ex.imm_data), 0xdeadbeef);
	KUNIT_EXPECT_EQ(test, cqe->qp_num, 0x123);
	KUNIT_EXPECT_EQ(test, cqe->src_qp, 0x777);
	/* IBV_WC_GRH, IBV_WC_WITH_IMM; what else the kernel has is its own */
	KUNIT_EXPECT_EQ(test, cqe->wc_flags, 1U << 0 | 1U << 1);
	KUNIT_EXPECT_EQ(test, cqe->pkey_index, 3);
	KUNIT_EXPECT_EQ(test, cqe->sl, 4);

	/* IBV_WC_WITH_INV has another value than the kernel's flag */
	wc.wc_flags = IB_WC_WITH_INVALIDATE;
	cq_post_wc(test, &wc, false);
	KUNIT_EXPECT_EQ(test, cq_cqe(&e->cq->ring, 0)->wc_flags, 1U << 3);
	e->cq->timestamps = true;
	cq_post_wc(test, &wc, false);
	KUNIT_EXPECT_NE(test, cq_cqe(&e->cq->ring, 1)->timestamp, 0ULL);
}

/* The kernel's own producer counts; the process' consumer decides about overflow only. */
static void cq_user_scribbles(struct kunit *test)
{
	struct cq_env *e = test->priv;
	u32 i;

	cq_user(test);
	cq_index(e->cq, 0);
	for (i = 0; i < 3; i++) {
		e->cq->ring.hdr->producer = 0xbad + i;
		cq_post(test, i);
		KUNIT_EXPECT_EQ(test, e->cq->ring.hdr->producer, i + 1);
		KUNIT_EXPECT_EQ(test, cq_cqe(&e->cq->ring, i)->wr_id, (u64)i);
	}
	e->cq->ring.hdr->consumer = 4;	/* beyond the producer: as if it were full */
	cq_post(test, 3);
	KUNIT_EXPECT_EQ(test, e->k->errors, 1);
	KUNIT_EXPECT_EQ(test, e->cq->producer, 3);
}

static int cq_switch(struct kunit *test, struct mroce_ring *ring, u32 cqe)
{
	struct cq_env *e = test->priv;
	int err;

	spin_lock_bh(&e->cq->lock);
	err = mroce_cq_switch(e->cq, ring, cqe);
	spin_unlock_bh(&e->cq->lock);
	return err;
}

static const struct cq_resize {
	const char *name;
	u32 entries, cqe, unpolled;
	int err;
} cq_resizes[] = {
	{ "larger, empty", 256, 256, 0, 0 },
	{ "larger, full", 256, 256, CQ_ENTRIES, 0 },
	{ "the same", CQ_ENTRIES, CQ_ENTRIES, 40, 0 },
	{ "smaller, just enough", 16, 16, 16, 0 },
	{ "smaller than what is in it", 16, 16, 17, -EINVAL },
	{ "room, but not as asked for", CQ_ENTRIES, 9, 10, -EINVAL },
	{ "a scribbled consumer", 256, 256, CQ_ENTRIES + 1, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(cq_resize, cq_resizes, name);

static void cq_resizing(struct kunit *test)
{
	const struct cq_resize *r = test->param_value;
	struct cq_env *e = test->priv;
	struct mroce_ring ring = {}, old, fresh;
	u32 i, posted = min(r->unpolled, CQ_ENTRIES);

	cq_user(test);
	cq_index(e->cq, CQ_WRAP);
	for (i = 0; i < posted; i++)
		cq_post(test, i);
	e->cq->ring.hdr->consumer = CQ_WRAP + posted - r->unpolled;
	old = e->cq->ring;
	mroce_kunit_ring(test, &ring, r->entries, sizeof(struct mroce_cqe));
	fresh = ring;

	KUNIT_ASSERT_EQ(test, cq_switch(test, &ring, r->cqe), r->err);
	/* the one that is to be given back */
	KUNIT_EXPECT_PTR_EQ(test, ring.hdr, r->err ? fresh.hdr : old.hdr);
	KUNIT_EXPECT_PTR_EQ(test, e->cq->ring.hdr, r->err ? old.hdr : fresh.hdr);
	if (r->err)
		return;
	KUNIT_EXPECT_EQ(test, e->cq->ring.entries, r->entries);
	KUNIT_EXPECT_EQ(test, fresh.hdr->producer, CQ_WRAP + posted);
	KUNIT_EXPECT_EQ(test, fresh.hdr->consumer, CQ_WRAP);
	for (i = 0; i < posted; i++)
		KUNIT_EXPECT_EQ(test, cq_cqe(&fresh, CQ_WRAP + i)->wr_id, (u64)i);
	/* and it goes on where it was */
	fresh.hdr->consumer = CQ_WRAP + posted;
	cq_post(test, 99);
	KUNIT_EXPECT_EQ(test, cq_cqe(&fresh, CQ_WRAP + posted)->wr_id, 99ULL);
	KUNIT_EXPECT_EQ(test, fresh.hdr->producer, CQ_WRAP + posted + 1);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE(cq_sizes),
	KUNIT_CASE(cq_order),
	KUNIT_CASE(cq_overflow),
	KUNIT_CASE_PARAM(cq_arming, cq_arm_gen_params),
	KUNIT_CASE(cq_missed_events),
	KUNIT_CASE(cq_notify_is_collected),
	KUNIT_CASE(cq_forget),
	KUNIT_CASE(cq_user_entry),
	KUNIT_CASE(cq_user_scribbles),
	KUNIT_CASE_PARAM(cq_resizing, cq_resize_gen_params),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "metaroce_cq",
	.init = cq_init,
	.test_cases = cq_cases,
};

kunit_test_suite(cq_suite);
