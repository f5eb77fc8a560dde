/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of verbs/ share among themselves. */
#ifndef _METAROCE_VERBS_INTERNAL_H
#define _METAROCE_VERBS_INTERNAL_H

#include <rdma/uverbs_ioctl.h>

#include "../compat/rdma.h"
#include "../kunit/visible.h"
#include "verbs.h"

#undef pr_fmt
#define pr_fmt(fmt) MROCE_NAME ": " fmt

/* link.c */
int mroce_link_init(void);
void mroce_link_exit(void);
void mroce_dealloc_driver(struct ib_device *ibdev);
const char *mroce_netdev_refusal(const struct net_device *ndev);
/* RTNL held. Is it the netdev of some link, or a plane? */
bool mroce_link_uses(const struct net_device *ndev);
/* RTNL held. A netdev of the device came, went, or changed. */
void mroce_port_changed(struct mroce_dev *dev);

/* plane.c */
bool mroce_planes_up(struct mroce_dev *dev);

/* device.c */
extern const struct ib_device_ops mroce_dev_ops;
void mroce_dev_init_attrs(struct mroce_dev *dev, const struct net_device *ndev);

/* port.c */
bool mroce_port_is_up(const struct net_device *ndev);
int mroce_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int mroce_get_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *imm);
enum rdma_link_layer mroce_get_link_layer(struct ib_device *ibdev, u32 port);
int mroce_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);

/* counters.c */
struct rdma_hw_stats *mroce_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int mroce_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

/* pma.c */
int mroce_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);

/* pd.c */
int mroce_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void mroce_dealloc_ucontext(struct ib_ucontext *ibuc);
void mroce_disassociate_ucontext(struct ib_ucontext *ibuc);
int mroce_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int mroce_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* ah.c */
int mroce_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int mroce_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int mroce_destroy_ah(struct ib_ah *ibah, u32 flags);
bool mroce_ah_copy(const struct mroce_ah *ah, struct mroce_swqe *wqe);
bool mroce_ah_copy_num(struct mroce_dev *dev, struct ib_pd *pd, u32 num, struct mroce_swqe *wqe);

/* ring.c */
int mroce_ring_create(struct mroce_ring *ring, struct ib_udata *udata, u32 entries, u32 entry_size,
		      struct mroce_ring_info *info);
void mroce_ring_destroy(struct mroce_ring *ring);
int mroce_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void mroce_mmap_free(struct rdma_user_mmap_entry *entry);

/* mr.c */
struct mroce_mr *mroce_mr_alloc_local_dma(struct mroce_dev *dev);
struct ib_mr *mroce_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *mroce_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
				struct ib_udata *udata);
struct ib_mr *mroce_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start, u64 length, u64 iova,
				  int access, struct ib_pd *pd, struct ib_udata *udata);
int mroce_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* cq.c */
int mroce_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct mroce_create_cq_arg *arg);
int mroce_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int mroce_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int mroce_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int mroce_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
u32 mroce_cq_consumer(const struct mroce_cq *cq);
void mroce_cq_forget(struct mroce_cq *cq, const struct ib_qp *ibqp);

/* qp.c */
int mroce_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int mroce_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int mroce_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
void mroce_qp_reset(struct mroce_qp *qp);
void mroce_qp_flush(struct mroce_qp *qp);

/* res.c */
int mroce_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int mroce_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);

/* modify.c */
int mroce_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);

/* sq.c */
int mroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
void mroce_sq_send_work(struct work_struct *work);
void mroce_sq_flush(struct mroce_qp *qp, struct mroce_notify *notify);

/* rq.c */
int mroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);
void mroce_rq_flush(struct mroce_qp *qp, struct mroce_notify *notify);

#endif /* _METAROCE_VERBS_INTERNAL_H */
