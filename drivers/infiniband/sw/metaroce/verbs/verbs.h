/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What verbs/ offers to the engine. */
#ifndef _METAROCE_VERBS_H
#define _METAROCE_VERBS_H

#include "../metaroce.h"

/**
 * struct mroce_notify - CQs whose event is due
 *
 * Completions are added under the connection lock, but a completion handler may
 * post or poll. So events are collected and raised by mroce_notify_flush() when
 * no lock is held any more. Lives on the stack.
 */
struct mroce_notify {
	struct list_head cqs;
};

#define MROCE_NOTIFY(name) struct mroce_notify name = { LIST_HEAD_INIT((name).cqs) }

/* link.c ---------------------------------------------------------------- */

/**
 * mroce_netdev_get - the device's netdev
 * @dev: device
 *
 * Any context. Return: netdev with a reference (dev_put()), NULL once it is being unregistered.
 */
struct net_device *mroce_netdev_get(struct mroce_dev *dev);

/* plane.c: the device's netdevs, 0 to MROCE_MAX_PLANES - 1; 0 is that of its link. */
struct mroce_plane_info {
	struct mroce_addr addr;
	int ifindex;
	bool up;		/* running, with carrier */
};

/**
 * mroce_plane_info - a plane, and its address
 * @dev: device
 * @index: plane
 * @like: the address is to be of this family and scope
 * @info: out
 *
 * Any context. Return: false if there is none, or it has no such address.
 */
bool mroce_plane_info(struct mroce_dev *dev, u32 index, const struct mroce_addr *like,
		      struct mroce_plane_info *info);
/* Return: the netdev of a plane with a reference, dev_put(); or NULL. Any context. */
struct net_device *mroce_plane_get(struct mroce_dev *dev, u32 index);
/* Return: the plane that is this netdev, or -1. Any context. */
int mroce_plane_index(struct mroce_dev *dev, int ifindex);
int mroce_plane_add(struct mroce_dev *dev, struct net_device *ndev,
		    struct netlink_ext_ack *extack);
int mroce_plane_del(struct mroce_dev *dev, u32 index);

/**
 * mroce_dev_next - walk the devices that a network namespace sees, in the order of their indices
 * @net: the namespace
 * @index: the first index to look at
 *
 * Process context. Return: device with a reference that its end waits for, ib_device_put(); NULL
 * if there is none.
 */
struct mroce_dev *mroce_dev_next(const struct net *net, u32 index);

/* Whether @net sees the device: its sockets are there, and the RDMA subsystem shows it there. */
bool mroce_dev_visible(const struct mroce_dev *dev, const struct net *net);

/* counters.c ------------------------------------------------------------- */

/* As in sysfs hw_counters. Any context. */
const char *mroce_counter_name(enum mroce_counter id);

/* ah.c ------------------------------------------------------------------ */

/**
 * mroce_gid_to_addr - the address that a GID names
 * @gid: RoCE v2 GID: IPv6, or an IPv4-mapped one
 * @scope_id: netdev, for link-local
 */
void mroce_gid_to_addr(struct mroce_addr *addr, const union ib_gid *gid, u32 scope_id);

/**
 * mroce_ah_attr_addrs - own and peer's address of an address vector
 * @attr: its SGID is resolved
 *
 * Any context. Return: 0, -EINVAL (no GRH, zero DGID), -EOPNOTSUPP (multicast).
 */
int mroce_ah_attr_addrs(const struct rdma_ah_attr *attr, struct mroce_addr *src,
			struct mroce_addr *dst);

/* cq.c ------------------------------------------------------------------ */

/**
 * mroce_cq_post - add a completion
 * @cq: completion queue
 * @wc: completion; of @wc->qp only qp_num is taken
 * @solicited: it satisfies an IB_CQ_SOLICITED arm (an error always does)
 * @notify: where the CQ goes if its event is due
 *
 * Any context with BH disabled, any lock but the CQ's may be held. A full ring
 * raises IB_EVENT_CQ_ERR once and drops the completion.
 */
void mroce_cq_post(struct mroce_cq *cq, const struct ib_wc *wc, bool solicited,
		   struct mroce_notify *notify);

/* Raises the collected events. No lock held; BH may be disabled. */
void mroce_notify_flush(struct mroce_notify *notify);

/* mr.c ------------------------------------------------------------------ */

/**
 * mroce_mr_get - check a key and take a reference
 * @dev: device
 * @pd: protection domain the user of the key belongs to
 * @key: lkey or rkey; the reserved local_dma_lkey too when @remote is false
 * @va: first byte
 * @len: bytes, may be 0 (then key and range are not checked: returns NULL and *status success)
 * @access: IB_ACCESS_* all of which the region must have
 * @remote: chooses IB_WC_REM_ACCESS_ERR instead of IB_WC_LOC_PROT_ERR
 * @status: set on failure, IB_WC_SUCCESS otherwise
 *
 * Any context. The reference must be short-lived (deregistration waits for it).
 * Return: the region, or NULL.
 */
struct mroce_mr *mroce_mr_get(struct mroce_dev *dev, struct ib_pd *pd, u32 key, u64 va,
			      u64 len, int access, bool remote, enum ib_wc_status *status);
void mroce_mr_put(struct mroce_mr *mr);

/**
 * mroce_mr_page - the page of an address, in O(1)
 * @mr: region, referenced; [@va, @va + @len) was checked by mroce_mr_get()
 * @va: address
 * @len: bytes wanted, > 0
 * @page: its page
 * @off: offset in @page
 *
 * Return: how many of the @len bytes lie physically contiguous from there; may be
 * larger than a page only when the pages are of one folio (so that one reference and one
 * skb fragment serve).
 */
size_t mroce_mr_page(const struct mroce_mr *mr, u64 va, size_t len, struct page **page,
		     size_t *off);

/* rq.c ------------------------------------------------------------------ */

/**
 * mroce_rq_posted - how many receives have ever been posted to a QP
 *
 * Reads the (user's) producer index and refuses nonsense: the result never runs more
 * than the queue's depth ahead of its tail. Any context.
 */
u32 mroce_rq_posted(struct mroce_qp *qp);

/**
 * mroce_rq_get - the kernel's checked copy of receive @rqn
 *
 * Return: NULL if @rqn is not posted or is completed already. Any context with BH
 * disabled.
 */
struct mroce_rwqe *mroce_rq_get(struct mroce_qp *qp, u32 rqn);

/**
 * mroce_rq_complete - complete receive @rqn, which is the oldest
 * @wc: with status, opcode, byte_len, flags, imm; the rest is filled in here
 */
void mroce_rq_complete(struct mroce_qp *qp, u32 rqn, struct ib_wc *wc, bool solicited,
		       struct mroce_notify *notify);

/* sq.c ------------------------------------------------------------------ */

/**
 * mroce_sq_complete - complete the oldest send request
 * @wqe: it
 * @status: IB_WC_SUCCESS unsignalled completes silently
 * @vendor_err: our own detail (enum mroce_nak or enum mroce_fail)
 *
 * Advances sq.tail and the ring's consumer index. Called in order, under the
 * connection lock or, for UD, under sq.lock.
 */
void mroce_sq_complete(struct mroce_qp *qp, struct mroce_swqe *wqe, enum ib_wc_status status,
		       u32 vendor_err, struct mroce_notify *notify);

/**
 * mroce_sq_fail_oldest - how the oldest request failed, whose memory is in use yet
 *
 * Flushing completes it so, once the engine has stopped. Under the connection lock.
 */
void mroce_sq_fail_oldest(struct mroce_qp *qp, enum ib_wc_status status, u32 vendor_err);

/* qp.c ------------------------------------------------------------------ */

/**
 * mroce_qp_find - look a QP up and take a reference (only while it may receive)
 * Any context. Return: NULL if there is none. Put with mroce_qp_put().
 */
struct mroce_qp *mroce_qp_find(struct mroce_dev *dev, u32 qpn);
void mroce_qp_get(struct mroce_qp *qp);
void mroce_qp_put(struct mroce_qp *qp);

/**
 * mroce_qp_fail - the transport found an error: go to ERR
 * @event: IB_EVENT_QP_ACCESS_ERR, IB_EVENT_QP_REQ_ERR or IB_EVENT_QP_FATAL at a responder, or
 *         -1 when only completions tell (requester errors)
 *
 * Any context, the connection lock may be held: sets the state at once and leaves flushing and
 * the event to qp->error_work.
 */
void mroce_qp_fail(struct mroce_qp *qp, int event);

#endif /* _METAROCE_VERBS_H */
