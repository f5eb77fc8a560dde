/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the KUnit suites share: verbs objects without a netdev, a connection or a process. The
 * device is not registered with the core; nothing that a suite makes outlives its test case.
 * Context of all functions: a test case.
 */
#ifndef _METAROCE_KUNIT_H
#define _METAROCE_KUNIT_H

#include <kunit/test.h>

#include "../verbs/internal.h"

/* Events that a CQ has raised. */
struct mroce_kunit_cq {
	struct mroce_cq cq;
	u32 completions;	/* calls of its completion handler */
	u32 errors;		/* IB_EVENT_CQ_ERR */
};

/* Runs @action with @ctx when the test case ends, the last one first. */
void mroce_kunit_defer(struct kunit *test, void (*action)(void *ctx), void *ctx);

/* Zeroed memory; what lies behind its last page faults. */
void *mroce_kunit_vmalloc(struct kunit *test, size_t size);

struct mroce_dev *mroce_kunit_dev(struct kunit *test);

/* @user: as if a process had it */
struct ib_pd *mroce_kunit_pd(struct kunit *test, struct mroce_dev *dev, bool user);

/* A kernel CQ of mroce_create_cq(), @cqe entries. */
struct mroce_kunit_cq *mroce_kunit_cq(struct kunit *test, struct mroce_dev *dev, u32 cqe);

/* The memory of a ring as user space would map it; zeroed. */
void mroce_kunit_ring(struct kunit *test, struct mroce_ring *ring, u32 entries, u32 entry_size);

/**
 * mroce_kunit_qp - a queue pair of mroce_create_qp(), in RESET
 * @cq: of both queues
 * @cap: as for ib_create_qp()
 * @user: with rings, as a process has them; @test plays that process
 */
struct mroce_qp *mroce_kunit_qp(struct kunit *test, struct ib_pd *pd, struct mroce_kunit_cq *cq,
				enum ib_qp_type type, const struct ib_qp_cap *cap, bool user);

#endif /* _METAROCE_KUNIT_H */
