// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The codec: the only code that knows where a field lies. Documentation/spec, chapter 2. */
#include <metaroce/wire.h>

/* What an opcode's packets look like; MR-2.3-02. */
struct op_shape {
	u8 ext;		/* extension that it always has */
	bool imm;	/* may carry the IMM extension */
	bool payload;	/* may carry payload */
};

static const struct op_shape op_table[MROCE_OP_MAX] = {
	[MROCE_OP_NOP]		= { 0, false, true },	/* padded probes */
	[MROCE_OP_VOID]		= { 0, false, false },
	[MROCE_OP_OPEN]		= { MROCE_EXT_OPEN_LEN, false, false },
	[MROCE_OP_OPEN_ACK]	= { MROCE_EXT_OPEN_LEN, false, false },
	[MROCE_OP_OPEN_NAK]	= { MROCE_EXT_OPEN_LEN, false, false },
	[MROCE_OP_SEND]		= { 0, true, true },
	[MROCE_OP_WRITE]	= { 0, true, true },
	[MROCE_OP_READ]		= { MROCE_EXT_READ_LEN, false, false },
	[MROCE_OP_READ_RESP]	= { 0, false, true },
	[MROCE_OP_FETCH_ADD]	= { MROCE_EXT_ATOMIC_LEN, false, false },
	[MROCE_OP_CMP_SWAP]	= { MROCE_EXT_ATOMIC_LEN, false, false },
	[MROCE_OP_ATOMIC_RESP]	= { 0, false, true },
};

int mroce_wire_type(const u8 *p, size_t len)
{
	if (len < MROCE_COMMON_LEN)
		return -1;
	if (p[0] >> 4 != MROCE_WIRE_VERSION)
		return -2;
	if ((p[0] & 0xf) >= MROCE_T_MAX)
		return -3;
	return p[0] & 0xf;
}

u32 mroce_wire_dcid(const u8 *p)
{
	return get_unaligned_be32(p + 4);
}

static void put_common(u8 *p, u8 type, u8 flags, u16 path, u32 dcid, u32 a, u32 b)
{
	p[0] = MROCE_WIRE_VERSION << 4 | type;
	p[1] = flags;
	put_unaligned_be16(path, p + 2);
	put_unaligned_be32(dcid, p + 4);
	put_unaligned_be32(a, p + 8);
	put_unaligned_be32(b, p + 12);
}

unsigned int mroce_wire_hdr_len(u8 op, u8 flags)
{
	unsigned int len = MROCE_DATA_LEN + op_table[op].ext;

	if (op_table[op].imm && flags & (MROCE_F_IMM | MROCE_F_INV))
		len += MROCE_EXT_IMM_LEN;
	return len;
}

static void get_ext(struct mroce_hdr *h, const u8 *e)
{
	switch (h->op) {
	case MROCE_OP_READ:
		h->length = get_unaligned_be32(e);
		h->tag = get_unaligned_be32(e + 4);
		break;
	case MROCE_OP_FETCH_ADD:
	case MROCE_OP_CMP_SWAP:
		h->compare_add = get_unaligned_be64(e);
		h->swap = get_unaligned_be64(e + 8);
		h->tag = get_unaligned_be32(e + 16);
		break;
	case MROCE_OP_OPEN:
	case MROCE_OP_OPEN_ACK:
	case MROCE_OP_OPEN_NAK:
		h->src_qpn = get_unaligned_be32(e) & 0xffffff;
		h->dst_qpn = get_unaligned_be32(e + 4) & 0xffffff;
		h->incarnation = get_unaligned_be32(e + 8);
		h->src_handle = get_unaligned_be32(e + 12) & 0xffffff;
		h->nak = e[16];
		break;
	case MROCE_OP_SEND:
	case MROCE_OP_WRITE:
		if (h->flags & (MROCE_F_IMM | MROCE_F_INV)) {
			memcpy(&h->imm, e, 4);
			h->rqn = get_unaligned_be32(e + 4);
		} else {
			h->rqn = (u32)h->addr;
		}
		break;
	}
}

int mroce_wire_get_data(struct mroce_hdr *h, const u8 *p, size_t avail, size_t len)
{
	size_t payload;

	if (avail < MROCE_DATA_LEN)
		return -1;
	memset(h, 0, sizeof(*h));
	h->type = p[0] & 0xf;
	h->flags = p[1];
	h->path = get_unaligned_be16(p + 2);
	h->dcid = get_unaligned_be32(p + 4);
	h->pseq = get_unaligned_be32(p + 8);
	h->cpn = get_unaligned_be32(p + 12);
	h->op = p[16];
	h->handle = get_unaligned_be32(p + 16) & 0xffffff;
	h->dep = p[20];
	h->msn = get_unaligned_be32(p + 20) & 0xffffff;
	h->addr = get_unaligned_be64(p + 24);
	h->rkey = get_unaligned_be32(p + 32);
	h->offset = get_unaligned_be32(p + 36);
	if (h->op >= MROCE_OP_MAX)
		return -1;
	if ((h->flags & (MROCE_F_IMM | MROCE_F_INV)) == (MROCE_F_IMM | MROCE_F_INV))
		return -1;
	h->hdr_len = mroce_wire_hdr_len(h->op, h->flags);
	if (h->hdr_len > avail || h->hdr_len > len)
		return -1;
	payload = len - h->hdr_len;
	if (payload && !op_table[h->op].payload)
		return -1;
	if (h->op == MROCE_OP_ATOMIC_RESP && payload != 8)
		return -1;
	get_ext(h, p + MROCE_DATA_LEN);
	return 0;
}

static void put_ext(const struct mroce_hdr *h, u8 *e)
{
	switch (h->op) {
	case MROCE_OP_READ:
		put_unaligned_be32(h->length, e);
		put_unaligned_be32(h->tag, e + 4);
		break;
	case MROCE_OP_FETCH_ADD:
	case MROCE_OP_CMP_SWAP:
		put_unaligned_be64(h->compare_add, e);
		put_unaligned_be64(h->swap, e + 8);
		put_unaligned_be32(h->tag, e + 16);
		break;
	case MROCE_OP_OPEN:
	case MROCE_OP_OPEN_ACK:
	case MROCE_OP_OPEN_NAK:
		put_unaligned_be32(h->src_qpn, e);
		put_unaligned_be32(h->dst_qpn, e + 4);
		put_unaligned_be32(h->incarnation, e + 8);
		put_unaligned_be32(h->src_handle, e + 12);
		e[16] = h->nak;
		memset(e + 17, 0, 3);
		break;
	case MROCE_OP_SEND:
	case MROCE_OP_WRITE:
		if (h->flags & (MROCE_F_IMM | MROCE_F_INV)) {
			memcpy(e, &h->imm, 4);
			put_unaligned_be32(h->rqn, e + 4);
		}
		break;
	}
}

unsigned int mroce_wire_put_data(struct mroce_hdr *h, u8 *buf)
{
	put_common(buf, MROCE_T_DATA, h->flags, h->path, h->dcid, h->pseq, h->cpn);
	put_unaligned_be32((u32)h->op << 24 | (h->handle & 0xffffff), buf + 16);
	put_unaligned_be32((u32)h->dep << 24 | (h->msn & 0xffffff), buf + 20);
	put_unaligned_be64(h->addr, buf + 24);
	put_unaligned_be32(h->rkey, buf + 32);
	put_unaligned_be32(h->offset, buf + 36);
	put_ext(h, buf + MROCE_DATA_LEN);
	h->hdr_len = mroce_wire_hdr_len(h->op, h->flags);
	return h->hdr_len;
}

/* Acknowledgments: MR-2.4-*. */

static void get_ack_path(struct mroce_ack_path *a, const u8 *p)
{
	int i;

	a->path = get_unaligned_be16(p);
	a->ce = get_unaligned_be16(p + 2);
	a->highest = get_unaligned_be32(p + 4);
	a->delay_us = get_unaligned_be32(p + 8) & 0xffffff;
	a->spurious = get_unaligned_be16(p + 12);
	for (i = 0; i < MROCE_BITMAP_WORDS; i++)
		a->bitmap[i] = get_unaligned_be64(p + 20 + 8 * i);
}

static void put_ack_path(const struct mroce_ack_path *a, u8 *p)
{
	int i;

	put_unaligned_be16(a->path, p);
	put_unaligned_be16(a->ce, p + 2);
	put_unaligned_be32(a->highest, p + 4);
	put_unaligned_be32(a->delay_us & 0xffffff, p + 8);
	put_unaligned_be16(a->spurious, p + 12);
	memset(p + 14, 0, 6);
	for (i = 0; i < MROCE_BITMAP_WORDS; i++)
		put_unaligned_be64(a->bitmap[i], p + 20 + 8 * i);
}

static void get_ack_refused(struct mroce_ack_refused *r, const u8 *p)
{
	r->path = get_unaligned_be16(p);
	r->count = get_unaligned_be16(p + 2);
	r->pseq = get_unaligned_be32(p + 4);
	r->nak = p[8];
	r->handle = get_unaligned_be32(p + 8) & 0xffffff;
	r->delay_us = get_unaligned_be32(p + 12) & 0xffffff;
}

static void put_ack_refused(const struct mroce_ack_refused *r, u8 *p)
{
	put_unaligned_be16(r->path, p);
	put_unaligned_be16(r->count, p + 2);
	put_unaligned_be32(r->pseq, p + 4);
	put_unaligned_be32((u32)r->nak << 24 | (r->handle & 0xffffff), p + 8);
	put_unaligned_be32(r->delay_us & 0xffffff, p + 12);
}

int mroce_wire_get_ack(struct mroce_ack *a, const u8 *p, size_t len)
{
	const u8 *q = p + MROCE_ACK_LEN;
	int i;

	if (len < MROCE_ACK_LEN)
		return -1;
	a->dcid = get_unaligned_be32(p + 4);
	a->serial = get_unaligned_be32(p + 8);
	a->cpn_base = get_unaligned_be32(p + 12);
	a->hint = get_unaligned_be32(p + 16);
	a->npaths = p[20];
	a->nstreams = p[21];
	a->nrefused = p[22];
	if (a->npaths > MROCE_ACK_MAX_PATHS || a->nstreams > MROCE_ACK_MAX_STREAMS ||
	    a->nrefused > MROCE_ACK_MAX_REFUSED)
		return -1;
	if (len < MROCE_ACK_LEN + (size_t)a->npaths * MROCE_ACK_PATH_LEN +
		  (size_t)a->nstreams * MROCE_ACK_STREAM_LEN +
		  (size_t)a->nrefused * MROCE_ACK_REFUSED_LEN)
		return -1;
	for (i = 0; i < a->npaths; i++, q += MROCE_ACK_PATH_LEN)
		get_ack_path(&a->paths[i], q);
	for (i = 0; i < a->nstreams; i++, q += MROCE_ACK_STREAM_LEN) {
		a->streams[i].nak = q[0];
		a->streams[i].handle = get_unaligned_be32(q) & 0xffffff;
		a->streams[i].msn = get_unaligned_be32(q + 4) & 0xffffff;
	}
	for (i = 0; i < a->nrefused; i++, q += MROCE_ACK_REFUSED_LEN)
		get_ack_refused(&a->refused[i], q);
	return 0;
}

unsigned int mroce_wire_put_ack(const struct mroce_ack *a, u8 *buf)
{
	u8 *q = buf + MROCE_ACK_LEN;
	int i;

	put_common(buf, MROCE_T_ACK, 0, 0, a->dcid, a->serial, a->cpn_base);
	put_unaligned_be32(a->hint, buf + 16);
	buf[20] = a->npaths;
	buf[21] = a->nstreams;
	buf[22] = a->nrefused;
	buf[23] = 0;
	for (i = 0; i < a->npaths; i++, q += MROCE_ACK_PATH_LEN)
		put_ack_path(&a->paths[i], q);
	for (i = 0; i < a->nstreams; i++, q += MROCE_ACK_STREAM_LEN) {
		put_unaligned_be32((u32)a->streams[i].nak << 24 |
				   (a->streams[i].handle & 0xffffff), q);
		put_unaligned_be32(a->streams[i].msn & 0xffffff, q + 4);
	}
	for (i = 0; i < a->nrefused; i++, q += MROCE_ACK_REFUSED_LEN)
		put_ack_refused(&a->refused[i], q);
	return q - buf;
}

/* Handshake: MR-2.5-*. */

int mroce_wire_get_hello(struct mroce_hello *m, const u8 *p, size_t len)
{
	if (len < MROCE_HELLO_LEN)
		return -1;
	m->type = p[0] & 0xf;
	m->reason = p[1];
	m->dscp = p[2];
	m->dcid = get_unaligned_be32(p + 4);
	m->scid = get_unaligned_be32(p + 8);
	m->epoch = get_unaligned_be32(p + 12);
	m->device_id = get_unaligned_be64(p + 16);
	m->cookie = get_unaligned_be64(p + 24);
	m->caps = get_unaligned_be32(p + 32);
	m->window = get_unaligned_be32(p + 36);
	m->max_paths = get_unaligned_be16(p + 40);
	m->mtu = get_unaligned_be16(p + 42);
	m->version_min = p[44];
	m->version_max = p[45];
	memcpy(m->src_gid, p + 48, 16);
	memcpy(m->dst_gid, p + 64, 16);
	return 0;
}

unsigned int mroce_wire_put_hello(const struct mroce_hello *m, u8 *buf)
{
	memset(buf, 0, MROCE_HELLO_LEN);
	put_common(buf, m->type, m->reason, (u16)m->dscp << 8, m->dcid, m->scid, m->epoch);
	put_unaligned_be64(m->device_id, buf + 16);
	put_unaligned_be64(m->cookie, buf + 24);
	put_unaligned_be32(m->caps, buf + 32);
	put_unaligned_be32(m->window, buf + 36);
	put_unaligned_be16(m->max_paths, buf + 40);
	put_unaligned_be16(m->mtu, buf + 42);
	buf[44] = m->version_min;
	buf[45] = m->version_max;
	memcpy(buf + 48, m->src_gid, 16);
	memcpy(buf + 64, m->dst_gid, 16);
	return MROCE_HELLO_LEN;
}

/* Datagrams: MR-2.6-*. */

int mroce_wire_get_dgram(struct mroce_dgram *d, const u8 *p, size_t len)
{
	if (len < MROCE_DGRAM_LEN)
		return -1;
	d->flags = p[1];
	d->pkey_index = get_unaligned_be16(p + 2);
	d->dst_qpn = get_unaligned_be32(p + 4) & 0xffffff;
	d->src_qpn = get_unaligned_be32(p + 8) & 0xffffff;
	d->qkey = get_unaligned_be32(p + 12);
	memcpy(&d->imm, p + 16, 4);
	d->length = get_unaligned_be16(p + 20);
	if (d->length != len - MROCE_DGRAM_LEN)
		return -1;
	return 0;
}

unsigned int mroce_wire_put_dgram(const struct mroce_dgram *d, u8 *buf)
{
	memset(buf, 0, MROCE_DGRAM_LEN);
	put_common(buf, MROCE_T_DATAGRAM, d->flags, d->pkey_index, d->dst_qpn, d->src_qpn,
		   d->qkey);
	memcpy(buf + 16, &d->imm, 4);
	put_unaligned_be16(d->length, buf + 20);
	return MROCE_DGRAM_LEN;
}

unsigned int mroce_wire_put_bare(u8 type, u32 dcid, u32 scid, u8 *buf)
{
	put_common(buf, type, 0, 0, dcid, scid, 0);
	return MROCE_COMMON_LEN;
}

u32 mroce_wire_bare_scid(const u8 *p)
{
	return get_unaligned_be32(p + 8);
}

int mroce_wire_get_planes(struct mroce_planes *m, const u8 *p, size_t len)
{
	u16 count = get_unaligned_be16(p + 2);
	u32 seen = 0, i;

	if (!count || count > MROCE_MAX_PLANES ||
	    len < (size_t)MROCE_COMMON_LEN + count * MROCE_PLANE_LEN)
		return -1;
	m->dcid = get_unaligned_be32(p + 4);
	m->scid = get_unaligned_be32(p + 8);
	m->serial = get_unaligned_be32(p + 12);
	m->count = count;
	for (i = 0; i < count; i++) {
		const u8 *q = p + MROCE_COMMON_LEN + i * MROCE_PLANE_LEN;

		/* each once: MR-2.8-02 */
		if (q[0] >= MROCE_MAX_PLANES || seen >> q[0] & 1)
			return -1;
		seen |= 1U << q[0];
		m->plane[i].index = q[0];
		m->plane[i].up = q[1] & 1;
		memcpy(m->plane[i].gid, q + 4, sizeof(m->plane[i].gid));
	}
	return 0;
}

unsigned int mroce_wire_put_planes(const struct mroce_planes *m, u8 *buf)
{
	u32 i;

	put_common(buf, MROCE_T_PLANES, 0, m->count, m->dcid, m->scid, m->serial);
	for (i = 0; i < m->count; i++) {
		u8 *q = buf + MROCE_COMMON_LEN + i * MROCE_PLANE_LEN;

		q[0] = m->plane[i].index;
		q[1] = m->plane[i].up;
		put_unaligned_be16(0, q + 2);
		memcpy(q + 4, m->plane[i].gid, sizeof(m->plane[i].gid));
	}
	return MROCE_COMMON_LEN + m->count * MROCE_PLANE_LEN;
}

unsigned int mroce_wire_put_planes_ack(u32 dcid, u32 scid, u32 serial, u8 *buf)
{
	put_common(buf, MROCE_T_PLANES_ACK, 0, 0, dcid, scid, serial);
	return MROCE_COMMON_LEN;
}

u32 mroce_wire_planes_serial(const u8 *p)
{
	return get_unaligned_be32(p + 12);
}

int mroce_wire_get_probe(struct mroce_probe *m, const u8 *p, size_t len)
{
	if (len < MROCE_PROBE_LEN)
		return -1;
	m->dcid = get_unaligned_be32(p + 4);
	m->scid = get_unaligned_be32(p + 8);
	m->nonce = get_unaligned_be64(p + 16);
	return 0;
}

unsigned int mroce_wire_put_probe(u8 type, const struct mroce_probe *m, u8 *buf)
{
	put_common(buf, type, 0, 0, m->dcid, m->scid, 0);
	put_unaligned_be64(m->nonce, buf + 16);
	return MROCE_PROBE_LEN;
}
