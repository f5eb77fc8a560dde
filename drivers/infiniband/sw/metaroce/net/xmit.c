// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* UDP and IP headers, and off. */
#include <linux/hash.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/udp.h>
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack.h>
#endif

#include "internal.h"

struct mroce_xmit {
	const struct mroce_route *rt;
	struct dst_entry *dst;
	u16 sport, dport;
	u8 dsfield;
	bool fragment;		/* larger than the MTU: in IP fragments */
};

static void mroce_push_udp(struct sk_buff *skb, const struct mroce_xmit *x)
{
	const struct mroce_addr *src = &x->rt->src, *dst = &x->rt->dst_addr;
	struct udphdr *uh;

	skb_push(skb, sizeof(*uh));
	skb_reset_transport_header(skb);
	uh = udp_hdr(skb);
	uh->source = htons(x->sport);
	uh->dest = htons(x->dport);
	uh->len = htons(skb->len);
	if (src->family == MROCE_AF_INET)
		uh->check = ~udp_v4_check(skb->len, src->v4, dst->v4, 0);
	else
		uh->check = ~udp_v6_check(skb->len, (const struct in6_addr *)src->v6,
					  (const struct in6_addr *)dst->v6, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

static void mroce_push_ipv4(struct net *net, struct sk_buff *skb, const struct mroce_xmit *x)
{
	unsigned int segs = max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);
	struct iphdr *iph;

	skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	iph = ip_hdr(skb);
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tos = x->dsfield;
	iph->frag_off = x->fragment ? 0 : htons(IP_DF);
	iph->ttl = x->rt->hop_limit ?: ip4_dst_hoplimit(x->dst);
	iph->protocol = IPPROTO_UDP;
	iph->saddr = x->rt->src.v4;
	iph->daddr = x->rt->dst_addr.v4;
	iph->id = 0;			/* says nothing without fragments */
	if (x->fragment)
		__ip_select_ident(net, iph, segs);
	skb->protocol = htons(ETH_P_IP);
}

#if IS_ENABLED(CONFIG_IPV6)
static void mroce_push_ipv6(struct sk_buff *skb, const struct mroce_xmit *x)
{
	struct ipv6hdr *ip6h;

	skb_push(skb, sizeof(*ip6h));
	skb_reset_network_header(skb);
	ip6h = ipv6_hdr(skb);
	/* routers may hash the label in place of the ports */
	ip6_flow_hdr(ip6h, x->dsfield, cpu_to_be32(hash_32(x->sport, 20)));
	ip6h->nexthdr = IPPROTO_UDP;
	ip6h->hop_limit = x->rt->hop_limit ?: ip6_dst_hoplimit(x->dst);
	memcpy(&ip6h->saddr, x->rt->src.v6, sizeof(ip6h->saddr));
	memcpy(&ip6h->daddr, x->rt->dst_addr.v6, sizeof(ip6h->daddr));
	skb->protocol = htons(ETH_P_IPV6);
}
#endif

static int mroce_xmit(struct mroce_net_port *np, struct net *net, struct sk_buff *skb,
		      const struct mroce_xmit *x)
{
	int err = -EAFNOSUPPORT;

	skb->priority = rt_tos2priority(x->dsfield);
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	/* thousands of paths would fill its table */
	nf_ct_set(skb, NULL, IP_CT_UNTRACKED);
#endif
	skb_dst_set_noref(skb, x->dst);
	skb->ignore_df = x->fragment;
	mroce_push_udp(skb, x);
	if (x->rt->dst_addr.family == MROCE_AF_INET) {
		mroce_push_ipv4(net, skb, x);
		err = ip_local_out(net, np->sk4, skb);
	} else {
#if IS_ENABLED(CONFIG_IPV6)
		mroce_push_ipv6(skb, x);
		err = ip6_local_out(net, np->sk6, skb);
#else
		kfree_skb(skb);
#endif
	}
	if (err > 0)
		err = net_xmit_errno(err);
	return err;
}

/* The IP length of the burst's packets. */
static unsigned int mroce_burst_iplen(const struct mroce_burst_skb *b, const struct mroce_route *rt)
{
	unsigned int iphdr = rt->dst_addr.family == MROCE_AF_INET ? sizeof(struct iphdr) :
								    sizeof(struct ipv6hdr);

	return iphdr + sizeof(struct udphdr) + b->seg_size;
}

/* All packets but the last have the same length, and the last is no longer. */
static bool mroce_burst_valid(const struct sk_buff *skb, u16 seg_size, u16 segs)
{
	return skb->len <= segs * seg_size && skb->len > (segs - 1) * seg_size;
}

static int mroce_burst_xmit(struct mroce_net_port *np, struct mroce_burst_skb *b,
			    struct mroce_route *rt, struct mroce_txq *txq, u16 sport, u16 dport,
			    bool ecn_capable, bool fragment)
{
	struct mroce_xmit x = {
		.rt = rt, .sport = sport, .dport = dport, .fragment = fragment,
		.dsfield = (rt->tclass & ~INET_ECN_MASK) |
			   (ecn_capable ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT),
	};
	struct sk_buff *skb = b->head;
	unsigned int headroom;
	struct net *net;
	int err;

	b->head = NULL;
	b->tail = NULL;
	rcu_read_lock();
	err = -EINVAL;
	if (WARN_ON_ONCE(!b->segs || !mroce_burst_valid(skb, b->seg_size, b->segs)))
		goto drop;
	err = -ENETDOWN;
	net = mroce_net_port_net(np);
	x.dst = READ_ONCE(rt->dst);
	if (!net || !x.dst)
		goto drop;
	/* the route may have changed since the skb was begun */
	headroom = LL_RESERVED_SPACE(x.dst->dev) + sizeof(struct ipv6hdr) + sizeof(struct udphdr);
	err = skb_cow_head(skb, headroom);
	if (err)
		goto drop;

	if (b->segs > 1) {
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(skb)->gso_size = b->seg_size;
		skb_shinfo(skb)->gso_segs = b->segs;
	}
	if (txq)
		skb_set_owner_w(skb, txq->sk);
	err = mroce_xmit(np, net, skb, &x);
	rcu_read_unlock();
	return err;

drop:
	rcu_read_unlock();
	kfree_skb(skb);
	return err;
}

int mroce_skb_xmit(struct mroce_net_port *np, struct mroce_burst_skb *b, struct mroce_route *rt,
		   struct mroce_txq *txq, u16 sport, u16 dport, bool ecn_capable)
{
	/* cut before the MTU shrank */
	bool fragment = mroce_burst_iplen(b, rt) > rt->mtu;

	return mroce_burst_xmit(np, b, rt, txq, sport, dport, ecn_capable, fragment);
}

int mroce_net_send(struct mroce_net_port *np, struct mroce_route *rt, u16 sport, u16 dport,
		   bool ecn_capable, const void *data, unsigned int len)
{
	struct mroce_burst_skb b;
	int err;

	if (!len || len > rt->max_bytes)
		return -EMSGSIZE;
	err = mroce_skb_start(&b, rt, len, 1);
	if (err)
		return err;
	err = mroce_skb_add_copy(&b, data, len);
	if (err) {
		mroce_skb_abort(&b);
		return err;
	}
	b.segs = 1;
	return mroce_burst_xmit(np, &b, rt, NULL, sport, dport, ecn_capable, false);
}
