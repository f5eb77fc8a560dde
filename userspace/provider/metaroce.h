/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* libmetaroce: the objects of the provider and what its files call in others. */
#ifndef MROCE_PROVIDER_H
#define MROCE_PROVIDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/metaroce-abi.h>

#include "pabi/pabi.h"
#include "ring.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mroce_context {
	struct verbs_context vctx;
	uint32_t max_inline;
	uint32_t max_sge;
};

struct mroce_cq {
	struct verbs_cq vcq;		/* first: pointers are cast */
	pthread_spinlock_t lock;	/* Protects ring and cqe. */
	struct mroce_ring ring;
	struct mroce_cqe cqe;		/* the entry that cq_ex readers look at */
};

struct mroce_srq {
	struct ibv_srq ibsrq;		/* first */
	pthread_spinlock_t lock;	/* Protects ring. */
	struct mroce_ring ring;
	uint32_t max_sge;
};

struct mroce_qp {
	struct verbs_qp vqp;		/* first */
	/*
	 * The library's struct ibv_qp_ex grows within one private ABI, and the
	 * installed library may be newer than the headers we were built with.
	 */
	uint64_t grow[16];

	pthread_spinlock_t sq_lock;	/* Protects sq, wr. */
	struct mroce_ring sq;
	uint32_t max_send_sge;
	uint32_t max_inline;
	bool sq_sig_all;

	/* The batch between ibv_wr_start() and ibv_wr_complete(). */
	struct {
		struct mroce_send_wqe *wqe;	/* NULL: nothing to set */
		uint32_t idx;			/* next free index */
		int err;			/* the first error */
	} wr;

	pthread_spinlock_t rq_lock;	/* Protects rq. */
	struct mroce_ring rq;
	uint32_t max_recv_sge;
};

struct mroce_ah {
	struct ibv_ah ibah;		/* first */
	uint32_t ah_num;
};

static inline struct mroce_context *to_mctx(struct ibv_context *context)
{
	return (struct mroce_context *)((char *)context -
		offsetof(struct mroce_context, vctx.context));
}

static inline struct mroce_cq *to_mcq(struct ibv_cq *cq)
{
	return (struct mroce_cq *)cq;
}

static inline struct mroce_cq *to_mcq_ex(struct ibv_cq_ex *cq)
{
	return (struct mroce_cq *)cq;
}

static inline struct mroce_srq *to_msrq(struct ibv_srq *srq)
{
	return (struct mroce_srq *)srq;
}

static inline struct mroce_qp *to_mqp(struct ibv_qp *qp)
{
	return (struct mroce_qp *)qp;
}

static inline struct mroce_qp *to_mqp_ex(struct ibv_qp_ex *qp)
{
	return (struct mroce_qp *)qp;
}

/* Before RTS a send is an immediate error; in ERR it is taken and flushed. */
static inline bool mroce_qp_can_send(const struct ibv_qp *qp)
{
	return qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT &&
	       qp->state != IBV_QPS_RTR;
}

static inline struct mroce_ah *to_mah(struct ibv_ah *ah)
{
	return (struct mroce_ah *)ah;
}

/* ring.c: 0 or an errno value; ring->hdr stays NULL on error. */
int mroce_ring_map(struct mroce_ring *ring, int cmd_fd,
		   const struct mroce_ring_info *info, size_t min_entry);
void mroce_ring_unmap(struct mroce_ring *ring);

/* mr.c */
struct ibv_pd *mroce_alloc_pd(struct ibv_context *context);
int mroce_dealloc_pd(struct ibv_pd *pd);
struct ibv_mr *mroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
int mroce_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
int mroce_dereg_mr(struct verbs_mr *vmr);
struct ibv_mw *mroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int mroce_dealloc_mw(struct ibv_mw *mw);
int mroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);

/* cq.c */
struct ibv_cq *mroce_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector);
struct ibv_cq_ex *mroce_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr);
int mroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int mroce_resize_cq(struct ibv_cq *cq, int cqe);
int mroce_destroy_cq(struct ibv_cq *cq);
void mroce_cq_clean(struct mroce_cq *cq, uint32_t qp_num);

/* cq_ex.c */
#define MROCE_CQ_WC_FLAGS ((uint64_t)IBV_WC_STANDARD_FLAGS | \
			   (uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
void mroce_cq_ex_set_ops(struct mroce_cq *cq, uint64_t wc_flags);

/* srq.c */
struct ibv_srq *mroce_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
int mroce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int mroce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int mroce_destroy_srq(struct ibv_srq *srq);

/* qp.c */
struct ibv_qp *mroce_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *mroce_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr);
int mroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);
int mroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
int mroce_destroy_qp(struct ibv_qp *qp);
int mroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
				 uint32_t flags);

/* post.c */
int mroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int mroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);
int mroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);
int mroce_send_doorbell(struct ibv_qp *qp);

/* wr.c: 0, or EOPNOTSUPP if the QP type has no such operation. */
int mroce_wr_set_ops(struct mroce_qp *qp, uint64_t send_ops_flags);

/* ah.c */
struct ibv_ah *mroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int mroce_destroy_ah(struct ibv_ah *ah);

#ifdef __cplusplus
}
#endif

#endif /* MROCE_PROVIDER_H */
