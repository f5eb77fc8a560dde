// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Bursts under construction. Fragments are in the order of the wire: header, payload, header,
 * payload ... The first packet's header is in the linear part. Beyond MAX_SKB_FRAGS they go on in
 * skbs without a head on the frag_list, if the device takes that as it is.
 */
#include <linux/highmem.h>
#include <linux/percpu.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "internal.h"

/* Behind the room for IP and UDP: the first header, and some inline data. */
#define MROCE_LINEAR		192

/* Where headers and copied data lie; BH disabled. */
static DEFINE_PER_CPU(struct page_frag, mroce_skb_frag_cache);

static unsigned int mroce_headroom(const struct net_device *dev)
{
	return LL_RESERVED_SPACE(dev) + sizeof(struct ipv6hdr) + sizeof(struct udphdr);
}

int mroce_skb_start(struct mroce_burst_skb *b, const struct mroce_route *rt, u16 seg_size,
		    u16 max_segs)
{
	struct dst_entry *dst;
	unsigned int headroom;
	struct sk_buff *skb;

	if (!seg_size || seg_size > rt->max_bytes)
		return -EMSGSIZE;
	rcu_read_lock();
	dst = READ_ONCE(rt->dst);
	headroom = dst ? mroce_headroom(dst->dev) : 0;	/* then mroce_skb_xmit() will fail */
	rcu_read_unlock();

	skb = alloc_skb(headroom + MROCE_LINEAR, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, headroom);
	b->head = skb;
	b->tail = skb;
	b->seg_size = seg_size;
	b->segs = 0;
	b->max_segs = min3(max_segs, rt->gso_segs, (u16)(rt->max_bytes / seg_size));
	b->frag_list = rt->frag_list;
	return 0;
}

bool mroce_skb_room(const struct mroce_burst_skb *b, unsigned int frags)
{
	if (!b->segs)
		return true;
	if (b->segs >= b->max_segs || b->head->len != b->segs * b->seg_size)
		return false;
	/* and one for the header */
	return b->frag_list || skb_shinfo(b->tail)->nr_frags + frags + 1 <= MAX_SKB_FRAGS;
}

/* Continues the burst in another skb on the frag_list. */
static int mroce_skb_chain(struct mroce_burst_skb *b)
{
	struct sk_buff *skb;

	if (!b->frag_list)
		return -ENOBUFS;
	skb = alloc_skb(0, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return -ENOMEM;
	if (b->tail == b->head)
		skb_shinfo(b->head)->frag_list = skb;
	else
		b->tail->next = skb;
	b->head->truesize += skb->truesize;
	b->tail = skb;
	return 0;
}

/* Whether the bytes follow those of @frag in memory, within one folio: one reference holds all. */
static bool mroce_frag_follows(const skb_frag_t *frag, struct page *page, unsigned int off)
{
	struct page *last = skb_frag_page(frag);

	if (compound_head(last) != compound_head(page))
		return false;
	return ((s64)page_to_pfn(page) - (s64)page_to_pfn(last)) * (s64)PAGE_SIZE + off ==
	       (s64)skb_frag_off(frag) + skb_frag_size(frag);
}

static int mroce_skb_add_frag(struct mroce_burst_skb *b, struct page *page, unsigned int off,
			      unsigned int len)
{
	struct skb_shared_info *shinfo = skb_shinfo(b->tail);
	skb_frag_t *last = shinfo->nr_frags ? &shinfo->frags[shinfo->nr_frags - 1] : NULL;
	int err;

	if (last && mroce_frag_follows(last, page, off)) {
		skb_frag_size_add(last, len);
	} else {
		if (shinfo->nr_frags == MAX_SKB_FRAGS) {
			err = mroce_skb_chain(b);
			if (err)
				return err;
			shinfo = skb_shinfo(b->tail);
		}
		get_page(page);
		/* noacc: the page may be anybody's */
		skb_fill_page_desc_noacc(b->tail, shinfo->nr_frags, page, off, len);
	}
	skb_len_add(b->tail, len);
	if (b->tail != b->head)
		skb_len_add(b->head, len);
	return 0;
}

/* Copies into the linear part if nothing but that is in use yet, else into fragments. */
int mroce_skb_add_copy(struct mroce_burst_skb *b, const void *data, unsigned int len)
{
	struct page_frag *pf = this_cpu_ptr(&mroce_skb_frag_cache);
	int err;

	if (!b->head->data_len && len <= skb_tailroom(b->head)) {
		skb_put_data(b->head, data, len);
		return 0;
	}
	while (len) {
		unsigned int n = min_t(unsigned int, len, PAGE_SIZE);

		if (!skb_page_frag_refill(n, pf, GFP_ATOMIC | __GFP_NOWARN))
			return -ENOMEM;
		memcpy(page_address(pf->page) + pf->offset, data, n);
		err = mroce_skb_add_frag(b, pf->page, pf->offset, n);
		if (err)
			return err;
		pf->offset += n;
		if (unlikely(page_is_pfmemalloc(pf->page))) {
			/* the reserves are for this skb only */
			b->head->pfmemalloc = true;
			put_page(pf->page);
			pf->page = NULL;
		}
		data += n;
		len -= n;
	}
	return 0;
}

int mroce_skb_add_header(struct mroce_burst_skb *b, const void *hdr, unsigned int len)
{
	int err;

	if (WARN_ON_ONCE(!len || len > MROCE_NET_HDR_MAX))
		return -EINVAL;
	err = mroce_skb_add_copy(b, hdr, len);
	if (!err)
		b->segs++;
	return err;
}

int mroce_skb_add_page(struct mroce_burst_skb *b, struct page *page, unsigned int off,
		       unsigned int len)
{
	if (!len)
		return 0;
	page = nth_page(page, off / PAGE_SIZE);
	off %= PAGE_SIZE;
	if (likely(sendpage_ok(page)))
		return mroce_skb_add_frag(b, page, off, len);

	while (len) {
		unsigned int n = min_t(unsigned int, len, PAGE_SIZE - off);
		void *p = kmap_local_page(page);
		int err = mroce_skb_add_copy(b, p + off, n);

		kunmap_local(p);
		if (err)
			return err;
		page = nth_page(page, 1);
		off = 0;
		len -= n;
	}
	return 0;
}

void mroce_skb_abort(struct mroce_burst_skb *b)
{
	kfree_skb(b->head);
	b->head = NULL;
	b->tail = NULL;
}

void mroce_skb_cache_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct page_frag *pf = per_cpu_ptr(&mroce_skb_frag_cache, cpu);

		if (pf->page)
			put_page(pf->page);
		pf->page = NULL;
	}
}
