// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * From the sockets to the engine.
 *
 * encap_rcv, the usual hook, gets no merged batches: UDP splits them for it. So these are plain
 * sockets with UDP_GRO, drained in softirq from sk_data_ready. What UDP does in recvmsg() is
 * therefore ours to do: the checksum.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/udp.h>

#include "../engine/engine.h"
#include "internal.h"

#define MROCE_RX_BUDGET		64	/* batches in a row; then others get the CPU */

/* Fills the addresses, traffic class and hop limit in. Returns false for what is not for us. */
static bool mroce_rx_parse(struct sk_buff *skb, struct mroce_addr *src, struct mroce_addr *dst,
			   u8 *tclass, u8 *ttl)
{
	memset(src, 0, sizeof(*src));
	memset(dst, 0, sizeof(*dst));
	if (skb->protocol == htons(ETH_P_IP)) {
		const struct iphdr *iph = ip_hdr(skb);

		src->family = MROCE_AF_INET;
		src->v4 = iph->saddr;
		dst->family = MROCE_AF_INET;
		dst->v4 = iph->daddr;
		*tclass = iph->tos;
		*ttl = iph->ttl;
		return true;
	}
	if (IS_ENABLED(CONFIG_IPV6) && skb->protocol == htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip6h = ipv6_hdr(skb);

		src->family = MROCE_AF_INET6;
		memcpy(src->v6, &ip6h->saddr, sizeof(src->v6));
		if (ipv6_addr_type(&ip6h->saddr) & IPV6_ADDR_LINKLOCAL)
			src->scope_id = skb->skb_iif;
		dst->family = MROCE_AF_INET6;
		memcpy(dst->v6, &ip6h->daddr, sizeof(dst->v6));
		if (ipv6_addr_type(&ip6h->daddr) & IPV6_ADDR_LINKLOCAL)
			dst->scope_id = skb->skb_iif;
		*tclass = ipv6_get_dsfield(ip6h);
		*ttl = ip6h->hop_limit;
		return true;
	}
	return false;
}

static void mroce_rx_count(struct sock *sk, bool v4, int mib)
{
	/* UDP's own counters, so that netstat tells the truth */
	if (v4)
		__UDP_INC_STATS(sock_net(sk), mib, 0);
	else
		__UDP6_INC_STATS(sock_net(sk), mib, 0);
}

static void mroce_rx_bad(struct mroce_sock *ms, struct sk_buff *skb, atomic64_t *counter, int mib)
{
	struct sock *sk = ms->sock->sk;
	bool v4 = skb->protocol == htons(ETH_P_IP);

	atomic64_inc(counter);
	if (mib)
		mroce_rx_count(sk, v4, mib);
	mroce_rx_count(sk, v4, UDP_MIB_INERRORS);
	kfree_skb(skb);
}

static void mroce_rx_one(struct mroce_sock *ms, struct sk_buff *skb)
{
	struct mroce_net_port *np = ms->np;
	struct mroce_addr src, dst;
	u8 tclass, ttl;

	skb->dev = NULL;	/* UDP kept notes there */
	skb_orphan(skb);
	skb_dst_drop(skb);

	if (skb->pkt_type != PACKET_HOST || !mroce_rx_parse(skb, &src, &dst, &tclass, &ttl)) {
		mroce_rx_bad(ms, skb, &np->not_host, 0);
		return;
	}
	if (!udp_hdr(skb)->check) {
		mroce_rx_bad(ms, skb, &np->no_csum, 0);
		return;
	}
	/* free if the device or GRO did it, or if the packet never left this machine */
	if (skb_checksum_complete(skb)) {
		mroce_rx_bad(ms, skb, &np->csum_errors, UDP_MIB_CSUMERRORS);
		return;
	}
	mroce_rx_count(ms->sock->sk, src.family == MROCE_AF_INET, UDP_MIB_INDATAGRAMS);
	mroce_engine_rx(np, skb, &src, &dst, skb->skb_iif, tclass, ttl);
}

/*
 * The caller owns the drain: it made pending positive. Gives it up when the queue is empty, or
 * leaves it to the tasklet when the budget is used up.
 */
static void mroce_sock_drain(struct mroce_sock *ms)
{
	struct sock *sk = ms->sock->sk;
	unsigned int budget = MROCE_RX_BUDGET;
	struct sk_buff *skb;
	int off = 0, err, seen;

	do {
		seen = atomic_read(&ms->pending);
		for (;;) {
			skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
			if (!skb && err != -EAGAIN)
				continue;	/* a socket error, now cleared */
			if (!skb)
				break;
			mroce_rx_one(ms, skb);
			if (!--budget) {
				tasklet_schedule(&ms->again);
				return;
			}
		}
	} while (atomic_sub_return(seen, &ms->pending));
}

void mroce_sock_drain_again(struct tasklet_struct *t)
{
	mroce_sock_drain(container_of(t, struct mroce_sock, again));
}

void mroce_sock_data_ready(struct sock *sk)
{
	struct mroce_sock *ms;

	rcu_read_lock();
	ms = rcu_dereference_sk_user_data(sk);
	if (ms && !atomic_fetch_inc(&ms->pending)) {
		/* a queue that is half full: UDP calls us under a lock it shares with others */
		if (unlikely(atomic_read(&sk->sk_rmem_alloc) > READ_ONCE(sk->sk_rcvbuf) >> 1))
			tasklet_schedule(&ms->again);
		else
			mroce_sock_drain(ms);
	}
	rcu_read_unlock();
}
