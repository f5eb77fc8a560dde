/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The driver's objects. verbs/ creates and destroys them, engine/ drives the
 * transport core with them, net/ carries their packets. Which lock protects
 * what is written in engine/locking.h.
 */
#ifndef _METAROCE_H
#define _METAROCE_H

#include <linux/completion.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/metaroce-abi.h>

#include <metaroce/core.h>

#define MROCE_NAME		"metaroce"
#define MROCE_MIN_QPN		16	/* below are QP0, QP1 and IBTA's reserved ones */
#define MROCE_MAX_QPN		0xfffffe
#define MROCE_MAX_QP_WR		16384
#define MROCE_MIN_CQE		64
#define MROCE_MAX_CQE		0x100000
#define MROCE_MAX_RD_ATOMIC	64
#define MROCE_PORT		1
#define MROCE_MAX_MSG_SIZE	0x80000000U

/*
 * The key that every kernel PD may use for any kernel address. Its index, 0, is
 * never given to a region; user PDs can't use it.
 */
#define MROCE_LOCAL_DMA_LKEY	1

struct mroce_net_port;
struct mroce_econn;
struct mroce_ud;

/*
 * What an operator can set of a device: netlink's dev-set. Read by READ_ONCE(); written under
 * conns_lock by one who sets at a time.
 */
struct mroce_params {
	u32 max_burst;			/* packets */
	u32 probe_floor_us;
	u32 delay_target_us;
	u32 init_paths;
	u32 max_paths;
};

/* A device: one ib_device with one port over one netdev. */
struct mroce_dev {
	struct ib_device ibdev;		/* first: ib_alloc_device() */
	struct mroce_net_port *np;	/* the netns' sockets: net/net.h */
	struct net_device __rcu *netdev;	/* NULL once it is going: mroce_netdev_get() */
	struct net_device __rcu *planes[MROCE_MAX_PLANES];	/* more of them; [0] unused */
	bool has_planes;		/* ever had more than one */
	struct net *net;		/* of netdev; only compared */
	struct list_head link;		/* in verbs/link.c's list */
	int index;			/* small, unique among living devices */
	bool port_active;		/* as last reported; under RTNL */

	u64 device_id;			/* random; names the device to its peers */
	u32 epoch;			/* random; a reborn device has another one */

	struct xarray qps;		/* QPN -> mroce_qp, QP1 included; readers under its lock */
	struct xarray mrs;		/* key >> 8 -> mroce_mr; readers under RCU */
	struct xarray ahs;		/* ah_num -> mroce_ah of user space; under its lock */
	struct mroce_mr *local_dma;	/* MROCE_LOCAL_DMA_LKEY */
	u32 next_mr_key;
	u32 next_qpn;
	u32 next_ah;

	/* engine */
	spinlock_t conns_lock;
	struct list_head conns;		/* every mroce_econn of this device */
	atomic64_t counters[MROCE_CNT_MAX];	/* of no connection, and of ended ones */
	bool closing;			/* its GSI QP is gone: packets find it no more */
	bool dying;			/* under conns_lock: no new connection */
	u32 nconns;			/* that exist, listed or not; under conns_lock */
	wait_queue_head_t conns_wq;	/* for nconns to become 0 */
	struct mroce_params params;

	atomic64_t events_dropped;	/* netlink's */
};

static inline struct mroce_dev *to_mdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct mroce_dev, ibdev);
}

static inline void mroce_count(struct mroce_dev *dev, enum mroce_counter id)
{
	atomic64_inc(&dev->counters[id]);
}

static inline void mroce_count_n(struct mroce_dev *dev, enum mroce_counter id, u64 n)
{
	atomic64_add(n, &dev->counters[id]);
}

/* Work that must not wait for memory: flushing, sending, ends of connections. */
extern struct workqueue_struct *mroce_wq;

struct mroce_ucontext {
	struct ib_ucontext ibuc;
};

struct mroce_pd {
	struct ib_pd ibpd;
};

/**
 * struct mroce_ah - an address handle, used by UD sends only
 * @dst: destination, resolved when the handle is made
 */
struct mroce_ah {
	struct ib_ah ibah;
	struct rdma_ah_attr attr;
	struct mroce_addr src;		/* of the SGID */
	struct mroce_addr dst;		/* of the DGID; scope_id set for link-local */
	u32 num;
};

/*
 * A memory region as one flat array of pages. @refs is held by whoever reads or
 * writes the memory at this moment; deregistration kills the key and then waits
 * for @refs to drain, so no copy touches memory that was given back.
 */
struct mroce_mr {
	union {
		struct ib_mr ibmr;
		struct ib_mw ibmw;
	};
	struct mroce_dev *dev;
	struct ib_pd *pd;
	refcount_t refs;
	struct completion idle;
	struct rcu_head rcu;
	u32 key;			/* lkey == rkey; never 0; low 8 bits are the consumer's */
	bool valid;			/* the key may be used (FRMR: registered) */
	bool dma;			/* addresses are kernel virtual, no @pages */
	int access;
	u64 iova;
	u64 length;
	unsigned int first_off;		/* of @iova in pages[0] */
	struct page **pages;		/* npages entries of PAGE_SIZE */
	u32 npages;
	u32 max_pages;			/* FRMR: room in @pages */
	struct ib_umem *umem;
};

/* A ring shared with user space; of a kernel CQ, entries of struct ib_wc and no header. */
struct mroce_ring {
	struct mroce_ring_header *hdr;	/* vmalloc_user(), NULL in kernel objects */
	void *slots;
	u32 entries;			/* a power of two */
	u32 entry_size;
	struct rdma_user_mmap_entry *mmap;
};

struct mroce_cq {
	struct ib_cq ibcq;
	struct mroce_ring ring;		/* of struct mroce_cqe; kernel CQs: struct ib_wc */
	spinlock_t lock;		/* protects all below; innermost */
	u32 producer;			/* the kernel's own copy */
	u32 consumer;			/* kernel CQs */
	u8 armed;			/* 0, IB_CQ_SOLICITED or IB_CQ_NEXT_COMP */
	bool dead;			/* overflowed */
	refcount_t refs;
	struct completion idle;
	struct list_head notify;	/* in a struct mroce_notify list while @queued */
	bool queued;
	bool overflow;			/* IB_EVENT_CQ_ERR is due */
	u32 events;			/* completion events that are due */
	bool is_user;
	bool timestamps;		/* whoever made it wants them */
};

/*
 * A send work request as the kernel copied and checked it. It stays until its
 * completion, so the transport can send it again. @msg is the core's part.
 */
struct mroce_swqe {
	struct mroce_txmsg msg;		/* first: the core hands it back */
	u64 wr_id;
	u32 opcode;			/* enum ib_wr_opcode */
	u32 flags;			/* enum mroce_wqe_flags */
	enum ib_wc_status status;	/* found wrong when it was posted */
	u32 num_sge;
	u32 inline_len;
	union {
		struct {
			u32 ah_num;
			struct mroce_addr src, dst;	/* copied out of the AH */
			u8 tclass, hop_limit;
			u32 qpn, qkey;
		} ud;
		struct {
			struct mroce_mr *mr;
			u32 key;
			int access;
		} reg;
	};
	union {
		DECLARE_FLEX_ARRAY(struct mroce_sge, sge);
		DECLARE_FLEX_ARRAY(u8, data);	/* MROCE_WQE_INLINE */
	};
};

/* A receive work request likewise. */
struct mroce_rwqe {
	u64 wr_id;
	u32 num_sge;
	u32 length;			/* sum over sge[] */
	enum ib_wc_status status;
	struct mroce_sge sge[];
};

/*
 * Work queues. Indices run freely; entry of index i is at i & (entries - 1).
 *   SQ: tail (completed) <= head (posted and checked)
 *   RQ: tail (completed) <= fetched (copied and checked) <= head (posted)
 */
struct mroce_wq {
	struct mroce_ring ring;		/* user QPs: where user space posts */
	spinlock_t lock;		/* protects all below but an SQ's @tail */
	void *wqes;			/* the kernel's copies */
	u32 stride;
	u32 entries;			/* a power of two */
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
	u32 head;
	u32 fetched;
	u32 tail;			/* SQ: written by who completes, in order */
	bool flush;			/* the QP is in ERR and at rest: flush at once */
	enum ib_wc_status oldest;	/* SQ: how flushing completes the oldest; 0: flushed */
	u32 oldest_err;			/* vendor_err of that; both before @flush is set */
};

struct mroce_srq {
	struct ib_srq ibsrq;
	struct mroce_wq rq;
	u32 limit;
	u32 srqn;
	bool is_user;
};

struct mroce_qp {
	struct ib_qp ibqp;
	struct mroce_dev *dev;
	bool is_user;
	bool sq_sig_all;
	struct mroce_cq *scq, *rcq;
	struct mroce_srq *srq;

	struct mutex modify_lock;	/* one state change at a time; outermost */
	spinlock_t state_lock;		/* protects writing @state, and @error_event; a leaf */
	enum ib_qp_state state;		/* read by READ_ONCE() */
	struct ib_qp_attr attr;		/* what query_qp answers */
	struct ib_qp_cap cap;
	struct mroce_addr src, dst;	/* of attr.ah_attr, from RTR on */

	struct mroce_wq sq;
	struct mroce_wq rq;

	refcount_t refs;		/* receive path, timers, error work */
	struct completion idle;
	struct work_struct error_work;	/* flush, events: needs process context */
	struct mroce_ud *ud;		/* UD, GSI: the engine's */
	spinlock_t ud_rx_lock;		/* UD: one datagram at a time takes a receive */
	struct work_struct send_work;	/* sends what was posted with interrupts off */
	int error_event;		/* enum ib_event_type, -1: none */

	/* engine: the stream of an RC QP; see engine/stream.c */
	struct mroce_econn *econn;
	struct mroce_stream stream;
	struct mroce_stream *self;	/* second half of a QP connected to itself */
};

static inline struct mroce_pd *to_mpd(struct ib_pd *pd)
{
	return container_of(pd, struct mroce_pd, ibpd);
}

static inline struct mroce_qp *to_mqp(struct ib_qp *qp)
{
	return container_of(qp, struct mroce_qp, ibqp);
}

static inline struct mroce_cq *to_mcq(struct ib_cq *cq)
{
	return container_of(cq, struct mroce_cq, ibcq);
}

static inline struct mroce_mr *to_mmr(struct ib_mr *mr)
{
	return container_of(mr, struct mroce_mr, ibmr);
}

static inline struct mroce_srq *to_msrq(struct ib_srq *srq)
{
	return container_of(srq, struct mroce_srq, ibsrq);
}

static inline struct mroce_ah *to_mah(struct ib_ah *ah)
{
	return container_of(ah, struct mroce_ah, ibah);
}

static inline struct mroce_swqe *mroce_sq_wqe(struct mroce_wq *sq, u32 index)
{
	return sq->wqes + (size_t)(index & (sq->entries - 1)) * sq->stride;
}

static inline struct mroce_rwqe *mroce_rq_wqe(struct mroce_wq *rq, u32 index)
{
	return rq->wqes + (size_t)(index & (rq->entries - 1)) * rq->stride;
}

#endif /* _METAROCE_H */
