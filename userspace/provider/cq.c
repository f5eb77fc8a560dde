// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: create, poll, clean, resize, destroy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metaroce.h"

static struct mroce_cq *cq_alloc(void)
{
	struct mroce_cq *cq = calloc(1, sizeof(*cq));

	if (cq)
		pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	return cq;
}

static void cq_free(struct mroce_cq *cq)
{
	mroce_ring_unmap(&cq->ring);
	pthread_spin_destroy(&cq->lock);
	free(cq);
}

/* Maps the ring of a CQ just made, or takes the CQ back and sets errno. */
static int cq_map(struct mroce_cq *cq, struct ibv_context *context,
		  const struct mroce_ring_info *info)
{
	int err = mroce_ring_map(&cq->ring, context->cmd_fd, info,
				 sizeof(struct mroce_cqe));

	if (err) {
		ibv_cmd_destroy_cq(&cq->vcq.cq);
		errno = err;
		return err;
	}
	mroce_ring_reload_consumer(&cq->ring);
	return 0;
}

struct ibv_cq *mroce_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct {
		struct ib_uverbs_create_cq_resp ib;
		struct mroce_create_cq_resp drv;
	} resp = {};
	struct ibv_create_cq cmd;
	struct mroce_cq *cq;

	cq = cq_alloc();
	if (!cq)
		return NULL;
	if (ibv_cmd_create_cq(context, cqe, channel, comp_vector, &cq->vcq.cq,
			      &cmd, sizeof(cmd), &resp.ib, sizeof(resp)))
		goto err_free;
	if (cq_map(cq, context, &resp.drv.cq))
		goto err_free;
	return &cq->vcq.cq;

err_free:
	cq_free(cq);
	return NULL;
}

struct ibv_cq_ex *mroce_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct {
		struct ib_uverbs_ex_create_cq_resp ib;
		struct mroce_create_cq_resp drv;
	} resp = {};
	struct ibv_create_cq_ex cmd;
	struct mroce_cq *cq;

	if ((attr->wc_flags & ~MROCE_CQ_WC_FLAGS) ||
	    (attr->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	     (attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED))) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	cq = cq_alloc();
	if (!cq)
		return NULL;
	if (ibv_cmd_create_cq_ex(context, attr, &cq->vcq, &cmd, sizeof(cmd),
				 &resp.ib, sizeof(resp), 0))
		goto err_free;
	if (cq_map(cq, context, &resp.drv.cq))
		goto err_free;
	mroce_cq_ex_set_ops(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_free:
	cq_free(cq);
	return NULL;
}

static void cqe_to_wc(const struct mroce_cqe *cqe, struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->ex.imm_data;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

int mroce_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct mroce_cq *cq = to_mcq(ibcq);
	const struct mroce_cqe *cqe;
	int n;

	pthread_spin_lock(&cq->lock);
	for (n = 0; n < num_entries; n++) {
		cqe = mroce_ring_peek(&cq->ring);
		if (!cqe)
			break;
		cqe_to_wc(cqe, &wc[n]);
		cq->ring.pos++;
	}
	if (n > 0)
		mroce_ring_release(&cq->ring);
	pthread_spin_unlock(&cq->lock);
	return n;
}

/**
 * mroce_cq_clean - drop what a QP left in a CQ
 * @cq: the CQ
 * @qp_num: a QP that was reset or destroyed; the kernel adds no more for it
 *
 * The entries between the two indices are ours alone, so those to keep are
 * moved up over those to drop, newest first.
 */
void mroce_cq_clean(struct mroce_cq *cq, uint32_t qp_num)
{
	struct mroce_ring *ring = &cq->ring;
	struct mroce_cqe *cqe;
	uint32_t src, dst;

	pthread_spin_lock(&cq->lock);
	ring->peer = __atomic_load_n(&ring->hdr->producer, __ATOMIC_ACQUIRE);
	dst = ring->peer;
	for (src = ring->peer; src != ring->pos;) {
		cqe = mroce_ring_slot(ring, --src);
		if (cqe->qp_num == qp_num)
			continue;
		if (--dst != src)
			*(struct mroce_cqe *)mroce_ring_slot(ring, dst) = *cqe;
	}
	if (dst != ring->pos) {
		ring->pos = dst;
		mroce_ring_release(ring);
	}
	pthread_spin_unlock(&cq->lock);
}

/*
 * The kernel moves what is not polled yet to the new ring, at the consumer
 * index that it finds in the old one: so nobody may poll meanwhile.
 */
int mroce_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct mroce_cq *cq = to_mcq(ibcq);
	struct mroce_ring ring = {};
	struct {
		struct ib_uverbs_resize_cq_resp ib;
		struct mroce_resize_cq_resp drv;
	} resp = {};
	struct ibv_resize_cq cmd;
	int err;

	pthread_spin_lock(&cq->lock);
	err = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ib,
				sizeof(resp));
	if (err)
		goto out_unlock;
	err = mroce_ring_map(&ring, ibcq->context->cmd_fd, &resp.drv.cq,
			     sizeof(struct mroce_cqe));
	if (err)
		goto out_unlock;

	mroce_ring_unmap(&cq->ring);
	cq->ring = ring;
	mroce_ring_reload_consumer(&cq->ring);

out_unlock:
	pthread_spin_unlock(&cq->lock);
	return err;
}

int mroce_destroy_cq(struct ibv_cq *ibcq)
{
	int err = ibv_cmd_destroy_cq(ibcq);

	if (!err)
		cq_free(to_mcq(ibcq));
	return err;
}
