// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * modify_qp: every pair of states, for each kind of queue pair, with each attribute missing or
 * too many, against the IBTA's table (10.3.1, 11.2.5.2) as it is written out below.
 */
#include "kunit.h"

/* States that a QP of ours can be in. */
static const enum ib_qp_state modify_states[] = {
	IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, IB_QPS_ERR,
};

struct modify_rule {
	enum ib_qp_type type;
	enum ib_qp_state from, to;
	int required, optional;
};

#define RC_ENDPOINT	(IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | \
			 IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RC_REQUESTER	(IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN | \
			 IB_QP_MAX_QP_RD_ATOMIC)

/* What is not here and doesn't end in RESET or ERR is refused. */
static const struct modify_rule modify_rules[] = {
	{ IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0 },
	{ IB_QPT_RC, IB_QPS_INIT, IB_QPS_INIT,
	  0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR,
	  RC_ENDPOINT, IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
	{ IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS,
	  RC_REQUESTER, IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER },
	{ IB_QPT_RC, IB_QPS_RTS, IB_QPS_RTS,
	  0, IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER },

	{ IB_QPT_UD, IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, 0 },
	{ IB_QPT_UD, IB_QPS_INIT, IB_QPS_INIT, 0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY },
	{ IB_QPT_UD, IB_QPS_INIT, IB_QPS_RTR, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPT_UD, IB_QPS_RTR, IB_QPS_RTS, IB_QP_SQ_PSN, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ IB_QPT_UD, IB_QPS_RTS, IB_QPS_RTS, 0, IB_QP_CUR_STATE | IB_QP_QKEY },

	{ IB_QPT_GSI, IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_QKEY, 0 },
	{ IB_QPT_GSI, IB_QPS_INIT, IB_QPS_INIT, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPT_GSI, IB_QPS_INIT, IB_QPS_RTR, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPT_GSI, IB_QPS_RTR, IB_QPS_RTS, IB_QP_SQ_PSN, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ IB_QPT_GSI, IB_QPS_RTS, IB_QPS_RTS, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
};

static const struct modify_type {
	const char *name;
	enum ib_qp_type type;
} modify_types[] = {
	{ "RC", IB_QPT_RC },
	{ "UD", IB_QPT_UD },
	{ "GSI", IB_QPT_GSI },
};

KUNIT_ARRAY_PARAM_DESC(modify_type, modify_types, name);

struct modify_env {
	struct mroce_dev *dev;
	struct ib_pd *pd;
	struct mroce_kunit_cq *cq;
};

static int modify_init(struct kunit *test)
{
	struct modify_env *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	e->dev = mroce_kunit_dev(test);
	e->pd = mroce_kunit_pd(test, e->dev, false);
	e->cq = mroce_kunit_cq(test, e->dev, 256);
	test->priv = e;
	return 0;
}

static struct mroce_qp *modify_qp(struct kunit *test, enum ib_qp_type type)
{
	static const struct ib_qp_cap cap = {
		.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1,
	};
	struct modify_env *e = test->priv;

	return mroce_kunit_qp(test, e->pd, e->cq, type, &cap, false);
}

/* Values that are in range, whichever of them is looked at. */
static struct ib_qp_attr modify_good(enum ib_qp_state cur, enum ib_qp_state next)
{
	return (struct ib_qp_attr) {
		.qp_state = next,
		.cur_qp_state = cur,
		.port_num = MROCE_PORT,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = MROCE_MIN_QPN,
		.qp_access_flags = IB_ACCESS_REMOTE_READ,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
	};
}

static int modify_check(struct mroce_qp *qp, enum ib_qp_state cur, enum ib_qp_state next, int mask)
{
	struct ib_qp_attr attr = modify_good(cur, next);

	return mroce_qp_attr_check(qp, &attr, mask, cur, next);
}

/* What the table says. Return: the rule, or NULL where the step doesn't exist. */
static const struct modify_rule *modify_rule(enum ib_qp_type type, enum ib_qp_state from,
					     enum ib_qp_state to)
{
	static const struct modify_rule end;	/* takes no attribute and needs none */
	u32 i;

	if (to == IB_QPS_RESET || (to == IB_QPS_ERR && from != IB_QPS_RESET))
		return &end;
	for (i = 0; i < ARRAY_SIZE(modify_rules); i++)
		if (modify_rules[i].type == type && modify_rules[i].from == from &&
		    modify_rules[i].to == to)
			return &modify_rules[i];
	return NULL;
}

/* Every attribute there is, beside a step's own. */
static void modify_step(struct kunit *test, struct mroce_qp *qp, enum ib_qp_state from,
			enum ib_qp_state to, const struct modify_rule *r)
{
	int full = IB_QP_STATE | r->required, bit, got;
	u32 i;

	KUNIT_EXPECT_EQ_MSG(test, modify_check(qp, from, to, full), 0, "%d -> %d", from, to);
	KUNIT_EXPECT_EQ_MSG(test, modify_check(qp, from, to, full | r->optional), 0,
			    "%d -> %d with all there is", from, to);
	for (i = 0; i < 31; i++) {
		bit = BIT(i);
		got = modify_check(qp, from, to, full ^ bit);
		if (bit == IB_QP_STATE)
			continue;
		if (bit & r->required)
			KUNIT_EXPECT_EQ_MSG(test, got, -EINVAL, "%d -> %d without bit %u", from,
					    to, i);
		else if (bit & r->optional)
			KUNIT_EXPECT_EQ_MSG(test, got, 0, "%d -> %d with bit %u", from, to, i);
		else
			KUNIT_EXPECT_TRUE_MSG(test, got == -EINVAL || got == -EOPNOTSUPP,
					      "%d -> %d with bit %u: %d", from, to, i, got);
	}
}

static void modify_table(struct kunit *test)
{
	const struct modify_type *t = test->param_value;
	struct mroce_qp *qp = modify_qp(test, t->type);
	enum ib_qp_state to;
	u32 i, bit;

	for (i = 0; i < ARRAY_SIZE(modify_states); i++) {
		enum ib_qp_state from = modify_states[i];

		for (to = IB_QPS_RESET; to <= IB_QPS_ERR; to++) {
			const struct modify_rule *r = modify_rule(t->type, from, to);

			if (r) {
				modify_step(test, qp, from, to, r);
				continue;
			}
			/* no such step, whatever comes with it */
			for (bit = 0; bit < 31; bit++)
				KUNIT_EXPECT_LT_MSG(test, modify_check(qp, from, to, IB_QP_STATE |
								       BIT(bit)), 0,
						    "%d -> %d with bit %u", from, to, bit);
			KUNIT_EXPECT_LT_MSG(test, modify_check(qp, from, to, IB_QP_STATE |
							       RC_ENDPOINT), 0,
					    "%d -> %d", from, to);
			KUNIT_EXPECT_LT_MSG(test, modify_check(qp, from, to, IB_QP_STATE |
							       RC_REQUESTER), 0,
					    "%d -> %d", from, to);
		}
	}
	KUNIT_EXPECT_EQ_MSG(test, modify_check(qp, IB_QPS_RTS, IB_QPS_SQD, IB_QP_STATE),
			    -EOPNOTSUPP, "send queue drained: isn't offered");
}

static void modify_cur_state(struct kunit *test)
{
	struct mroce_qp *qp = modify_qp(test, IB_QPT_UD);
	struct ib_qp_attr attr = modify_good(IB_QPS_RTR, IB_QPS_RTS);
	int mask = IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_SQ_PSN;

	KUNIT_EXPECT_EQ(test, mroce_qp_attr_check(qp, &attr, mask, IB_QPS_RTR, IB_QPS_RTS), 0);
	attr.cur_qp_state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, mroce_qp_attr_check(qp, &attr, mask, IB_QPS_RTR, IB_QPS_RTS),
			-EINVAL);
}

/* ---- values ---- */

#define IN_STEP(field, value, result, from, to, mask) { \
	#field " " #value, from, to, mask, { .field = (value) }, \
	offsetof(struct ib_qp_attr, field), sizeof_field(struct ib_qp_attr, field), result \
}

#define IN_RTR(field, value, result) \
	IN_STEP(field, value, result, IB_QPS_INIT, IB_QPS_RTR, \
		RC_ENDPOINT | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX)
#define IN_RTS(field, value, result) \
	IN_STEP(field, value, result, IB_QPS_RTR, IB_QPS_RTS, RC_REQUESTER)

static const struct modify_value {
	const char *name;
	enum ib_qp_state from, to;
	int mask;
	struct ib_qp_attr attr;		/* the field in question */
	size_t at, size;
	int err;
} modify_values[] = {
	IN_RTR(path_mtu, IB_MTU_256, 0),
	IN_RTR(path_mtu, IB_MTU_4096, 0),
	IN_RTR(path_mtu, 0, -EINVAL),
	IN_RTR(path_mtu, IB_MTU_4096 + 1, -EINVAL),
	IN_RTR(dest_qp_num, MROCE_MAX_QPN, 0),
	IN_RTR(dest_qp_num, MROCE_MAX_QPN + 1, -EINVAL),
	IN_RTR(dest_qp_num, U32_MAX, -EINVAL),
	IN_RTR(max_dest_rd_atomic, 0, 0),
	IN_RTR(max_dest_rd_atomic, MROCE_MAX_RD_ATOMIC, 0),
	IN_RTR(max_dest_rd_atomic, MROCE_MAX_RD_ATOMIC + 1, -EINVAL),
	IN_RTR(min_rnr_timer, 31, 0),
	IN_RTR(min_rnr_timer, 32, -EINVAL),
	IN_RTR(pkey_index, 1, -EINVAL),
	IN_RTR(qp_access_flags, IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_RELAXED_ORDERING, 0),
	IN_RTR(qp_access_flags, IB_ACCESS_ON_DEMAND, -EINVAL),
	IN_RTR(qp_access_flags, BIT(30), -EINVAL),
	IN_RTS(timeout, 31, 0),
	IN_RTS(timeout, 32, -EINVAL),
	IN_RTS(retry_cnt, 8, -EINVAL),
	IN_RTS(rnr_retry, 8, -EINVAL),
	IN_RTS(max_rd_atomic, MROCE_MAX_RD_ATOMIC, 0),
	IN_RTS(max_rd_atomic, MROCE_MAX_RD_ATOMIC + 1, -EINVAL),
};

KUNIT_ARRAY_PARAM_DESC(modify_value, modify_values, name);

static void modify_range(struct kunit *test)
{
	const struct modify_value *v = test->param_value;
	struct mroce_qp *qp = modify_qp(test, IB_QPT_RC);
	struct ib_qp_attr attr = modify_good(v->from, v->to);

	memcpy((u8 *)&attr + v->at, (const u8 *)&v->attr + v->at, v->size);
	KUNIT_EXPECT_EQ(test, v->err, mroce_qp_attr_check(qp, &attr, v->mask | IB_QP_STATE, v->from,
							  v->to));
}

static void modify_port(struct kunit *test)
{
	struct mroce_qp *qp = modify_qp(test, IB_QPT_RC);
	struct ib_qp_attr attr = modify_good(IB_QPS_RESET, IB_QPS_INIT);
	int mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;

	for (attr.port_num = 0; attr.port_num < 4; attr.port_num++)
		KUNIT_EXPECT_EQ(test, mroce_modify_qp(&qp->ibqp, &attr, mask, NULL),
				attr.port_num == MROCE_PORT ? 0 : -EINVAL);
}

/* ---- what a call leaves behind ---- */

static int modify_to(struct mroce_qp *qp, enum ib_qp_state next, int mask)
{
	struct ib_qp_attr attr = modify_good(READ_ONCE(qp->state), next);

	attr.qkey = 0x1234;
	return mroce_modify_qp(&qp->ibqp, &attr, mask | IB_QP_STATE, NULL);
}

static void modify_life(struct kunit *test)
{
	struct mroce_qp *qp = modify_qp(test, IB_QPT_UD);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_EXPECT_EQ(test, modify_to(qp, IB_QPS_INIT,
					IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY), 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_INIT);
	KUNIT_EXPECT_PTR_EQ_MSG(test, mroce_qp_find(qp->dev, qp->ibqp.qp_num), NULL,
				"INIT receives nothing");
	KUNIT_EXPECT_EQ(test, modify_to(qp, IB_QPS_RTR, 0), 0);
	KUNIT_EXPECT_PTR_EQ(test, mroce_qp_find(qp->dev, qp->ibqp.qp_num), qp);
	mroce_qp_put(qp);
	KUNIT_EXPECT_EQ(test, modify_to(qp, IB_QPS_RTS, IB_QP_SQ_PSN), 0);
	KUNIT_EXPECT_EQ(test, mroce_query_qp(&qp->ibqp, &attr, 0, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, attr.qkey, 0x1234);

	/* what is refused changes nothing */
	attr = (struct ib_qp_attr) { .qp_state = IB_QPS_INIT, .qkey = 0x9999 };
	KUNIT_EXPECT_EQ(test, mroce_modify_qp(&qp->ibqp, &attr, IB_QP_STATE | IB_QP_QKEY, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, qp->attr.qkey, 0x1234);

	KUNIT_EXPECT_EQ(test, modify_to(qp, IB_QPS_ERR, 0), 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
	KUNIT_EXPECT_PTR_EQ(test, mroce_qp_find(qp->dev, qp->ibqp.qp_num), NULL);
	KUNIT_EXPECT_EQ(test, modify_to(qp, IB_QPS_RESET, 0), 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ_MSG(test, qp->attr.qkey, 0, "RESET forgets");
	KUNIT_EXPECT_FALSE(test, qp->sq.flush || qp->rq.flush);
}

/* The transport's own way into ERR: where it applies, once, and not after a reset. */
static void modify_fail(struct kunit *test)
{
	struct mroce_qp *qp = modify_qp(test, IB_QPT_UD);

	mroce_qp_fail(qp, -1);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RESET);
	modify_to(qp, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	mroce_qp_fail(qp, -1);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_INIT);
	modify_to(qp, IB_QPS_RTR, 0);
	mroce_qp_fail(qp, -1);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
	flush_work(&qp->error_work);
	KUNIT_EXPECT_TRUE(test, qp->sq.flush && qp->rq.flush);
	KUNIT_EXPECT_EQ(test, refcount_read(&qp->refs), 1);
	KUNIT_EXPECT_EQ(test, modify_to(qp, IB_QPS_RTR, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify_to(qp, IB_QPS_RESET, 0), 0);
	flush_work(&qp->error_work);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RESET);
}

static struct kunit_case modify_cases[] = {
	KUNIT_CASE_PARAM(modify_table, modify_type_gen_params),
	KUNIT_CASE(modify_cur_state),
	KUNIT_CASE_PARAM(modify_range, modify_value_gen_params),
	KUNIT_CASE(modify_port),
	KUNIT_CASE(modify_life),
	KUNIT_CASE(modify_fail),
	{}
};

static struct kunit_suite modify_suite = {
	.name = "metaroce_modify_qp",
	.init = modify_init,
	.test_cases = modify_cases,
};

kunit_test_suite(modify_suite);
