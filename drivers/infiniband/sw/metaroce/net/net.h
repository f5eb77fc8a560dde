/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * UDP, for the engine: sockets per network namespace, one skb per burst out,
 * merged batches in. Knows IP, routes and skbs; knows no connection and no QP.
 */
#ifndef _METAROCE_NET_H
#define _METAROCE_NET_H

#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/net_namespace.h>

#include <metaroce/core.h>

/**
 * struct mroce_net_port - the listening sockets of one netns and UDP port
 *
 * Shared by all devices of the netns; the first link makes it, the last one ends it.
 */
struct mroce_net_port;

/**
 * mroce_net_port_get - find or make the sockets
 * @net: network namespace (no reference is held on it: the sockets are kernel sockets)
 * @port: UDP port, host order
 *
 * Process context. Return: port or ERR_PTR().
 */
struct mroce_net_port *mroce_net_port_get(struct net *net, u16 port);
void mroce_net_port_put(struct mroce_net_port *np);
struct net *mroce_net_port_net(const struct mroce_net_port *np);

/**
 * struct mroce_route - where a path's packets leave, cached
 * @dst: valid route or NULL; checked with dst_check() at use
 * @max_segs: packets that one skb may carry to this device (its gso_max_segs, gso_max_size, 64 KiB
 *            of UDP, features)
 * @max_frags: fragments that one skb may carry (MAX_SKB_FRAGS, plus frag_list if NETIF_F_FRAGLIST)
 */
struct mroce_route {
	struct dst_entry *dst;
	u32 cookie;
	struct mroce_addr src, dst_addr;
	u8 tclass;
	u8 hop_limit;
	int oif;		/* the netdev that must be left by; 0: any */
	u16 mtu;		/* IP MTU towards the peer */
	u16 max_segs;
	bool frag_list;		/* the device takes SKB_GSO with a frag_list unsegmented */
};

/**
 * mroce_route_refresh - look the route up unless the cached one still holds
 * @np: sockets
 * @rt: in: src, dst_addr, tclass, hop_limit, oif; out: the rest
 *
 * BH disabled. Cheap when cached. Return: 0, -EHOSTUNREACH, -ENETUNREACH, -ENETDOWN ...
 */
int mroce_route_refresh(struct mroce_net_port *np, struct mroce_route *rt);
void mroce_route_drop(struct mroce_route *rt);

/**
 * struct mroce_burst_skb - an skb under construction: consecutive packets of one path
 */
struct mroce_burst_skb {
	struct sk_buff *head;
	struct sk_buff *tail;		/* head, or the last of its frag_list */
	u16 seg_size;			/* UDP payload of every packet but the last */
	u16 segs;
	u32 hdr_page_off;		/* where the next header goes in the header page */
};

/**
 * mroce_skb_start - begin a burst
 * @rt: refreshed route
 * @seg_size: UDP payload bytes of each packet (the last may be shorter)
 * @max_segs: upper bound of packets that will follow
 * Return: 0 or -ENOMEM. GFP_ATOMIC.
 */
int mroce_skb_start(struct mroce_burst_skb *b, const struct mroce_route *rt, u16 seg_size,
		    u16 max_segs);

/* Adds one packet's header (copied; @len <= 72). Return: 0, -ENOBUFS if the skb is full (send it,
 * start another), -ENOMEM.
 */
int mroce_skb_add_header(struct mroce_burst_skb *b, const void *hdr, unsigned int len);

/* Adds payload by reference (takes a page reference; off + len may span pages of one folio).
 * Returns like above. A packet is never split between skbs: mroce_skb_room() is asked first.
 */
int mroce_skb_add_page(struct mroce_burst_skb *b, struct page *page, unsigned int off,
		       unsigned int len);
/* Adds payload by copy (inline data, pages that fail sendpage_ok()). */
int mroce_skb_add_copy(struct mroce_burst_skb *b, const void *data, unsigned int len);

/* Whether a packet with @frags payload fragments still fits. */
bool mroce_skb_room(const struct mroce_burst_skb *b, unsigned int frags);

/* Drops an skb under construction. */
void mroce_skb_abort(struct mroce_burst_skb *b);

/**
 * struct mroce_txq - bytes handed to the stack and not freed yet
 *
 * Bounds local queueing, so that a slow qdisc delays a connection instead of dropping its
 * packets. Every skb in flight holds a reference (its destructor gives it back).
 */
struct mroce_txq {
	refcount_t refs;
	atomic_t bytes;
	/* Called from the destructor (any context, maybe hard irq off, under a qdisc lock: it may only
	 * schedule) when @bytes falls below @wake and @waiting was set; NULL after mroce_txq_close().
	 */
	void (*wakeup)(void *arg);
	void *arg;
	u32 wake;
	bool waiting;
};

struct mroce_txq *mroce_txq_alloc(void (*wakeup)(void *arg), void *arg, u32 wake);
/* After it no wakeup runs any more (waits for running ones); drops the caller's reference. */
void mroce_txq_close(struct mroce_txq *txq);

/**
 * mroce_skb_xmit - put IP and UDP headers in front and send
 * @txq: charged with the skb until it is freed; may be NULL
 * @sport: UDP source port, host order: the path's entropy
 * @ecn_capable: set ECT(0)
 *
 * BH disabled; consumes the skb. Checksum partial, DF set, not tracked by conntrack. Return: 0 or
 * -errno (net_xmit_eval()).
 */
int mroce_skb_xmit(struct mroce_net_port *np, struct mroce_burst_skb *b, struct mroce_route *rt,
		   struct mroce_txq *txq, u16 sport, u16 dport, bool ecn_capable);

/* A small datagram from a flat buffer: acknowledgments, handshake. BH disabled. */
int mroce_net_send(struct mroce_net_port *np, struct mroce_route *rt, u16 sport, u16 dport,
		   bool ecn_capable, const void *data, unsigned int len);

/* Module init and exit: pernet registration, caches. */
int mroce_net_init(void);
void mroce_net_exit(void);

#endif /* _METAROCE_NET_H */
