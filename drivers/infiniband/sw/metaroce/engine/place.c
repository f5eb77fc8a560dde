// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Payload goes to its final place, with no lock held. Keys are checked here, at placement: a
 * reference on the region keeps it from being given back while bytes are written.
 */
#include "internal.h"
#include "cursor.h"

struct placer {
	struct mroce_dev *dev;
	struct mroce_cursor cur;
	struct mroce_mr *mr;		/* the last region used */
	struct ib_pd *pd;
	u32 key;
	bool remote;
};

static void region_put(struct placer *p)
{
	if (p->mr)
		mroce_mr_put(p->mr);
	p->mr = NULL;
}

/* Return: enum mroce_nak. */
static u8 region(struct placer *p, struct ib_pd *pd, u32 key, u64 va, u32 len, bool remote)
{
	int access = remote ? IB_ACCESS_REMOTE_WRITE : IB_ACCESS_LOCAL_WRITE;
	enum ib_wc_status status;

	if (p->mr && p->pd == pd && p->key == key && p->remote == remote && !p->mr->dma &&
	    va >= p->mr->iova && va - p->mr->iova + len <= p->mr->length)
		return MROCE_NAK_NONE;
	region_put(p);
	p->mr = mroce_mr_get(p->dev, pd, key, va, len, access, remote, &status);
	if (!p->mr)
		return MROCE_NAK_ACCESS;
	p->pd = pd;
	p->key = key;
	p->remote = remote;
	return MROCE_NAK_NONE;
}

static void to_page(struct placer *p, const struct mroce_rxpkt *pkt, u32 done, u8 *to, size_t len)
{
	while (len) {
		const u8 *data;
		size_t n;

		if (pkt->held && pkt->copied) {
			data = (const u8 *)pkt->payload + done;
			n = len;
		} else {
			n = mroce_cursor_at(&p->cur, pkt->payload, pkt->payload_off + done, &data);
			n = min(n, len);
		}
		if (!n)
			return;		/* lengths were checked: the skb shrank under us? */
		mroce_copy_ascending(to, data, n);
		to += n;
		done += n;
		len -= n;
	}
}

/* Bytes [done, done + len) of the payload go to @va of p->mr. */
static void to_region(struct placer *p, const struct mroce_rxpkt *pkt, u32 done, u64 va, u32 len)
{
	while (len) {
		struct page *page;
		size_t off, n = mroce_mr_page(p->mr, va, len, &page, &off);

		to_page(p, pkt, done, page_address(page) + off, n);
		done += n;
		va += n;
		len -= n;
	}
}

/* Scatters the payload over a list, @offset bytes into it. */
static u8 to_sges(struct placer *p, const struct mroce_rxpkt *pkt, struct ib_pd *pd,
		  const struct mroce_sge *sge, u32 num_sge, u32 offset)
{
	u32 done = 0, i;
	u8 nak;

	for (i = 0; i < num_sge && done < pkt->plen; i++) {
		u64 va = sge[i].addr + offset;
		u32 n;

		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		n = min(pkt->plen - done, sge[i].length - offset);
		nak = region(p, pd, sge[i].lkey, va, n, false);
		if (nak)
			return nak;
		to_region(p, pkt, done, va, n);
		done += n;
		offset = 0;
	}
	return done == pkt->plen ? MROCE_NAK_NONE : MROCE_NAK_INV_REQ;
}

static u8 place_write(struct placer *p, const struct mroce_rxpkt *pkt, struct mroce_qp *qp)
{
	u64 va = pkt->h.addr + pkt->h.offset;
	u8 nak;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE) || va < pkt->h.addr)
		return MROCE_NAK_ACCESS;
	nak = region(p, qp->ibqp.pd, pkt->h.rkey, va, pkt->plen, true);
	if (!nak)
		to_region(p, pkt, 0, va, pkt->plen);
	return nak;
}

static u8 place_send(struct placer *p, const struct mroce_rxpkt *pkt, struct mroce_qp *qp)
{
	struct mroce_rwqe *wqe = mroce_rq_get(qp, pkt->h.rqn);
	u8 nak;

	if (!wqe)
		return MROCE_NAK_INV_REQ;
	if (wqe->status != IB_WC_SUCCESS)
		return MROCE_NAK_OP;
	/* a buffer of our own that can't be used is no fault of the peer's: IBTA 9.9.3 */
	nak = to_sges(p, pkt, qp->ibqp.pd, wqe->sge, wqe->num_sge, pkt->h.offset);
	return nak == MROCE_NAK_ACCESS ? MROCE_NAK_OP : nak;
}

static u8 place_answer(struct placer *p, struct mroce_rxpkt *pkt, struct mroce_qp *qp)
{
	struct mroce_swqe *wqe = (struct mroce_swqe *)mroce_stream_msg(pkt->stream, pkt->index);
	const u8 *data;
	__be64 wire;
	u64 value;

	if (pkt->h.op == MROCE_OP_READ_RESP)
		return to_sges(p, pkt, qp->ibqp.pd, wqe->sge, wqe->num_sge, pkt->h.offset);
	/* atomics: the original value, in the host's order */
	if (!mroce_cursor_copy(&p->cur, pkt->payload, pkt->payload_off, &wire, sizeof(wire)))
		return MROCE_NAK_OP;
	value = be64_to_cpu(wire);
	data = (const u8 *)&value;
	{
		struct mroce_rxpkt local = *pkt;

		local.held = true;
		local.copied = true;
		local.payload = (void *)data;
		return to_sges(p, &local, qp->ibqp.pd, wqe->sge, wqe->num_sge, 0);
	}
}

static u8 place(struct placer *p, struct mroce_rxpkt *pkt)
{
	struct mroce_qp *qp = pkt->stream->owner;

	if (!pkt->plen)
		return MROCE_NAK_NONE;
	switch (pkt->h.op) {
	case MROCE_OP_WRITE:
		return place_write(p, pkt, qp);
	case MROCE_OP_SEND:
		return place_send(p, pkt, qp);
	default:
		return place_answer(p, pkt, qp);
	}
}

/**
 * mroce_place_batch - copy what is on the list, in its order
 * @econn: connection
 * @b: list
 *
 * No lock held, BH disabled. Sets pkt->nak.
 */
void mroce_place_batch(struct mroce_econn *econn, struct mroce_rxbatch *b)
{
	struct placer p = { .dev = econn->dev };
	struct mroce_rxpkt *pkt;

	for (pkt = b->first; pkt; pkt = pkt->next)
		pkt->nak = place(&p, pkt);
	region_put(&p);
	mroce_cursor_end(&p.cur);
}
