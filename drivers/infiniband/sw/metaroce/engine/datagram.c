// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagrams: UD QPs, and the GSI QP of rdma_cm. They travel outside of connections, one packet
 * each, and nobody repairs them. MR-9.*
 */
#include <linux/hash.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <rdma/ib_mad.h>

#include "cursor.h"
#include "internal.h"

#define GRH_LEN		40
#define ROUTES_LOG	3

/* Routes to the last peers of a UD QP, by a hash of their address. Under the send queue's lock. */
struct mroce_ud {
	struct mroce_route routes[1 << ROUTES_LOG];
};

int mroce_engine_ud_init(struct mroce_qp *qp)
{
	qp->ud = kzalloc(sizeof(*qp->ud), GFP_KERNEL_ACCOUNT);
	return qp->ud ? 0 : -ENOMEM;
}

void mroce_engine_ud_exit(struct mroce_qp *qp)
{
	unsigned int i;

	if (!qp->ud)
		return;
	for (i = 0; i < ARRAY_SIZE(qp->ud->routes); i++)
		mroce_route_drop(&qp->ud->routes[i]);
	kfree(qp->ud);
	qp->ud = NULL;
}

static unsigned int route_slot(const struct mroce_addr *dst)
{
	u32 words[4];

	if (dst->family == MROCE_AF_INET)
		return hash_32((__force u32)dst->v4, ROUTES_LOG);
	memcpy(words, dst->v6, sizeof(words));
	return hash_32(words[0] ^ words[1] ^ words[2] ^ words[3], ROUTES_LOG);
}

/* The cached route for a request, or its slot made ready for a look-up. */
static struct mroce_route *ud_route(struct mroce_qp *qp, const struct mroce_swqe *wqe)
{
	struct mroce_route *rt = &qp->ud->routes[route_slot(&wqe->ud.dst)];
	u8 tclass = wqe->ud.tclass & ~INET_ECN_MASK;

	lockdep_assert_held(&qp->sq.lock);
	if (rt->tclass == tclass && rt->hop_limit == wqe->ud.hop_limit &&
	    rt->oif == wqe->ud.dst.scope_id && mroce_addr_equal(&rt->dst_addr, &wqe->ud.dst) &&
	    mroce_addr_equal(&rt->src, &wqe->ud.src))
		return rt;
	mroce_route_drop(rt);
	*rt = (struct mroce_route) {
		.src = wqe->ud.src,
		.dst_addr = wqe->ud.dst,
		.tclass = tclass,
		.hop_limit = wqe->ud.hop_limit,
		.oif = wqe->ud.dst.scope_id,
	};
	return rt;
}

/* Copies a request's payload to @to. Return: enum ib_wc_status. */
static enum ib_wc_status gather(struct mroce_qp *qp, const struct mroce_swqe *wqe, u8 *to)
{
	enum ib_wc_status status;
	struct mroce_mr *mr;
	u32 i;

	if (wqe->flags & MROCE_WQE_INLINE) {
		memcpy(to, wqe->data, wqe->inline_len);
		return IB_WC_SUCCESS;
	}
	for (i = 0; i < wqe->num_sge; i++) {
		u64 va = wqe->sge[i].addr;
		u32 len = wqe->sge[i].length;

		if (!len)
			continue;
		mr = mroce_mr_get(qp->dev, qp->ibqp.pd, wqe->sge[i].lkey, va, len, 0, false,
				  &status);
		if (!mr)
			return status;
		while (len) {
			struct page *page;
			size_t off, n = mroce_mr_page(mr, va, len, &page, &off);

			memcpy(to, page_address(page) + off, n);
			to += n;
			va += n;
			len -= n;
		}
		mroce_mr_put(mr);
	}
	return IB_WC_SUCCESS;
}

enum ib_wc_status mroce_engine_ud_send(struct mroce_qp *qp, struct mroce_swqe *wqe)
{
	struct mroce_dgram d = {
		.src_qpn = qp->ibqp.qp_num,
		.dst_qpn = wqe->ud.qpn & 0xffffff,
		.qkey = wqe->ud.qkey,
		.length = wqe->msg.len,
	};
	struct mroce_dev *dev = qp->dev;
	struct mroce_route *rt;
	enum ib_wc_status status;
	u8 *buf;

	if (wqe->msg.len > ib_mtu_enum_to_int(IB_MTU_4096))
		return IB_WC_LOC_LEN_ERR;
	if (wqe->msg.flags & MROCE_MSG_SOLICITED)
		d.flags |= MROCE_F_SOLICITED;
	if (wqe->msg.flags & MROCE_MSG_IMM) {
		d.flags |= MROCE_F_IMM;
		d.imm = wqe->msg.imm;
	}
	buf = kmalloc(MROCE_DGRAM_LEN + wqe->msg.len, GFP_ATOMIC);
	if (!buf)
		return IB_WC_SUCCESS;	/* lost, as datagrams may be */
	mroce_wire_put_dgram(&d, buf);
	status = gather(qp, wqe, buf + MROCE_DGRAM_LEN);
	if (status != IB_WC_SUCCESS)
		goto free;
	rt = ud_route(qp, wqe);
	if (mroce_route_refresh(dev->np, rt))
		mroce_count(dev, MROCE_CNT_TX_NO_ROUTE);
	else if (mroce_net_send(dev->np, rt, 0xc000 | (qp->ibqp.qp_num & 0x3fff), MROCE_UDP_PORT,
				true, buf, MROCE_DGRAM_LEN + wqe->msg.len))
		mroce_count(dev, MROCE_CNT_TX_DROPS);
	else
		mroce_count(dev, MROCE_CNT_TX_DGRAMS);
free:
	kfree(buf);
	return status;
}

/* Writes to a receive buffer, front to back. */
struct sink {
	struct mroce_qp *qp;
	const struct mroce_rwqe *wqe;
	u32 offset;
};

static bool sink_put(struct sink *s, const u8 *from, u32 len)
{
	u32 off = s->offset, i;

	s->offset += len;
	for (i = 0; len && i < s->wqe->num_sge; i++) {
		const struct mroce_sge *sge = &s->wqe->sge[i];
		enum ib_wc_status status;
		struct mroce_mr *mr;
		u32 n;
		u64 va;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len, sge->length - off);
		va = sge->addr + off;
		mr = mroce_mr_get(s->qp->dev, s->qp->ibqp.pd, sge->lkey, va, n,
				  IB_ACCESS_LOCAL_WRITE, false, &status);
		if (!mr)
			return false;
		len -= n;
		off = 0;
		while (n) {
			struct page *page;
			size_t at, part = mroce_mr_page(mr, va, n, &page, &at);

			memcpy(page_address(page) + at, from, part);
			from += part;
			va += part;
			n -= part;
		}
		mroce_mr_put(mr);
	}
	return !len;
}

/*
 * The 40 bytes before the payload: the IPv6 header, or, of IPv4, its header in the last 20 while
 * the first 20 stay as they were (UCX looks at them).
 */
static bool put_grh(struct sink *s, const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IPV6))
		return sink_put(s, (const u8 *)ipv6_hdr(skb), GRH_LEN);
	s->offset += GRH_LEN - sizeof(struct iphdr);
	return sink_put(s, (const u8 *)ip_hdr(skb), sizeof(struct iphdr));
}

/* Piece by piece: no memory need be had. */
static bool put_payload(struct sink *s, struct sk_buff *skb, unsigned int off, u32 len)
{
	struct mroce_cursor cur = {};
	bool ok = true;

	while (len && ok) {
		const u8 *data;
		u32 n = min_t(size_t, mroce_cursor_at(&cur, skb, off, &data), len);

		ok = n && sink_put(s, data, n);
		off += n;
		len -= n;
	}
	mroce_cursor_end(&cur);
	return ok;
}

static void fill_wc(struct ib_wc *wc, const struct mroce_dgram *d, const struct sk_buff *skb)
{
	wc->status = IB_WC_SUCCESS;
	wc->opcode = IB_WC_RECV;
	wc->byte_len = d->length + GRH_LEN;
	wc->src_qp = d->src_qpn;
	wc->wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = skb->protocol == htons(ETH_P_IPV6) ? RDMA_NETWORK_IPV6 :
								     RDMA_NETWORK_IPV4;
	if (d->flags & MROCE_F_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)d->imm;
	}
}

static void deliver(struct mroce_qp *qp, struct sk_buff *skb, unsigned int off,
		    const struct mroce_dgram *d)
{
	struct sink s = { .qp = qp };
	struct ib_wc wc = {};
	MROCE_NOTIFY(notify);
	u32 rqn;

	spin_lock_bh(&qp->ud_rx_lock);
	rqn = READ_ONCE(qp->rq.tail);
	s.wqe = mroce_rq_get(qp, rqn);
	if (!s.wqe) {
		mroce_count(qp->dev, MROCE_CNT_RX_NO_BUFFER);
		goto out;
	}
	/* IBTA 9.8.2.2.1: a datagram that is too long for the receive is dropped */
	if (s.wqe->status == IB_WC_SUCCESS && s.wqe->length < d->length + GRH_LEN) {
		mroce_count(qp->dev, MROCE_CNT_RX_TRUNCATED);
		goto out;
	}
	fill_wc(&wc, d, skb);
	if (s.wqe->status != IB_WC_SUCCESS)
		wc.status = s.wqe->status;
	else if (!put_grh(&s, skb) || (d->length && !put_payload(&s, skb, off, d->length)))
		wc.status = IB_WC_LOC_PROT_ERR;
	mroce_count(qp->dev, MROCE_CNT_RX_DGRAMS);
	mroce_rq_complete(qp, rqn, &wc, d->flags & MROCE_F_SOLICITED, &notify);
	if (wc.status != IB_WC_SUCCESS)
		mroce_qp_fail(qp, IB_EVENT_QP_FATAL);
out:
	spin_unlock_bh(&qp->ud_rx_lock);
	mroce_notify_flush(&notify);
}

static bool qkey_good(const struct mroce_qp *qp, const struct mroce_dgram *d)
{
	u32 want = qp->ibqp.qp_type == IB_QPT_GSI ? IB_QP1_QKEY : READ_ONCE(qp->attr.qkey);

	return d->qkey == want;
}

/* Softirq. */
void mroce_dgram_rx(struct mroce_net_port *np, struct sk_buff *skb, unsigned int off,
		    unsigned int len, const struct mroce_addr *src, const struct mroce_addr *dst)
{
	u8 hdr[MROCE_DGRAM_LEN];
	struct mroce_dgram d;
	struct mroce_dev *dev;
	struct mroce_qp *qp;

	dev = mroce_dev_find(np, dst);
	if (!dev)
		return;
	if (len < sizeof(hdr) || skb_copy_bits(skb, off, hdr, sizeof(hdr)) ||
	    mroce_wire_get_dgram(&d, hdr, len)) {
		mroce_count(dev, MROCE_CNT_RX_MALFORMED);
		goto put_dev;
	}
	qp = mroce_qp_find(dev, d.dst_qpn);
	if (!qp || qp->ibqp.qp_type == IB_QPT_RC) {
		mroce_count(dev, MROCE_CNT_RX_NO_QP);
		goto put_qp;
	}
	if (!qkey_good(qp, &d)) {
		mroce_count(dev, MROCE_CNT_RX_QKEY);
		goto put_qp;
	}
	deliver(qp, skb, off + MROCE_DGRAM_LEN, &d);
put_qp:
	if (qp)
		mroce_qp_put(qp);
put_dev:
	mroce_dev_put(dev);
}
