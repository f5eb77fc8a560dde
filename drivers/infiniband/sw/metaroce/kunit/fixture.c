// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Verbs objects for the suites; see kunit.h. */
#include <linux/vmalloc.h>

#include "../engine/engine.h"
#include "kunit.h"

void mroce_kunit_defer(struct kunit *test, void (*action)(void *ctx), void *ctx)
{
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, action, ctx));
}

KUNIT_DEFINE_ACTION_WRAPPER(memory_exit, vfree, const void *);

void *mroce_kunit_vmalloc(struct kunit *test, size_t size)
{
	void *mem = vzalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	mroce_kunit_defer(test, memory_exit, mem);
	return mem;
}

static void dev_exit(void *ctx)
{
	struct mroce_dev *dev = ctx;

	kfree(dev->local_dma);
	xa_destroy(&dev->ahs);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->qps);
}

struct mroce_dev *mroce_kunit_dev(struct kunit *test)
{
	struct mroce_dev *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1);
	dev->local_dma = mroce_mr_alloc_local_dma(dev);
	KUNIT_ASSERT_NOT_NULL(test, dev->local_dma);
	mroce_kunit_defer(test, dev_exit, dev);
	return dev;
}

struct ib_pd *mroce_kunit_pd(struct kunit *test, struct mroce_dev *dev, bool user)
{
	struct mroce_pd *pd = kunit_kzalloc(test, sizeof(*pd), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pd);
	pd->ibpd.device = &dev->ibdev;
	if (user) {
		pd->ibpd.uobject = kunit_kzalloc(test, sizeof(*pd->ibpd.uobject), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, pd->ibpd.uobject);
	}
	return &pd->ibpd;
}

static void cq_completion(struct ib_cq *ibcq, void *context)
{
	struct mroce_kunit_cq *cq = context;

	cq->completions++;
}

static void cq_event(struct ib_event *event, void *context)
{
	struct mroce_kunit_cq *cq = context;

	cq->errors += event->event == IB_EVENT_CQ_ERR;
}

static void cq_exit(void *ctx)
{
	mroce_destroy_cq(ctx, NULL);
}

struct mroce_kunit_cq *mroce_kunit_cq(struct kunit *test, struct mroce_dev *dev, u32 cqe)
{
	struct mroce_kunit_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	struct ib_cq_init_attr attr = { .cqe = cqe };

	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->cq.ibcq.device = &dev->ibdev;
	cq->cq.ibcq.comp_handler = cq_completion;
	cq->cq.ibcq.event_handler = cq_event;
	cq->cq.ibcq.cq_context = cq;
	KUNIT_ASSERT_EQ(test, 0, mroce_create_cq(&cq->cq.ibcq, &attr, NULL));
	mroce_kunit_defer(test, cq_exit, &cq->cq.ibcq);
	return cq;
}

void mroce_kunit_ring(struct kunit *test, struct mroce_ring *ring, u32 entries, u32 entry_size)
{
	void *mem = mroce_kunit_vmalloc(test, MROCE_RING_HEADER_SIZE +
					(size_t)entries * entry_size);

	ring->hdr = mem;
	ring->slots = mem + MROCE_RING_HEADER_SIZE;
	ring->entries = entries;
	ring->entry_size = entry_size;
}

static void qp_exit(void *ctx)
{
	mroce_destroy_qp(ctx, NULL);
}

struct mroce_qp *mroce_kunit_qp(struct kunit *test, struct ib_pd *pd, struct mroce_kunit_cq *cq,
				enum ib_qp_type type, const struct ib_qp_cap *cap, bool user)
{
	struct mroce_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct ib_qp_init_attr init = {
		.send_cq = &cq->cq.ibcq,
		.recv_cq = &cq->cq.ibcq,
		.cap = *cap,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
		.port_num = MROCE_PORT,
	};

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ibqp.device = pd->device;
	qp->ibqp.pd = pd;
	qp->ibqp.qp_type = type;
	KUNIT_ASSERT_EQ(test, 0, mroce_create_qp(&qp->ibqp, &init, NULL));
	if (user) {
		mroce_kunit_ring(test, &qp->sq.ring, qp->sq.entries,
				 sizeof(struct mroce_send_wqe) + qp->sq.max_inline);
		mroce_kunit_ring(test, &qp->rq.ring, qp->rq.entries,
				 sizeof(struct mroce_recv_wqe) +
				 qp->rq.max_sge * sizeof(struct mroce_sge));
		qp->is_user = true;
	}
	/* last in, first out: before its rings go */
	mroce_kunit_defer(test, qp_exit, &qp->ibqp);
	return qp;
}
