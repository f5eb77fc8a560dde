/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the engine offers to verbs/ and net/. The lock chapter is locking.h. */
#ifndef _METAROCE_ENGINE_H
#define _METAROCE_ENGINE_H

#include "../metaroce.h"
#include "../verbs/verbs.h"

struct mroce_rx_batch;

/* Module init and exit. */
int mroce_engine_init(void);
void mroce_engine_exit(void);

/* device.c -------------------------------------------------------------- */

/* Process context. Before ib_register_device(). Return: 0 or -errno. */
int mroce_engine_dev_init(struct mroce_dev *dev);

/* Process context; every QP is gone. Ends all connections, waits for them. */
void mroce_engine_dev_exit(struct mroce_dev *dev);

/* The sum of a counter over the device and its connections. Any context. */
u64 mroce_engine_counter(struct mroce_dev *dev, enum mroce_counter id);

/* The netdev's MTU, address or carrier changed. Process context (RTNL may be held). */
void mroce_engine_netdev_changed(struct mroce_dev *dev);

/* stream.c: RC QPs -------------------------------------------------------- */

/**
 * mroce_engine_qp_connect - INIT -> RTR: bind the QP to its stream
 * @qp: qp->attr holds ah_attr (SGID resolved), dest_qp_num, rnr timer, rd_atomic
 *
 * Process context. Finds or makes the connection; never waits for the network.
 * Return: 0 or -errno.
 */
int mroce_engine_qp_connect(struct mroce_qp *qp);

/* RTR -> RTS and attribute changes in RTS: timeout, retry_cnt, rnr_retry, max_rd_atomic. */
void mroce_engine_qp_update(struct mroce_qp *qp);

/**
 * mroce_engine_qp_stop - the QP is in ERR: nothing of it is sent or placed any more
 *
 * Process context, may sleep until bursts and copies in flight are done. Afterwards the
 * caller may flush the queues. The stream keeps answering the peer with its error.
 */
void mroce_engine_qp_stop(struct mroce_qp *qp);

/* Unbind from the connection (RESET, destroy). Process context, sleeps like _stop. */
void mroce_engine_qp_disconnect(struct mroce_qp *qp);

/**
 * mroce_engine_qp_kick - new requests [stream.sq_seen, sq.head) are in the send queue
 *
 * Little is sent in this context as far as the windows allow; much, and the rest, follows from a
 * worker and from softirq. Any context in which BH may be disabled; no lock held.
 */
void mroce_engine_qp_kick(struct mroce_qp *qp);

/* What rdma -d -d resource show tells of an RC QP. */
struct mroce_stream_info {
	u32 cid;		/* of the connection */
	u8 conn_state;		/* enum mroce_conn_state */
	u8 state;		/* enum mroce_stream_state */
	u32 unacked_msgs;	/* requests whose message the peer has not executed yet */
	u32 inflight_pkts;	/* packets sent and not acknowledged */
	u32 rx_msn;		/* the peer's next message to execute */
};

/* A snapshot. Process context, no lock held. Return: false if the QP is not connected. */
bool mroce_engine_qp_info(struct mroce_qp *qp, struct mroce_stream_info *info);

/* datagram.c: UD and GSI QPs ----------------------------------------------- */

/* What sending from a UD or GSI QP needs. Process context. Return: 0 or -ENOMEM. */
int mroce_engine_ud_init(struct mroce_qp *qp);
/* Undoes it, if it was done; nobody sends any more. */
void mroce_engine_ud_exit(struct mroce_qp *qp);

/**
 * mroce_engine_ud_send - send one datagram
 * @wqe: request; payload is gathered here
 *
 * Return: status for its completion. BH disabled, sq.lock held.
 */
enum ib_wc_status mroce_engine_ud_send(struct mroce_qp *qp, struct mroce_swqe *wqe);

/* rx.c: from net/ ------------------------------------------------------------ */

/**
 * mroce_engine_rx - a datagram, or a merged batch of them, has arrived
 * @np: the port (netns and address family) that received it
 * @skb: consumed; data points behind the UDP header, checksum verified. Segments are
 *       skb_shinfo(skb)->gso_size bytes each when that is non-zero, else one datagram.
 * @src: peer's address and UDP port
 * @dst: own address
 * @ifindex: netdev it came in by
 * @ecn: the two ECN bits of the IP header
 * @tclass: TOS / traffic class
 * @ttl: TTL / hop limit
 *
 * Softirq.
 */
void mroce_engine_rx(struct mroce_net_port *np, struct sk_buff *skb,
		     const struct mroce_addr *src, const struct mroce_addr *dst, int ifindex,
		     u8 tclass, u8 ttl);

#endif /* _METAROCE_ENGINE_H */
