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

/* params.c, conn.c, dump.c: for netlink -------------------------------------- */

/**
 * mroce_engine_set_params - set a device's parameters
 * @p: in their ranges; copied
 *
 * Process context; one caller at a time per device. Its connections follow at once, but for the
 * number of paths that they began with.
 */
void mroce_engine_set_params(struct mroce_dev *dev, const struct mroce_params *p);

struct mroce_econn *mroce_engine_conn_next(u32 cid);
/* The listed connection with this id, likewise; or NULL. */
struct mroce_econn *mroce_engine_conn_get(u32 cid);
void mroce_engine_conn_put(struct mroce_econn *econn);

#define MROCE_MAX_ALSO		8	/* address pairs of a connection beside its own */

/* By which two devices meet. */
struct mroce_addr_pair {
	struct mroce_addr src, dst;
	u32 peer_cid;			/* of the peer's attempt that joined by it; 0: ours */
};

/* Which connection it is, and how it is. */
struct mroce_conn_id {
	u32 cid, peer_cid;		/* @peer_cid: 0: not known yet */
	u8 state;			/* enum mroce_conn_state */
	u8 tclass;
	bool is_self;
	struct mroce_addr src, dst;
};

/* A connection as it was at one moment. Times in us, windows in packets. */
struct mroce_conn_info {
	struct mroce_conn_id id;
	struct mroce_addr_pair also[MROCE_MAX_ALSO];
	u32 nalso;
	u64 peer_device_id;		/* 0: not known yet */
	u32 peer_epoch;
	u32 payload;			/* bytes */
	u32 streams;
	u32 paths, active_paths;
	u32 window, in_flight, resend;
	u32 base_us;			/* 0: unknown */
	u64 rate;			/* bytes/s; 0: unknown */
	u64 memory;			/* bytes */
	const char *sched, *cc;
	u64 counters[MROCE_CNT_MAX];
};

/* Likewise a path. */
struct mroce_path_info {
	u32 id;
	u16 sport;
	u8 way;				/* our plane by which it leaves */
	u8 state, old_state;		/* enum mroce_path_state; @old_state: in events */
	u8 probes;
	u8 reo_steps;			/* quarters of @srtt_us */
	u32 srtt_us, rttvar_us;
	u32 base_us;			/* 0: unknown */
	u32 cwnd, in_flight;
	u32 ce_alpha;			/* 1/1024 */
	u64 tx_pkts, retx_pkts, marks;
};

/* Of a connection that is referenced. Alive, but it may be ending: ib_device_try_get(). */
struct mroce_dev *mroce_engine_conn_dev(const struct mroce_econn *econn);
u32 mroce_engine_conn_cid(const struct mroce_econn *econn);

/* A snapshot under its locks. Process context, no lock held. */
void mroce_engine_conn_info(struct mroce_econn *econn, struct mroce_conn_info *info);
/* Same. Return: false if it has no path @id. */
bool mroce_engine_path_info(struct mroce_econn *econn, u32 id, struct mroce_path_info *info);

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
