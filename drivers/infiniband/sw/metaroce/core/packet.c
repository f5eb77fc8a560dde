// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A packet's record becomes its header: the same each time it is sent but for path and sequence. */
#include "internal.h"

static u8 msg_flags(const struct mroce_txmsg *m, bool last)
{
	u8 flags = 0;

	if (!last)
		return 0;
	flags = MROCE_F_LAST;
	if (m->flags & MROCE_MSG_IMM)
		flags |= MROCE_F_IMM;
	if (m->flags & MROCE_MSG_INV)
		flags |= MROCE_F_INV;
	if (m->flags & MROCE_MSG_SOLICITED)
		flags |= MROCE_F_SOLICITED;
	return flags;
}

static void fill_request(const struct mroce_txrec *r, struct mroce_hdr *h, struct mroce_txpkt *t)
{
	struct mroce_txmsg *m = mroce_stream_msg(r->stream, r->index);
	bool last = m->op == MROCE_OP_READ || m->op == MROCE_OP_FETCH_ADD ||
		    m->op == MROCE_OP_CMP_SWAP || r->offset + r->len == m->len;

	h->flags |= msg_flags(m, last);
	h->handle = r->stream->peer_handle;
	h->msn = m->msn;
	h->dep = m->dep;
	h->offset = r->offset;
	h->addr = m->op == MROCE_OP_SEND ? m->rqn : m->raddr;
	h->rkey = m->rkey;
	h->imm = m->imm;
	h->rqn = m->rqn;
	h->length = m->len;
	h->tag = r->index;
	h->compare_add = m->compare_add;
	h->swap = m->swap;
	if (r->len) {
		t->source = MROCE_SRC_REQUEST;
		m->pins++;
		r->stream->pins++;
	}
}

static void fill_answer(const struct mroce_txrec *r, struct mroce_hdr *h, struct mroce_txpkt *t)
{
	struct mroce_resp *a = mroce_resp_at(r->stream, r->index);

	if (r->offset + r->len == a->len)
		h->flags |= MROCE_F_LAST;
	h->handle = r->stream->peer_handle;
	h->msn = a->msn;
	h->addr = a->tag;
	h->offset = r->offset;
	if (r->len) {
		t->source = a->op == MROCE_OP_ATOMIC_RESP ? MROCE_SRC_VALUE : MROCE_SRC_ANSWER;
		a->pins++;
		r->stream->pins++;
	}
}

static void fill_open(const struct mroce_txrec *r, struct mroce_hdr *h)
{
	struct mroce_stream *s = r->stream;

	h->handle = s->peer_handle;
	h->src_qpn = s->lqpn;
	h->dst_qpn = s->rqpn;
	h->incarnation = s->incarnation;
	h->src_handle = s->handle;
}

void mroce_packet_fill(struct mroce_conn *c, u32 cpn, struct mroce_txpkt *t)
{
	struct mroce_txrec *r = mroce_rec(c, cpn);
	struct mroce_hdr h = {
		.flags = r->tries > 1 ? MROCE_F_RETX : 0,
		.path = r->path,
		.dcid = c->peer_cid,
		.pseq = r->pseq,
		.cpn = r->cpn,
		.op = r->op,
	};

	if (mroce_conn_backlog(c))
		h.flags |= MROCE_F_MORE;
	t->source = MROCE_SRC_NONE;
	t->stream = r->stream;
	t->index = r->index;
	t->offset = r->offset;
	t->len = r->len;
	t->cpn = r->cpn;
	switch (r->op) {
	case MROCE_OP_VOID:
		h.handle = r->stream ? r->stream->peer_handle : 0;
		break;
	case MROCE_OP_OPEN:
	case MROCE_OP_OPEN_ACK:
		fill_open(r, &h);
		break;
	case MROCE_OP_OPEN_NAK:
		/* no stream of ours: the record says whose OPEN it answers */
		h.handle = r->index;
		h.incarnation = r->offset;
		h.nak = r->nak;
		break;
	case MROCE_OP_READ_RESP:
	case MROCE_OP_ATOMIC_RESP:
		fill_answer(r, &h, t);
		break;
	default:
		fill_request(r, &h, t);
	}
	t->hdr_len = mroce_wire_put_data(&h, t->hdr);
}

/* UDP payload bytes of a packet, before it is filled. */
unsigned int mroce_packet_size(struct mroce_conn *c, u32 cpn)
{
	struct mroce_txrec *r = mroce_rec(c, cpn);
	u8 flags = 0;

	if (r->op == MROCE_OP_SEND || r->op == MROCE_OP_WRITE) {
		struct mroce_txmsg *m = mroce_stream_msg(r->stream, r->index);

		flags = msg_flags(m, r->offset + r->len == m->len);
	}
	return mroce_wire_hdr_len(r->op, flags) + r->len;
}
