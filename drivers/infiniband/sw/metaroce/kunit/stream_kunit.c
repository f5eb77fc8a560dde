// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What a queue pair's attributes mean to its stream: the two timer fields of the IBTA. */
#include "../engine/internal.h"
#include "kunit.h"

static struct mroce_qp *stream_qp(struct kunit *test)
{
	struct mroce_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	return qp;
}

/*
 * IBTA table 45 has a rule: from 1 on, 10 us times 1, 2, 3, 4, 6, 8, 12, ..., that is 2^k and
 * 3 * 2^(k-1) in turn; 0 is what would come after 31.
 */
static u32 rnr_rule_us(u32 code)
{
	u32 k = code / 2;

	if (!code)
		return 655360;
	if (code == 1)
		return 10;
	return 10 * (code % 2 ? 3U << (k - 1) : 1U << k);
}

static void rnr_timer(struct kunit *test)
{
	struct mroce_qp *qp = stream_qp(test);
	struct mroce_stream s = {};
	u32 code;

	for (code = 0; code < 32; code++) {
		qp->attr.min_rnr_timer = code;
		mroce_stream_set_attr(qp, &s);
		KUNIT_EXPECT_EQ_MSG(test, s.attr.rnr_delay_us, rnr_rule_us(code), "code %u", code);
	}
	/* the ends, as printed there: 491.52 ms and 655.36 ms */
	KUNIT_EXPECT_EQ(test, s.attr.rnr_delay_us, 491520);
	/* what an acknowledgment's 24 bits of delay can say */
	KUNIT_EXPECT_LT(test, rnr_rule_us(0), 1U << 24);
}

static void ack_timeout(struct kunit *test)
{
	struct mroce_qp *qp = stream_qp(test);
	struct mroce_stream s = {};
	u64 last = 0;
	u32 code;

	mroce_stream_set_attr(qp, &s);
	KUNIT_EXPECT_EQ_MSG(test, s.attr.timeout_ns, 0ULL, "0 means for ever");
	for (code = 1; code < 32; code++) {
		u64 least = 4096ULL << code;

		qp->attr.timeout = code;
		mroce_stream_set_attr(qp, &s);
		/* IBTA 9.7.6.1.3: not before it, and not after four times it */
		KUNIT_EXPECT_GE_MSG(test, s.attr.timeout_ns, least, "code %u", code);
		KUNIT_EXPECT_LE_MSG(test, s.attr.timeout_ns,
				    max_t(u64, 4 * least, 64 * NSEC_PER_MSEC), "code %u", code);
		KUNIT_EXPECT_GE_MSG(test, s.attr.timeout_ns, last, "code %u", code);
		last = s.attr.timeout_ns;
	}
}

static void limits(struct kunit *test)
{
	struct mroce_qp *qp = stream_qp(test);
	struct mroce_stream s = {};

	qp->attr.retry_cnt = 6;
	qp->attr.rnr_retry = 7;
	qp->attr.max_rd_atomic = 3;
	qp->attr.max_dest_rd_atomic = 5;
	mroce_stream_set_attr(qp, &s);
	KUNIT_EXPECT_EQ(test, s.attr.retry_cnt, 6);
	KUNIT_EXPECT_EQ(test, s.attr.rnr_retry, 7);
	KUNIT_EXPECT_EQ(test, s.attr.max_rd_atomic, 3);
	KUNIT_EXPECT_EQ(test, s.attr.max_dest_rd_atomic, 5);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(rnr_timer),
	KUNIT_CASE(ack_timeout),
	KUNIT_CASE(limits),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "metaroce_stream",
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);
