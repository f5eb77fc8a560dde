// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The codec in the kernel: some of Documentation/spec/vectors (the unit tests in user space take
 * them all), at every alignment, and with the end of the packet before a page that faults.
 */
#include <linux/hex.h>

#include "kunit.h"

#define WIRE_MAX	512

/* data packets, both ways */
static const struct wire_data {
	const char *name;	/* as in vectors/data.json */
	const char *bytes;
	struct mroce_hdr hdr;
} wire_data[] = {
	{
		"data-write-middle",
		"10020003c0ffee01112233440000002a0600abcd0000000700007f0012345680"
		"0000123400000280000102030405060708090a0b0c0d0e0f",
		{
			.flags = MROCE_F_MORE, .path = 3, .dcid = 0xc0ffee01, .pseq = 0x11223344,
			.cpn = 42, .op = MROCE_OP_WRITE, .handle = 0xabcd, .msn = 7,
			.addr = 0x7f0012345680, .rqn = 0x12345680, .rkey = 0x1234, .offset = 640,
			.hdr_len = 40,
		},
	}, {
		"data-read",
		"10010003c0ffee01112233440000002a0700abcd0000000700007f0012340000"
		"00001234000000000000200000000015",
		{
			.flags = MROCE_F_LAST, .path = 3, .dcid = 0xc0ffee01, .pseq = 0x11223344,
			.cpn = 42, .op = MROCE_OP_READ, .handle = 0xabcd, .msn = 7,
			.addr = 0x7f0012340000, .rkey = 0x1234, .length = 8192, .tag = 21,
			.hdr_len = 48,
		},
	}, {
		"data-cmp-swap",
		"10010003c0ffee01112233440000002a0a00abcd0000000700007f0012340010"
		"0000123400000000112233445566778899aabbccddeeff0000000017",
		{
			.flags = MROCE_F_LAST, .path = 3, .dcid = 0xc0ffee01, .pseq = 0x11223344,
			.cpn = 42, .op = MROCE_OP_CMP_SWAP, .handle = 0xabcd, .msn = 7,
			.addr = 0x7f0012340010, .rkey = 0x1234,
			.compare_add = 0x1122334455667788, .swap = 0x99aabbccddeeff00, .tag = 23,
			.hdr_len = 60,
		},
	}, {
		"data-open",
		"10000003c0ffee01112233440000002a02000000000000000000000000000000"
		"00000000000000000000001100000022deadbeef0000040100000000",
		{
			.path = 3, .dcid = 0xc0ffee01, .pseq = 0x11223344, .cpn = 42,
			.op = MROCE_OP_OPEN, .src_qpn = 17, .dst_qpn = 34,
			.incarnation = 0xdeadbeef, .src_handle = 1025, .hdr_len = 60,
		},
	}, {
		"data-maxima",
		"1027ffffffffffffffffffffffffffff08ffffffffffffffffffffffffffffff"
		"ffffffffffffffff",
		{
			.flags = MROCE_F_LAST | MROCE_F_MORE | MROCE_F_SOLICITED | MROCE_F_RETX,
			.path = 0xffff, .dcid = U32_MAX, .pseq = U32_MAX, .cpn = U32_MAX,
			.op = MROCE_OP_READ_RESP, .dep = 255, .handle = 0xffffff, .msn = 0xffffff,
			.addr = U64_MAX, .rkey = U32_MAX, .offset = U32_MAX, .hdr_len = 40,
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(wire_data, wire_data, name);

/* Other types: through the structs and back to the same bytes. */
static const struct wire_other {
	const char *name;
	u8 type;
	u16 header;		/* bytes that are written; payload may follow */
	const char *bytes;
} wire_others[] = {
	{
		"ack-all-three", MROCE_T_ACK, 100,
		"11000000c0ffee02ffffffffffffffffffffffff010101000001000000000052"
		"000000000000000000000000fffffffffffffffeffffffffffffffffffffffff"
		"ffffffffffffffffffffffff00ffffff00ffffff000100010000005207ffffff"
		"000003e8",
	}, {
		"ack-refused", MROCE_T_ACK, 56,
		"11000000c0ffee02000000050000014000000000000002000003000200000050"
		"05000401000a000000040001ffffffff0600040200000000",
	}, {
		"hello-first", MROCE_T_HELLO, 96,
		"1200000000000000c0ffee025eed000111223344556677880000000000000000"
		"0000000000001000001005dc0101000000000000000000000000ffff0a000001"
		"00000000000000000000ffff0a00000200000000000000000000000000000000",
	}, {
		"datagram-imm", MROCE_T_DATAGRAM, 24,
		"170c000000ffffff00fffffeffffffff01020304001000000001020304050607"
		"08090a0b0c0d0e0f",
	},
};

KUNIT_ARRAY_PARAM_DESC(wire_other, wire_others, name);

static const struct wire_bad {
	const char *name;	/* as in vectors/malformed.json */
	const char *bytes;
} wire_bad[] = {
	{ "bad-op-12",
	  "10000003c0ffee01112233440000002a0c00abcd000000070000000000000000"
	  "0000000100000000000102030405060708090a0b0c0d0e0f" },
	{ "bad-imm-and-inv",
	  "10190003c0ffee01112233440000002a0500abcd000000070000000000000000"
	  "00000000000000000102030400000001" },
	{ "bad-void-payload",
	  "10000003c0ffee01112233440000002a0100abcd000000070000000000000000"
	  "000000000000000000" },
	{ "bad-atomic-resp-7",
	  "10000003c0ffee01112233440000002a0b00abcd000000070000000000000001"
	  "000000000000000000000000000000" },
	{ "bad-ack-cut",
	  "1100000000000001000000010000000100000000010101000000000000000001"
	  "0000000000000000000000000000000000000001000000000000000000000000"
	  "0000000000000000000000000000000100000001000000010000000105000001"
	  "000000" },
	{ "bad-datagram-long",
	  "1700000000000001000000010000000100000000001000000001020304050607"
	  "08090a0b0c0d0e0f00" },
	{ "bad-hello-short",
	  "1200000000000000c0ffee025eed000111223344556677880000000000000000"
	  "0000000000001000001005dc0101000000000000000000000000ffff0a000001"
	  "00000000000000000000ffff0a000002000000000000000000000000000000" },
};

KUNIT_ARRAY_PARAM_DESC(wire_bad, wire_bad, name);

/* The vector's bytes, ending @gap bytes before a page that faults. */
static u8 *wire_bytes(struct kunit *test, const char *hex, u32 gap, size_t *len)
{
	u8 *mem = mroce_kunit_vmalloc(test, PAGE_SIZE);
	u8 *p;

	KUNIT_ASSERT_EQ(test, strlen(hex) % 2, 0);
	*len = strlen(hex) / 2;
	KUNIT_ASSERT_LE(test, *len, WIRE_MAX);
	p = mem + PAGE_SIZE - gap - *len;
	KUNIT_ASSERT_EQ(test, 0, hex2bin(p, hex, *len));
	return p;
}

static int wire_get(const u8 *p, size_t len, void *scratch)
{
	switch (mroce_wire_type(p, len)) {
	case MROCE_T_DATA:
		return mroce_wire_get_data(scratch, p, min_t(size_t, len, MROCE_MAX_HDR_LEN), len);
	case MROCE_T_ACK:
		return mroce_wire_get_ack(scratch, p, len);
	case MROCE_T_DATAGRAM:
		return mroce_wire_get_dgram(scratch, p, len);
	case MROCE_T_HELLO:
		return mroce_wire_get_hello(scratch, p, len);
	default:
		return -1;
	}
}

static unsigned int wire_put(u8 type, const void *fields, u8 *buf)
{
	switch (type) {
	case MROCE_T_ACK:
		return mroce_wire_put_ack(fields, buf);
	case MROCE_T_DATAGRAM:
		return mroce_wire_put_dgram(fields, buf);
	default:
		return mroce_wire_put_hello(fields, buf);
	}
}

static void wire_data_both_ways(struct kunit *test)
{
	const struct wire_data *v = test->param_value;
	struct mroce_hdr got, put;
	u8 buf[MROCE_MAX_HDR_LEN + 8];
	size_t len;
	u32 gap;
	u8 *p;

	for (gap = 0; gap < 8; gap++) {
		p = wire_bytes(test, v->bytes, gap, &len);
		KUNIT_ASSERT_EQ(test, mroce_wire_type(p, len), MROCE_T_DATA);
		KUNIT_EXPECT_EQ(test, mroce_wire_dcid(p), v->hdr.dcid);
		KUNIT_ASSERT_EQ(test, wire_get(p, len, &got), 0);
		KUNIT_EXPECT_MEMEQ(test, &got, &v->hdr, sizeof(got));
		put = v->hdr;
		KUNIT_EXPECT_EQ(test, mroce_wire_put_data(&put, buf + gap), v->hdr.hdr_len);
		KUNIT_EXPECT_MEMEQ(test, buf + gap, p, v->hdr.hdr_len);
	}
}

static void wire_other_both_ways(struct kunit *test)
{
	const struct wire_other *v = test->param_value;
	void *fields = kunit_kzalloc(test, sizeof(struct mroce_ack), GFP_KERNEL);
	u8 *buf = kunit_kzalloc(test, MROCE_ACK_MAX_LEN + 8, GFP_KERNEL);
	size_t len;
	u32 gap;
	u8 *p;

	KUNIT_ASSERT_NOT_NULL(test, fields);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (gap = 0; gap < 8; gap++) {
		p = wire_bytes(test, v->bytes, gap, &len);
		KUNIT_ASSERT_EQ(test, mroce_wire_type(p, len), v->type);
		KUNIT_ASSERT_EQ(test, wire_get(p, len, fields), 0);
		KUNIT_ASSERT_EQ(test, wire_put(v->type, fields, buf + gap), v->header);
		KUNIT_EXPECT_MEMEQ(test, buf + gap, p, v->header);
	}
}

/* Cut anywhere in its header it is refused, and nothing behind its end is looked at. */
static void wire_cut(struct kunit *test, const char *hex, size_t header)
{
	void *scratch = kunit_kzalloc(test, sizeof(struct mroce_ack), GFP_KERNEL);
	u8 *mem = mroce_kunit_vmalloc(test, PAGE_SIZE);
	size_t len, cut;
	u8 *p;

	KUNIT_ASSERT_NOT_NULL(test, scratch);
	p = wire_bytes(test, hex, 0, &len);
	for (cut = 0; cut < header; cut++) {
		memcpy(mem + PAGE_SIZE - cut, p, cut);
		KUNIT_EXPECT_NE_MSG(test, wire_get(mem + PAGE_SIZE - cut, cut, scratch), 0,
				    "%zu of %zu bytes", cut, len);
	}
}

static void wire_data_cut(struct kunit *test)
{
	const struct wire_data *v = test->param_value;

	wire_cut(test, v->bytes, v->hdr.hdr_len);
}

static void wire_other_cut(struct kunit *test)
{
	const struct wire_other *v = test->param_value;

	wire_cut(test, v->bytes, v->header);
}

static void wire_malformed(struct kunit *test)
{
	const struct wire_bad *v = test->param_value;
	void *scratch = kunit_kzalloc(test, sizeof(struct mroce_ack), GFP_KERNEL);
	size_t len;
	u32 gap;
	u8 *p;

	KUNIT_ASSERT_NOT_NULL(test, scratch);
	for (gap = 0; gap < 8; gap++) {
		p = wire_bytes(test, v->bytes, gap, &len);
		KUNIT_EXPECT_GE(test, mroce_wire_type(p, len), 0);
		KUNIT_EXPECT_NE(test, wire_get(p, len, scratch), 0);
	}
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE_PARAM(wire_data_both_ways, wire_data_gen_params),
	KUNIT_CASE_PARAM(wire_other_both_ways, wire_other_gen_params),
	KUNIT_CASE_PARAM(wire_data_cut, wire_data_gen_params),
	KUNIT_CASE_PARAM(wire_other_cut, wire_other_gen_params),
	KUNIT_CASE_PARAM(wire_malformed, wire_bad_gen_params),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "metaroce_wire",
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
