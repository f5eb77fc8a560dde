/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The wire format: the one place that a different format (OCP's, say) would
 * change. Numbers are in network order and may be unaligned; nothing outside
 * core/wire.c reads or writes these bytes. Documentation/spec has the diagrams.
 *
 * To add an opcode: enum mroce_op, mroce_op_table[] in core/wire.c, the place where
 * it takes effect (core/stream_rx.c), Documentation/spec, a vector, a test.
 */
#ifndef _METAROCE_WIRE_H
#define _METAROCE_WIRE_H

#include <metaroce/port.h>

#define MROCE_UDP_PORT		6762
#define MROCE_WIRE_VERSION	1

/* Bytes; MR-2.1-01. */
#define MROCE_COMMON_LEN	16
#define MROCE_DATA_LEN		40
#define MROCE_EXT_IMM_LEN	8	/* immediate or key to invalidate, receive number */
#define MROCE_EXT_READ_LEN	8	/* length, tag */
#define MROCE_EXT_ATOMIC_LEN	20	/* add or compare, swap, tag */
#define MROCE_EXT_OPEN_LEN	20
#define MROCE_MAX_HDR_LEN	64
#define MROCE_DGRAM_LEN		24
#define MROCE_HELLO_LEN		96
#define MROCE_PLANE_LEN		20	/* of PLANES, for each */
#define MROCE_PROBE_LEN		24
#define MROCE_MAX_PLANES	8
#define MROCE_PLANES_MAX_LEN	(MROCE_COMMON_LEN + MROCE_MAX_PLANES * MROCE_PLANE_LEN)
#define MROCE_LINE		128	/* W1: a line is never split over packets */

/* enum mroce_type: low nibble of the first byte; the version is the high one. */
enum mroce_type {
	MROCE_T_DATA		= 0,
	MROCE_T_ACK		= 1,
	MROCE_T_HELLO		= 2,
	MROCE_T_CHALLENGE	= 3,
	MROCE_T_WELCOME		= 4,
	MROCE_T_REJECT		= 5,
	MROCE_T_UNKNOWN_CONN	= 6,
	MROCE_T_DATAGRAM	= 7,
	MROCE_T_CLOSE		= 8,
	MROCE_T_PLANES		= 9,
	MROCE_T_PLANES_ACK	= 10,
	MROCE_T_PROBE		= 11,
	MROCE_T_PROBE_REPLY	= 12,
	MROCE_T_MAX
};

/* Second byte of a data packet. */
#define MROCE_F_LAST		0x01	/* last packet of its message */
#define MROCE_F_MORE		0x02	/* the sender has more waiting */
#define MROCE_F_SOLICITED	0x04
#define MROCE_F_IMM		0x08	/* the IMM extension carries immediate data */
#define MROCE_F_INV		0x10	/* ... or a key to invalidate */
#define MROCE_F_RETX		0x20	/* not the first transmission of this packet */

enum mroce_op {
	MROCE_OP_NOP		= 0,	/* fills a path number, no connection packet number */
	MROCE_OP_VOID		= 1,	/* fills a connection packet number; with a handle
					 * it asks for that stream's state
					 */
	MROCE_OP_OPEN		= 2,	/* binds a stream */
	MROCE_OP_OPEN_ACK	= 3,
	MROCE_OP_OPEN_NAK	= 4,
	MROCE_OP_SEND		= 5,
	MROCE_OP_WRITE		= 6,
	MROCE_OP_READ		= 7,
	MROCE_OP_READ_RESP	= 8,
	MROCE_OP_FETCH_ADD	= 9,
	MROCE_OP_CMP_SWAP	= 10,
	MROCE_OP_ATOMIC_RESP	= 11,
	MROCE_OP_MAX
};

/* Status of a stream in an acknowledgment, reason of a refusal or of OPEN_NAK. */
enum mroce_nak {
	MROCE_NAK_NONE		= 0,
	MROCE_NAK_INV_REQ	= 1,	/* remote invalid request */
	MROCE_NAK_ACCESS	= 2,	/* remote access error */
	MROCE_NAK_OP		= 3,	/* remote operational error */
	MROCE_NAK_GONE		= 4,	/* the stream is in error or has ended */
	MROCE_NAK_RNR		= 5,	/* no receive posted */
	MROCE_NAK_HOLD		= 6,	/* no room to hold it out of order */
	MROCE_NAK_NOT_READY	= 7,	/* QP absent or not ready to receive yet */
	MROCE_NAK_MAX
};

/* A parsed packet header, in host order. */
struct mroce_hdr {
	u8 type;
	u8 flags;
	u16 path;
	u32 dcid;		/* the receiver's id of the connection */
	u32 pseq;		/* path sequence */
	u32 cpn;		/* connection packet number */
	/* data packets */
	u8 op;
	u8 dep;			/* distance to the last message it may overlap; 0: none */
	u32 handle;		/* the receiver's handle of the stream, 24 bits */
	u32 msn;		/* message number in the stream, 24 bits */
	u32 offset;		/* of the payload in the message */
	u64 addr;		/* WRITE, READ, atomics: remote address; SEND: receive number;
				 * *_RESP: the request's tag
				 */
	u32 rkey;
	/* extensions */
	u32 imm;		/* as the bytes lie on the wire */
	u32 rqn;		/* receive number */
	u32 length;		/* READ */
	u32 tag;		/* READ, atomics: the requester's own index */
	u64 compare_add, swap;
	/* OPEN, OPEN_ACK, OPEN_NAK */
	u32 src_qpn, dst_qpn, incarnation, src_handle;
	u8 nak;
	u8 hdr_len;		/* bytes before the payload */
};

/* Acknowledgment: path, stream and refusal blocks. Bounds keep it within 1200 bytes. */
#define MROCE_BITMAP_BITS	256
#define MROCE_BITMAP_WORDS	(MROCE_BITMAP_BITS / 64)
#define MROCE_ACK_MAX_PATHS	8
#define MROCE_ACK_MAX_STREAMS	48
#define MROCE_ACK_MAX_REFUSED	16
#define MROCE_ACK_LEN		24
#define MROCE_ACK_PATH_LEN	52
#define MROCE_ACK_STREAM_LEN	8
#define MROCE_ACK_REFUSED_LEN	16
#define MROCE_ACK_MAX_LEN	(MROCE_ACK_LEN + MROCE_ACK_MAX_PATHS * MROCE_ACK_PATH_LEN + \
				 MROCE_ACK_MAX_STREAMS * MROCE_ACK_STREAM_LEN + \
				 MROCE_ACK_MAX_REFUSED * MROCE_ACK_REFUSED_LEN)

struct mroce_ack_path {
	u16 path;
	u16 ce;			/* packets that came marked, modulo 2^16 */
	u32 highest;		/* highest path sequence seen */
	u32 delay_us;		/* since @highest arrived, 24 bits */
	u16 spurious;		/* needless retransmissions seen, modulo 2^16 */
	u64 bitmap[MROCE_BITMAP_WORDS];	/* bit i of word i / 64: @highest - i arrived */
};

struct mroce_ack_stream {
	u32 handle;		/* the handle of the receiver of the acknowledgment */
	u8 nak;
	u32 msn;		/* messages executed, low 24 bits */
};

struct mroce_ack_refused {
	u16 path;
	u16 count;		/* consecutive path sequences */
	u32 pseq;		/* the first one */
	u32 handle;
	u8 nak;
	u32 delay_us;		/* come back after, 24 bits */
};

struct mroce_ack {
	u32 dcid;
	u32 serial;		/* of acknowledgments; old ones' hint is ignored */
	u32 cpn_base;		/* everything below has arrived */
	u32 hint;		/* inbound share for this sender in KiB/s, 0: none given */
	u16 npaths, nstreams, nrefused;
	struct mroce_ack_path paths[MROCE_ACK_MAX_PATHS];
	struct mroce_ack_stream streams[MROCE_ACK_MAX_STREAMS];
	struct mroce_ack_refused refused[MROCE_ACK_MAX_REFUSED];
};

/* HELLO, CHALLENGE, WELCOME and REJECT have one layout. */
struct mroce_hello {
	u8 type;
	u8 version_min, version_max;
	u8 dscp;
	u8 reason;		/* REJECT: enum mroce_reject */
	u32 dcid;		/* HELLO: 0, or what it asks to join: MR-3.6-02 */
	u32 scid;		/* the sender's id */
	u32 epoch;
	u64 device_id;
	u64 cookie;
	u32 caps;
	u32 window;		/* packets */
	u16 max_paths;
	u16 mtu;		/* HELLO: IP MTU it is padded for; WELCOME: the agreed one */
	u8 src_gid[16];
	u8 dst_gid[16];
};

/* What its sender's planes are, all of them: MR-12.1-* */
struct mroce_planes {
	u32 dcid, scid;
	u32 serial;
	u8 count;
	struct {
		u8 index;	/* the sender's name for it */
		bool up;
		u8 gid[16];
	} plane[MROCE_MAX_PLANES];
};

/* PROBE and PROBE_REPLY: does a pair of planes let packets through? MR-12.2-* */
struct mroce_probe {
	u32 dcid, scid;
	u64 nonce;
};

enum mroce_reject {
	MROCE_REJECT_VERSION	= 1,
	MROCE_REJECT_NO_DEVICE	= 2,
	MROCE_REJECT_BUSY	= 3,
};

/* A datagram of a UD QP or of the GSI QP. */
struct mroce_dgram {
	u8 flags;		/* MROCE_F_SOLICITED, MROCE_F_IMM */
	u32 src_qpn, dst_qpn, qkey;
	u32 imm;
	u16 pkey_index;
	u16 length;		/* payload bytes */
};

#ifdef __cplusplus
extern "C" {
#endif

/**
 * mroce_wire_type - first look at a packet
 * @p: UDP payload
 * @len: its bytes
 *
 * Return: enum mroce_type, -1 too short, -2 unknown version, -3 unknown type.
 */
int mroce_wire_type(const u8 *p, size_t len);

/* The receiver's connection id; only after mroce_wire_type() >= 0. */
u32 mroce_wire_dcid(const u8 *p);

/**
 * mroce_wire_get_data - parse the header of a data packet
 * @h: result; payload begins at p + h->hdr_len
 * @p: packet
 * @avail: bytes of the header that are linear at @p (>= min(len, MROCE_MAX_HDR_LEN))
 * @len: bytes of the packet
 *
 * Return: 0 or -1 if it is malformed (MR-2.3-*).
 */
int mroce_wire_get_data(struct mroce_hdr *h, const u8 *p, size_t avail, size_t len);

/* Writes a data header. @buf has MROCE_MAX_HDR_LEN bytes. Return: h->hdr_len. */
unsigned int mroce_wire_put_data(struct mroce_hdr *h, u8 *buf);

/* Bytes of the header that an opcode with these flags has. */
unsigned int mroce_wire_hdr_len(u8 op, u8 flags);

int mroce_wire_get_ack(struct mroce_ack *a, const u8 *p, size_t len);
unsigned int mroce_wire_put_ack(const struct mroce_ack *a, u8 *buf);

int mroce_wire_get_hello(struct mroce_hello *m, const u8 *p, size_t len);
unsigned int mroce_wire_put_hello(const struct mroce_hello *m, u8 *buf);

int mroce_wire_get_dgram(struct mroce_dgram *d, const u8 *p, size_t len);
unsigned int mroce_wire_put_dgram(const struct mroce_dgram *d, u8 *buf);

int mroce_wire_get_planes(struct mroce_planes *m, const u8 *p, size_t len);
/* @buf: MROCE_PLANES_MAX_LEN bytes */
unsigned int mroce_wire_put_planes(const struct mroce_planes *m, u8 *buf);
unsigned int mroce_wire_put_planes_ack(u32 dcid, u32 scid, u32 serial, u8 *buf);
u32 mroce_wire_planes_serial(const u8 *p);

int mroce_wire_get_probe(struct mroce_probe *m, const u8 *p, size_t len);
/* @type: MROCE_T_PROBE, which the caller pads, or MROCE_T_PROBE_REPLY */
unsigned int mroce_wire_put_probe(u8 type, const struct mroce_probe *m, u8 *buf);

/* CLOSE and UNKNOWN_CONN are a bare common header: @scid is whom it is about. */
unsigned int mroce_wire_put_bare(u8 type, u32 dcid, u32 scid, u8 *buf);
u32 mroce_wire_bare_scid(const u8 *p);

#ifdef __cplusplus
}
#endif

#endif /* _METAROCE_WIRE_H */
