/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * UDP, for the engine: sockets per network namespace, one skb per burst out,
 * merged batches in. Knows IP, routes and skbs; knows no connection and no QP.
 */
#ifndef _METAROCE_NET_H
#define _METAROCE_NET_H

#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include <metaroce/core.h>

#define MROCE_NET_HDR_MAX	72	/* bytes of one packet's metaroce headers */

/**
 * struct mroce_net_port - the listening sockets of one netns and UDP port
 *
 * Shared by all devices of the netns; the first link makes it, the last one ends it. It outlives
 * its netns: then it is dead, routes are refused with -ENETDOWN, and it only remains to put it.
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

/* Process context, may sleep. Nothing of @np is used any more and every route is dropped. */
void mroce_net_port_put(struct mroce_net_port *np);

/**
 * mroce_net_port_net - the namespace
 * @np: sockets
 *
 * The caller is in an RCU read-side section or knows that the netns lives.
 * Return: namespace, or NULL once it is going away.
 */
struct net *mroce_net_port_net(const struct mroce_net_port *np);

/**
 * struct mroce_net_stats - what was thrown away before the engine saw it
 * @csum: UDP checksum wrong
 * @no_csum: UDP checksum zero (MR: refused also over IPv4)
 * @not_host: sent to a broadcast or multicast address
 */
struct mroce_net_stats {
	u64 csum;
	u64 no_csum;
	u64 not_host;
};

void mroce_net_port_stats(const struct mroce_net_port *np, struct mroce_net_stats *stats);

/**
 * mroce_skb_sport - the peer's UDP port, host order
 * @skb: as mroce_engine_rx() gets it
 */
static inline u16 mroce_skb_sport(const struct sk_buff *skb)
{
	return ntohs(udp_hdr(skb)->source);
}

/**
 * struct mroce_route - where a path's packets leave, cached
 * @dst: route or NULL; private to net/ (it may be taken away when the netns ends)
 * @mtu: IP MTU towards the peer, at least 576 (IPv4) or 1280 (IPv6), below 64 KiB
 * @max_bytes: UDP payload bytes that one skb may carry
 * @max_segs: packets of full MTU that one skb may carry to this device (its gso_max_segs,
 *            gso_max_size, 64 KiB of UDP); smaller packets: mroce_skb_room() knows
 * @gso_segs: packets of any size that one skb may carry
 * @frag_list: the device takes SKB_GSO with a frag_list unsegmented, so fragments have no limit;
 *             else there are MAX_SKB_FRAGS
 *
 * Zeroed before its first use; never copied or moved while in use (it is on a list); one caller
 * at a time; mroce_route_drop() before its memory goes away.
 */
struct mroce_route {
	struct dst_entry *dst;
	struct list_head node;		/* in np->routes, if dst was ever set */
	u32 cookie;
	struct mroce_addr src, dst_addr;
	u8 tclass;
	u8 hop_limit;			/* 0: the route's default */
	int oif;			/* the netdev that must be left by; 0: any */
	u16 mtu;
	u16 max_bytes;
	u16 max_segs;
	u16 gso_segs;
	bool frag_list;
	struct mroce_net_port *np;	/* whose list; NULL: on none */
};

/**
 * mroce_route_refresh - look the route up unless the cached one still holds
 * @np: sockets
 * @rt: in: src, dst_addr, tclass, hop_limit, oif; out: the rest
 *
 * BH disabled. Cheap when cached; limits are read anew each time, so that changes of MTU, GSO
 * limits, features and carrier act at once. After a change of the "in" fields call
 * mroce_route_drop() first. Traffic to an address of this netns loops back whatever @oif says.
 *
 * Return: 0, -EHOSTUNREACH, -ENETUNREACH, -ENETDOWN (no carrier, not up, netns ending),
 * -EINVAL or -EADDRNOTAVAIL (own address is gone) ...
 */
int mroce_route_refresh(struct mroce_net_port *np, struct mroce_route *rt);

/* Any context but hard irq. May be called again, and on a zeroed route. */
void mroce_route_drop(struct mroce_route *rt);

/**
 * struct mroce_burst_skb - an skb under construction: consecutive packets of one path
 */
struct mroce_burst_skb {
	struct sk_buff *head;
	struct sk_buff *tail;		/* head, or the last of its frag_list */
	u16 seg_size;			/* UDP payload of every packet but the last */
	u16 segs;
	u16 max_segs;
	bool frag_list;
};

/**
 * mroce_skb_start - begin a burst
 * @b: filled
 * @rt: refreshed route
 * @seg_size: UDP payload bytes of each packet, header included (the last may be shorter)
 * @max_segs: upper bound of packets that will follow
 *
 * BH disabled until mroce_skb_xmit() or mroce_skb_abort(). Return: 0, -ENOMEM, or -EMSGSIZE if
 * not even one such packet fits 64 KiB.
 */
int mroce_skb_start(struct mroce_burst_skb *b, const struct mroce_route *rt, u16 seg_size,
		    u16 max_segs);

/**
 * mroce_skb_room - whether another packet fits
 * @b: skb under construction
 * @frags: its payload fragments; a copied one counts one for every started PAGE_SIZE
 *
 * Also false after a packet that was shorter than seg_size: it ends the burst.
 */
bool mroce_skb_room(const struct mroce_burst_skb *b, unsigned int frags);

/**
 * mroce_skb_add_header - begin a packet
 * @b: skb under construction, mroce_skb_room() said yes
 * @hdr: header, copied
 * @len: its length, at most MROCE_NET_HDR_MAX
 *
 * Return: 0, -ENOBUFS if the skb is full, -ENOMEM. After an error inside of a packet the skb
 * can only be aborted.
 */
int mroce_skb_add_header(struct mroce_burst_skb *b, const void *hdr, unsigned int len);

/* Adds payload by reference (takes a page reference; off + len may span pages of one folio);
 * pages that fail sendpage_ok() are copied. Returns like above. A packet is never split between
 * skbs.
 */
int mroce_skb_add_page(struct mroce_burst_skb *b, struct page *page, unsigned int off,
		       unsigned int len);
/* Adds payload by copy (inline data, small payload). */
int mroce_skb_add_copy(struct mroce_burst_skb *b, const void *data, unsigned int len);

/* Drops an skb under construction. */
void mroce_skb_abort(struct mroce_burst_skb *b);

/**
 * struct mroce_txq - bytes handed to the stack and not freed yet
 * @sk: owns the skbs; its sk_wmem_alloc counts their truesize, also after the stack segmented them
 * @wakeup: see mroce_txq_alloc()
 * @arg: its argument
 * @wake: bytes
 * @waiting: somebody wants the wakeup
 *
 * Bounds local queueing, so that a slow qdisc delays a connection instead of dropping its
 * packets.
 */
struct mroce_txq {
	struct sock *sk;
	void (*wakeup)(void *arg);
	void *arg;
	u32 wake;
	bool waiting;
	struct rcu_head rcu;
};

/**
 * mroce_txq_alloc - make one
 * @wakeup: called when an skb is freed, fewer than @wake bytes are left, and mroce_txq_wait()
 *          was called since the last time. Any context, maybe hard irqs off, under a qdisc lock:
 *          it may only schedule.
 * @arg: its argument
 * @wake: bytes (truesize)
 *
 * Any context. Return: queue or NULL.
 */
struct mroce_txq *mroce_txq_alloc(void (*wakeup)(void *arg), void *arg, u32 wake);

/* After it no wakeup runs any more (waits for running ones): process context. Skbs may still be
 * on their way; they keep nothing of ours. NULLs among them are fine.
 */
void mroce_txqs_close(struct mroce_txq **txqs, unsigned int n);

/* Bytes on their way now. */
static inline u32 mroce_txq_bytes(const struct mroce_txq *txq)
{
	return sk_wmem_alloc_get(txq->sk);
}

/**
 * mroce_txq_wait - ask for the wakeup
 * @txq: queue
 *
 * Return: true if one will come; false if there is room already and none may come.
 */
bool mroce_txq_wait(struct mroce_txq *txq);

/**
 * mroce_skb_xmit - put IP and UDP headers in front and send
 * @np: sockets
 * @b: finished burst; its skb is consumed
 * @rt: the route it was started with
 * @txq: charged with the skb until it is freed; may be NULL
 * @sport: UDP source port, host order: the path's entropy (IPv6: the flow label follows it)
 * @dport: UDP destination port, host order
 * @ecn_capable: set ECT(0)
 *
 * BH disabled. Checksum partial, DF set, not tracked by conntrack. Packets that were cut before the
 * MTU shrank, and are larger than @rt->mtu now, go in IP fragments, without DF. Return: 0 or -errno
 * (-ENOBUFS: dropped by the queueing discipline or device).
 */
int mroce_skb_xmit(struct mroce_net_port *np, struct mroce_burst_skb *b, struct mroce_route *rt,
		   struct mroce_txq *txq, u16 sport, u16 dport, bool ecn_capable);

/* A datagram from a flat buffer: acknowledgments, handshake, path MTU probes (always DF; larger
 * than @rt->mtu is fine as long as the device takes it). BH disabled; @rt refreshed. Returns like
 * above.
 */
int mroce_net_send(struct mroce_net_port *np, struct mroce_route *rt, u16 sport, u16 dport,
		   bool ecn_capable, const void *data, unsigned int len);

/* Module init and exit: pernet registration, caches. */
int mroce_net_init(void);
void mroce_net_exit(void);

#endif /* _METAROCE_NET_H */
