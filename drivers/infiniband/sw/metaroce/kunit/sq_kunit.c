// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send queues: what is made of a work request that a process wrote into its ring, or that a
 * kernel user posted; and indices that a process has scribbled over.
 *
 * The QPs are in RTS without a connection: what is posted is copied, checked, and stays.
 */
#include <linux/sizes.h>

#include "kunit.h"

#define SQ_ENTRIES	128
#define SQ_SGE		3
#define SQ_INLINE	64
#define SQ_MR_BYTES	0xffffffffULL
#define SQ_WRAP		(U32_MAX - 2)

struct sq_env {
	struct mroce_dev *dev;
	struct ib_pd *pd;
	struct mroce_kunit_cq *cq;
	struct mroce_qp *qp;
	struct mroce_mr *rw, *ro;	/* regions that nobody looks into, local write and none */
};

static const struct ib_qp_cap sq_cap = {
	.max_send_wr = SQ_ENTRIES, .max_recv_wr = 4, .max_send_sge = SQ_SGE, .max_recv_sge = 1,
	.max_inline_data = SQ_INLINE,
};

static void sq_mr_exit(void *ctx)
{
	mroce_dereg_mr(ctx, NULL);
}

static struct mroce_mr *sq_mr(struct kunit *test, int access)
{
	struct sq_env *e = test->priv;
	struct ib_mr *ibmr = mroce_get_dma_mr(e->pd, access);
	struct mroce_mr *mr;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ibmr);
	mr = to_mmr(ibmr);
	mr->dma = false;	/* addresses from 0 on, without memory */
	mr->length = SQ_MR_BYTES;
	mroce_kunit_defer(test, sq_mr_exit, ibmr);
	return mr;
}

static struct mroce_qp *sq_qp(struct kunit *test, enum ib_qp_type type, bool user)
{
	struct sq_env *e = test->priv;
	struct mroce_qp *qp = mroce_kunit_qp(test, e->pd, e->cq, type, &sq_cap, user);

	WRITE_ONCE(qp->state, IB_QPS_RTS);
	return qp;
}

static int sq_init(struct kunit *test)
{
	struct sq_env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	test->priv = e;
	e->dev = mroce_kunit_dev(test);
	e->pd = mroce_kunit_pd(test, e->dev, true);
	e->cq = mroce_kunit_cq(test, e->dev, 256);
	e->rw = sq_mr(test, IB_ACCESS_LOCAL_WRITE);
	e->ro = sq_mr(test, 0);
	e->qp = sq_qp(test, IB_QPT_RC, true);
	return 0;
}

static void sq_index(struct mroce_qp *qp, u32 index)
{
	qp->sq.head = index;
	qp->sq.tail = index;
	qp->sq.ring.hdr->producer = index;
	qp->sq.ring.hdr->consumer = index;
}

static struct mroce_send_wqe *sq_slot(struct mroce_qp *qp, u32 index)
{
	return qp->sq.ring.slots + (size_t)(index % SQ_ENTRIES) * qp->sq.ring.entry_size;
}

static int sq_doorbell(struct mroce_qp *qp)
{
	const struct ib_send_wr *bad;

	return mroce_post_send(&qp->ibqp, NULL, &bad);
}

/* The user's part of a request; its SGEs or data are behind it. */
struct sq_request {
	const char *name;
	u32 opcode, flags, num_sge, inline_len;
	u32 lens[SQ_SGE];
	bool read_only, bad_key;
	/* what it is to become */
	enum ib_wc_status status;
	u32 len;
	u8 op, msg_flags;
};

#define SQ_MAX_HALF	(MROCE_MAX_MSG_SIZE / 2)

static const struct sq_request sq_requests[] = {
	{ "send", IB_WR_SEND, 0, 1, 0, { 100 }, .op = MROCE_OP_SEND, .len = 100 },
	{ "send of nothing", IB_WR_SEND, 0, 0, .op = MROCE_OP_SEND },
	{ "as many SGEs as it may have", IB_WR_SEND, 0, SQ_SGE, 0, { 1, 2, 3 },
	  .op = MROCE_OP_SEND, .len = 6 },
	{ "one SGE too many", IB_WR_SEND, 0, SQ_SGE + 1, .op = MROCE_OP_SEND,
	  .status = IB_WC_LOC_QP_OP_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "2^32 - 1 SGEs", IB_WR_RDMA_WRITE, 0, U32_MAX, .op = MROCE_OP_WRITE,
	  .status = IB_WC_LOC_QP_OP_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an empty SGE's key is nobody's matter", IB_WR_SEND, 0, 1, 0, { 0 }, .bad_key = true,
	  .op = MROCE_OP_SEND },
	{ "a bad key", IB_WR_SEND, 0, 1, 0, { 1 }, .bad_key = true, .op = MROCE_OP_SEND,
	  .status = IB_WC_LOC_PROT_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "the longest message", IB_WR_RDMA_WRITE, 0, 2, 0, { SQ_MAX_HALF, SQ_MAX_HALF },
	  .op = MROCE_OP_WRITE, .len = MROCE_MAX_MSG_SIZE },
	{ "one byte more", IB_WR_RDMA_WRITE, 0, 3, 0, { SQ_MAX_HALF, SQ_MAX_HALF, 1 },
	  .op = MROCE_OP_WRITE, .status = IB_WC_LOC_LEN_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "lengths that sum up to 2^32 and 8", IB_WR_RDMA_WRITE, 0, 3, 0,
	  { 0x7fffffff, 0x7fffffff, 10 },
	  .op = MROCE_OP_WRITE, .status = IB_WC_LOC_LEN_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an opcode behind the table", IB_WR_REG_MR + 1, 0, 1, 0, { 8 },
	  .status = IB_WC_LOC_QP_OP_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "opcode 2^32 - 1", U32_MAX, 0, 1, 0, { 8 },
	  .status = IB_WC_LOC_QP_OP_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an opcode that we haven't", IB_WR_LOCAL_INV, 0, 0,
	  .status = IB_WC_LOC_QP_OP_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "inline", IB_WR_SEND, MROCE_WQE_INLINE, 0, 13, .op = MROCE_OP_SEND, .len = 13 },
	{ "all that may be inline", IB_WR_RDMA_WRITE, MROCE_WQE_INLINE, 0, SQ_INLINE,
	  .op = MROCE_OP_WRITE, .len = SQ_INLINE },
	{ "one byte too much inline", IB_WR_RDMA_WRITE, MROCE_WQE_INLINE, 0, SQ_INLINE + 1,
	  .op = MROCE_OP_WRITE, .status = IB_WC_LOC_LEN_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "2^32 - 1 bytes inline", IB_WR_SEND, MROCE_WQE_INLINE, 0, U32_MAX,
	  .op = MROCE_OP_SEND, .status = IB_WC_LOC_LEN_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an inline READ", IB_WR_RDMA_READ, MROCE_WQE_INLINE, 0, 8,
	  .op = MROCE_OP_READ, .status = IB_WC_LOC_QP_OP_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an inline atomic", IB_WR_ATOMIC_FETCH_AND_ADD, MROCE_WQE_INLINE, 0, 8,
	  .op = MROCE_OP_FETCH_ADD, .status = IB_WC_LOC_QP_OP_ERR,
	  .msg_flags = MROCE_MSG_FAILED },
	{ "READ", IB_WR_RDMA_READ, 0, 1, 0, { 5000 }, .op = MROCE_OP_READ, .len = 5000 },
	{ "READ into what may not be written", IB_WR_RDMA_READ, 0, 1, 0, { 5000 },
	  .read_only = true, .op = MROCE_OP_READ, .status = IB_WC_LOC_PROT_ERR,
	  .msg_flags = MROCE_MSG_FAILED },
	{ "WRITE from there", IB_WR_RDMA_WRITE, 0, 1, 0, { 5000 }, .read_only = true,
	  .op = MROCE_OP_WRITE, .len = 5000 },
	{ "an atomic", IB_WR_ATOMIC_CMP_AND_SWP, 0, 1, 0, { 8 }, .op = MROCE_OP_CMP_SWAP,
	  .len = 8 },
	{ "an atomic in two halves", IB_WR_ATOMIC_FETCH_AND_ADD, 0, 2, 0, { 3, 5 },
	  .op = MROCE_OP_FETCH_ADD, .len = 8 },
	{ "an atomic of 7 bytes", IB_WR_ATOMIC_FETCH_AND_ADD, 0, 1, 0, { 7 },
	  .op = MROCE_OP_FETCH_ADD, .status = IB_WC_LOC_LEN_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an atomic of 16 bytes", IB_WR_ATOMIC_FETCH_AND_ADD, 0, 2, 0, { 8, 8 },
	  .op = MROCE_OP_FETCH_ADD, .status = IB_WC_LOC_LEN_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an atomic of nothing", IB_WR_ATOMIC_CMP_AND_SWP, 0, 0,
	  .op = MROCE_OP_CMP_SWAP, .status = IB_WC_LOC_LEN_ERR, .msg_flags = MROCE_MSG_FAILED },
	{ "an atomic into what may not be written", IB_WR_ATOMIC_CMP_AND_SWP, 0, 1, 0, { 8 },
	  .read_only = true, .op = MROCE_OP_CMP_SWAP, .status = IB_WC_LOC_PROT_ERR,
	  .msg_flags = MROCE_MSG_FAILED },
	{ "immediate, solicited, fenced", IB_WR_SEND_WITH_IMM,
	  MROCE_WQE_SOLICITED | MROCE_WQE_FENCE, 1, 0, { 4 }, .op = MROCE_OP_SEND, .len = 4,
	  .msg_flags = MROCE_MSG_IMM | MROCE_MSG_SOLICITED | MROCE_MSG_FENCE },
	{ "WRITE takes no receive, so is not solicited", IB_WR_RDMA_WRITE, MROCE_WQE_SOLICITED,
	  1, 0, { 4 }, .op = MROCE_OP_WRITE, .len = 4 },
	{ "WRITE with immediate does", IB_WR_RDMA_WRITE_WITH_IMM, MROCE_WQE_SOLICITED, 1, 0,
	  { 4 }, .op = MROCE_OP_WRITE, .len = 4, .msg_flags = MROCE_MSG_IMM | MROCE_MSG_SOLICITED },
};

KUNIT_ARRAY_PARAM_DESC(sq_request, sq_requests, name);

static void sq_write(struct kunit *test, struct mroce_send_wqe *w, const struct sq_request *r)
{
	struct sq_env *e = test->priv;
	struct mroce_sge *sge = (struct mroce_sge *)(w + 1);
	u32 i;

	*w = (struct mroce_send_wqe) {
		.wr_id = 0xabcd,
		.opcode = r->opcode,
		.flags = r->flags,
		.num_sge = r->num_sge,
		.inline_len = r->inline_len,
		.ex.imm_data = cpu_to_be32(0x01020304),
		.wr.rdma.remote_addr = 0x5000,
		.wr.rdma.rkey = 0x6000,
		.wr.rdma.compare_add = 0x7000,
		.wr.rdma.swap = 0x8000,
	};
	if (r->flags & MROCE_WQE_INLINE) {
		memset(w + 1, 0x5a, SQ_INLINE);
		return;
	}
	for (i = 0; i < SQ_SGE; i++) {
		sge[i].addr = 16 * i;
		sge[i].length = r->lens[i];
		sge[i].lkey = r->bad_key ? 0x999999 : r->read_only ? e->ro->key : e->rw->key;
	}
}

static void sq_user_request(struct kunit *test)
{
	const struct sq_request *r = test->param_value;
	struct sq_env *e = test->priv;
	struct mroce_qp *qp = e->qp;
	struct mroce_swqe *wqe = mroce_sq_wqe(&qp->sq, SQ_WRAP);

	sq_index(qp, SQ_WRAP);
	sq_write(test, sq_slot(qp, SQ_WRAP), r);
	qp->sq.ring.hdr->producer++;
	KUNIT_ASSERT_EQ(test, sq_doorbell(qp), 0);
	KUNIT_ASSERT_EQ(test, qp->sq.head, SQ_WRAP + 1);

	KUNIT_EXPECT_EQ(test, wqe->status, r->status);
	KUNIT_EXPECT_EQ(test, wqe->wr_id, 0xabcdULL);
	KUNIT_EXPECT_EQ(test, wqe->msg.op, r->op);
	KUNIT_EXPECT_EQ(test, wqe->msg.flags, r->msg_flags);
	KUNIT_EXPECT_EQ(test, wqe->msg.len, r->len);
	if (r->op == MROCE_OP_WRITE || r->op == MROCE_OP_READ) {
		KUNIT_EXPECT_EQ(test, wqe->msg.raddr, 0x5000ULL);
		KUNIT_EXPECT_EQ(test, wqe->msg.rkey, 0x6000);
	}
	/* never more than there is room for, whatever the process says */
	KUNIT_EXPECT_LE(test, wqe->num_sge, SQ_SGE);
	KUNIT_EXPECT_LE(test, wqe->inline_len, SQ_INLINE);
	if (r->status == IB_WC_SUCCESS && r->inline_len)
		KUNIT_EXPECT_MEMEQ(test, wqe->data, sq_slot(qp, SQ_WRAP) + 1, r->inline_len);
}

/* The kernel looks at a slot once: what the process does to it later changes nothing. */
static void sq_slot_is_copied(struct kunit *test)
{
	struct sq_env *e = test->priv;
	struct mroce_swqe *wqe = mroce_sq_wqe(&e->qp->sq, 0);
	struct mroce_send_wqe *slot = sq_slot(e->qp, 0);

	sq_write(test, slot, &sq_requests[2]);
	e->qp->sq.ring.hdr->producer = 1;
	KUNIT_ASSERT_EQ(test, sq_doorbell(e->qp), 0);
	memset(slot, 0xff, e->qp->sq.ring.entry_size);
	KUNIT_ASSERT_EQ(test, sq_doorbell(e->qp), 0);
	KUNIT_EXPECT_EQ(test, e->qp->sq.head, 1);
	KUNIT_EXPECT_EQ(test, wqe->status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wqe->msg.len, 6);
	KUNIT_EXPECT_EQ(test, wqe->num_sge, SQ_SGE);
	KUNIT_EXPECT_EQ(test, wqe->sge[2].length, 3);
	KUNIT_EXPECT_EQ(test, wqe->sge[2].lkey, e->rw->key);
}

/* ---- indices ---- */

static const struct sq_producer {
	const char *name;
	u32 head, tail;		/* the kernel's */
	u32 producer;		/* the process' */
	int err;
	u32 new_head;
} sq_producers[] = {
	{ "nothing new", 7, 3, 7, 0, 7 },
	{ "one more", 7, 3, 8, 0, 8 },
	{ "more than one round of the lock takes", 0, 0, SQ_ENTRIES, 0, SQ_ENTRIES },
	{ "all the room there is", 7, 3, 3 + SQ_ENTRIES, 0, 3 + SQ_ENTRIES },
	{ "one too many", 7, 3, 4 + SQ_ENTRIES, -EINVAL, 7 },
	{ "one back", 7, 3, 6, -EINVAL, 7 },
	{ "back to 0", 7, 3, 0, -EINVAL, 7 },
	{ "half around", 7, 3, 0x80000007, -EINVAL, 7 },
	{ "a full queue, one more", SQ_ENTRIES, 0, SQ_ENTRIES + 1, -EINVAL, SQ_ENTRIES },
	{ "a full queue, as it is", SQ_ENTRIES, 0, SQ_ENTRIES, 0, SQ_ENTRIES },
	{ "across the wrap", U32_MAX, U32_MAX - 4, 9, 0, 9 },
	{ "across the wrap, all", U32_MAX, U32_MAX, SQ_ENTRIES - 1, 0, SQ_ENTRIES - 1 },
	{ "across the wrap, one too many", U32_MAX, U32_MAX, SQ_ENTRIES, -EINVAL, U32_MAX },
	{ "across the wrap, one back", 0, U32_MAX - 4, U32_MAX, -EINVAL, 0 },
};

KUNIT_ARRAY_PARAM_DESC(sq_producer, sq_producers, name);

static void sq_scribbled_producer(struct kunit *test)
{
	const struct sq_producer *p = test->param_value;
	struct sq_env *e = test->priv;
	struct mroce_qp *qp = e->qp;
	u32 i;

	for (i = 0; i < SQ_ENTRIES; i++)
		sq_write(test, sq_slot(qp, i), &sq_requests[0]);
	qp->sq.head = p->head;
	qp->sq.tail = p->tail;
	qp->sq.ring.hdr->consumer = 0xbadbad;	/* the kernel's to write: not read */
	qp->sq.ring.hdr->producer = p->producer;
	KUNIT_EXPECT_EQ(test, sq_doorbell(qp), p->err);
	KUNIT_EXPECT_EQ(test, qp->sq.head, p->new_head);
	KUNIT_EXPECT_EQ(test, qp->sq.tail, p->tail);
}

static void sq_wrong_state(struct kunit *test)
{
	static const enum ib_qp_state states[] = { IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR };
	struct sq_env *e = test->priv;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad = NULL;
	struct mroce_qp *kqp = sq_qp(test, IB_QPT_RC, false);
	u32 i;

	e->qp->sq.ring.hdr->producer = 1;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		WRITE_ONCE(e->qp->state, states[i]);
		KUNIT_EXPECT_EQ(test, sq_doorbell(e->qp), -EINVAL);
		KUNIT_EXPECT_EQ(test, e->qp->sq.head, 0);
		WRITE_ONCE(kqp->state, states[i]);
		KUNIT_EXPECT_EQ(test, mroce_post_send(&kqp->ibqp, &wr, &bad), -EINVAL);
		KUNIT_EXPECT_PTR_EQ(test, bad, &wr);
		KUNIT_EXPECT_EQ(test, kqp->sq.head, 0);
	}
	/* a process posts through its ring only */
	WRITE_ONCE(e->qp->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, mroce_post_send(&e->qp->ibqp, &wr, &bad), -EINVAL);
}

/* ---- a kernel user ---- */

static void sq_kernel_list(struct kunit *test)
{
	struct mroce_qp *qp = sq_qp(test, IB_QPT_RC, false);
	struct sq_env *e = test->priv;
	struct ib_sge sge[SQ_SGE + 1] = {
		{ 0, 10, e->rw->key }, { 64, 20, e->rw->key }, { 128, 30, e->rw->key }, {},
	};
	struct ib_rdma_wr wr[3] = {};
	const struct ib_send_wr *bad = NULL;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wr); i++) {
		wr[i].wr.next = i < 2 ? &wr[i + 1].wr : NULL;
		wr[i].wr.wr_id = 100 + i;
		wr[i].wr.opcode = IB_WR_RDMA_WRITE;
		wr[i].wr.sg_list = sge;
		wr[i].wr.num_sge = SQ_SGE;
		wr[i].remote_addr = 0x5000 + i;
		wr[i].rkey = 0x6000 + i;
	}
	KUNIT_ASSERT_EQ(test, mroce_post_send(&qp->ibqp, &wr[0].wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, qp->sq.head, 3);
	for (i = 0; i < 3; i++) {
		struct mroce_swqe *wqe = mroce_sq_wqe(&qp->sq, i);

		KUNIT_EXPECT_EQ(test, wqe->wr_id, 100ULL + i);
		KUNIT_EXPECT_EQ(test, wqe->status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wqe->msg.len, 60);
		KUNIT_EXPECT_EQ(test, wqe->msg.raddr, 0x5000ULL + i);
		KUNIT_EXPECT_EQ(test, wqe->msg.rkey, 0x6000 + i);
	}
	/* the second of three is wrong: the first is posted, and the caller is told which */
	wr[1].wr.num_sge = SQ_SGE + 1;
	KUNIT_EXPECT_EQ(test, mroce_post_send(&qp->ibqp, &wr[0].wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wr[1].wr);
	KUNIT_EXPECT_EQ(test, qp->sq.head, 4);
	wr[1].wr.num_sge = -1;
	KUNIT_EXPECT_EQ(test, mroce_post_send(&qp->ibqp, &wr[1].wr, &bad), -EINVAL);
	wr[1].wr.num_sge = 1;
	wr[1].wr.opcode = IB_WR_REG_MR;
	KUNIT_EXPECT_EQ(test, mroce_post_send(&qp->ibqp, &wr[1].wr, &bad), -EINVAL);
	KUNIT_EXPECT_EQ(test, qp->sq.head, 4);
}

static void sq_kernel_full(struct kunit *test)
{
	struct mroce_qp *qp = sq_qp(test, IB_QPT_RC, false);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad = NULL;
	u32 i;

	qp->sq.head = SQ_WRAP;
	qp->sq.tail = SQ_WRAP;
	for (i = 0; i < SQ_ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, mroce_post_send(&qp->ibqp, &wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, mroce_post_send(&qp->ibqp, &wr, &bad), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, &wr);
	KUNIT_EXPECT_EQ(test, qp->sq.head, SQ_WRAP + SQ_ENTRIES);
}

static void sq_kernel_inline(struct kunit *test)
{
	struct mroce_qp *qp = sq_qp(test, IB_QPT_RC, false);
	u8 *data = kunit_kzalloc(test, SQ_INLINE + 1, GFP_KERNEL);
	struct ib_sge sge[2] = {};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_INLINE, .sg_list = sge, .num_sge = 2,
	};
	const struct ib_send_wr *bad = NULL;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (i = 0; i < SQ_INLINE; i++)
		data[i] = i;
	sge[0] = (struct ib_sge) { (uintptr_t)data, 24 };
	sge[1] = (struct ib_sge) { (uintptr_t)data + 24, SQ_INLINE - 24 };
	KUNIT_EXPECT_EQ(test, mroce_post_send(&qp->ibqp, &wr, &bad), 0);
	KUNIT_EXPECT_EQ(test, mroce_sq_wqe(&qp->sq, 0)->msg.len, SQ_INLINE);
	KUNIT_EXPECT_MEMEQ(test, mroce_sq_wqe(&qp->sq, 0)->data, data, SQ_INLINE);
	sge[1].length++;
	KUNIT_EXPECT_EQ(test, mroce_post_send(&qp->ibqp, &wr, &bad), -EINVAL);
	sge[1].length = U32_MAX - 8;	/* the sum would wrap to what fits */
	KUNIT_EXPECT_EQ(test, mroce_post_send(&qp->ibqp, &wr, &bad), -EINVAL);
	KUNIT_EXPECT_EQ(test, qp->sq.head, 1);
}

/* ---- datagrams ---- */

/* A WRITE, and an address handle that isn't there: the QP fails, the rest is flushed. */
static void sq_datagram_refused(struct kunit *test)
{
	struct sq_env *e = test->priv;
	struct mroce_qp *qp = sq_qp(test, IB_QPT_UD, true);
	u32 opcodes[] = { IB_WR_RDMA_WRITE, IB_WR_SEND }, i;
	struct ib_wc wc[3];

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct mroce_send_wqe *slot = sq_slot(qp, 0);

		mroce_qp_reset(qp);
		WRITE_ONCE(qp->state, IB_QPS_RTS);
		memset(slot, 0, sizeof(*slot));
		slot->opcode = opcodes[i];
		slot->wr.ud.ah_num = 77;
		memset(sq_slot(qp, 1), 0, sizeof(*slot));
		qp->sq.ring.hdr->producer = 2;
		KUNIT_EXPECT_EQ(test, sq_doorbell(qp), 0);
		flush_work(&qp->error_work);
		KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
		KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->cq.ibcq, 3, wc), 2);
		KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_LOC_QP_OP_ERR);
		KUNIT_EXPECT_EQ(test, wc[1].status, IB_WC_WR_FLUSH_ERR);
	}
}

/* ---- completion ---- */

static void sq_completion(struct kunit *test)
{
	struct sq_env *e = test->priv;
	struct mroce_qp *qp = e->qp;
	struct ib_wc wc[4];
	MROCE_NOTIFY(notify);
	u32 i;

	sq_index(qp, SQ_WRAP);
	for (i = 0; i < 4; i++) {
		struct mroce_send_wqe *slot = sq_slot(qp, SQ_WRAP + i);

		sq_write(test, slot, &sq_requests[0]);
		slot->wr_id = i;
		slot->flags = i == 1 ? MROCE_WQE_SIGNALED : 0;
	}
	qp->sq.ring.hdr->producer = SQ_WRAP + 4;
	KUNIT_ASSERT_EQ(test, sq_doorbell(qp), 0);
	local_bh_disable();
	for (i = 0; i < 4; i++) {
		mroce_sq_complete(qp, mroce_sq_wqe(&qp->sq, SQ_WRAP + i),
				  i == 2 ? IB_WC_REM_ACCESS_ERR : IB_WC_SUCCESS, 0x10 + i, &notify);
		KUNIT_EXPECT_EQ(test, qp->sq.ring.hdr->consumer, SQ_WRAP + 1 + i);
	}
	mroce_notify_flush(&notify);
	local_bh_enable();
	/* the signaled one, and the one that failed */
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->cq.ibcq, 4, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[0].wr_id, 1ULL);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc[0].byte_len, 100);
	KUNIT_EXPECT_PTR_EQ(test, wc[0].qp, &qp->ibqp);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 2ULL);
	KUNIT_EXPECT_EQ(test, wc[1].status, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, wc[1].vendor_err, 0x12);
}

/* In ERR everything is flushed in order, the oldest as it failed, and so is what comes later. */
static void sq_flush(struct kunit *test)
{
	struct sq_env *e = test->priv;
	struct mroce_qp *qp = e->qp;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_wc wc[6];
	u32 i;

	sq_index(qp, SQ_WRAP);
	for (i = 0; i < 6; i++) {
		sq_write(test, sq_slot(qp, SQ_WRAP + i), &sq_requests[0]);
		sq_slot(qp, SQ_WRAP + i)->wr_id = i;
	}
	qp->sq.ring.hdr->producer = SQ_WRAP + 3;
	KUNIT_ASSERT_EQ(test, sq_doorbell(qp), 0);
	qp->sq.ring.hdr->producer = SQ_WRAP + 4;	/* written, the doorbell not rung */
	mroce_sq_fail_oldest(qp, IB_WC_RETRY_EXC_ERR, 0x33);
	KUNIT_ASSERT_EQ(test, mroce_modify_qp(&qp->ibqp, &attr, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->cq.ibcq, 6, wc), 4);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, wc[i].wr_id, (u64)i);
		KUNIT_EXPECT_EQ(test, wc[i].status, i ? IB_WC_WR_FLUSH_ERR : IB_WC_RETRY_EXC_ERR);
		KUNIT_EXPECT_EQ(test, wc[i].vendor_err, i ? 0 : 0x33);
	}
	qp->sq.ring.hdr->producer = SQ_WRAP + 6;
	KUNIT_EXPECT_EQ(test, sq_doorbell(qp), 0);
	KUNIT_ASSERT_EQ(test, mroce_poll_cq(&e->cq->cq.ibcq, 6, wc), 2);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 5ULL);
	KUNIT_EXPECT_EQ(test, wc[1].status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, qp->sq.ring.hdr->consumer, SQ_WRAP + 6);
}

static struct kunit_case sq_cases[] = {
	KUNIT_CASE_PARAM(sq_user_request, sq_request_gen_params),
	KUNIT_CASE(sq_slot_is_copied),
	KUNIT_CASE_PARAM(sq_scribbled_producer, sq_producer_gen_params),
	KUNIT_CASE(sq_wrong_state),
	KUNIT_CASE(sq_kernel_list),
	KUNIT_CASE(sq_kernel_full),
	KUNIT_CASE(sq_kernel_inline),
	KUNIT_CASE(sq_datagram_refused),
	KUNIT_CASE(sq_completion),
	KUNIT_CASE(sq_flush),
	{}
};

static struct kunit_suite sq_suite = {
	.name = "metaroce_sq",
	.init = sq_init,
	.test_cases = sq_cases,
};

kunit_test_suite(sq_suite);
