// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The codec against the vectors of Documentation/spec/vectors, which the
 * specification quotes: bytes -> fields, fields -> bytes, and what must be rejected.
 */
#include "wire_test.h"

namespace wire_test {
namespace {

/* ------------------------------------------------------- one vector, both ways */

void check_data(const json &v, const Exact &e, const Bytes &bytes)
{
	mroce_hdr want = data_of(v.at("fields")), got, put = want;
	u8 buf[MROCE_MAX_HDR_LEN];

	ASSERT_EQ(mroce_wire_get_data(&got, e.p(), e.len(), e.len()), 0);
	same(got, want);
	EXPECT_EQ(mroce_wire_dcid(e.p()), want.dcid);
	EXPECT_EQ(mroce_wire_put_data(&put, buf), want.hdr_len);
	EXPECT_EQ(put.hdr_len, want.hdr_len);
	same_bytes(buf, want.hdr_len, bytes);
}

void check_ack(const json &v, const Exact &e, const Bytes &bytes)
{
	mroce_ack want = ack_of(v.at("fields")), got;
	u8 buf[MROCE_ACK_MAX_LEN];

	ASSERT_EQ(mroce_wire_get_ack(&got, e.p(), e.len()), 0);
	same(got, want);
	ASSERT_EQ(mroce_wire_put_ack(&want, buf), bytes.size());
	same_bytes(buf, bytes.size(), bytes);
}

void check_hello(const json &v, int type, const Exact &e, const Bytes &bytes)
{
	mroce_hello want = hello_of(v.at("fields"), type), got;
	u8 buf[MROCE_HELLO_LEN];

	ASSERT_EQ(mroce_wire_get_hello(&got, e.p(), e.len()), 0);
	same(got, want);
	EXPECT_EQ(mroce_wire_put_hello(&want, buf), unsigned(MROCE_HELLO_LEN));
	same_bytes(buf, sizeof(buf), bytes);
}

void check_dgram(const json &v, const Exact &e, const Bytes &bytes)
{
	mroce_dgram want = dgram_of(v.at("fields")), got;
	u8 buf[MROCE_DGRAM_LEN];

	ASSERT_EQ(mroce_wire_get_dgram(&got, e.p(), e.len()), 0);
	same(got, want);
	EXPECT_EQ(mroce_wire_put_dgram(&want, buf), unsigned(MROCE_DGRAM_LEN));
	same_bytes(buf, sizeof(buf), bytes);
}

void check_bare(const json &v, int type, const Exact &e, const Bytes &bytes)
{
	u32 dcid = number(v.at("fields"), "dcid"), scid = number(v.at("fields"), "scid");
	u8 buf[MROCE_COMMON_LEN];

	EXPECT_EQ(mroce_wire_dcid(e.p()), dcid);
	EXPECT_EQ(mroce_wire_bare_scid(e.p()), scid);
	ASSERT_EQ(mroce_wire_put_bare(type, dcid, scid, buf), bytes.size());
	same_bytes(buf, sizeof(buf), bytes);
}

void check_planes(const json &v, const Exact &e, const Bytes &bytes)
{
	const json &f = v.at("fields");
	u8 buf[MROCE_PLANES_MAX_LEN];
	mroce_planes m;
	u32 i = 0;

	ASSERT_EQ(mroce_wire_get_planes(&m, e.p(), e.len()), 0);
	EXPECT_EQ(m.dcid, number(f, "dcid"));
	EXPECT_EQ(m.scid, number(f, "scid"));
	EXPECT_EQ(m.serial, number(f, "serial"));
	ASSERT_EQ(m.count, f.at("planes").size());
	for (const json &plane : f.at("planes")) {
		EXPECT_EQ(m.plane[i].index, number(plane, "index"));
		EXPECT_EQ(m.plane[i].up, plane.at("up").get<bool>());
		EXPECT_EQ(to_hex(m.plane[i].gid, 16), plane.at("gid").get<std::string>());
		i++;
	}
	ASSERT_EQ(mroce_wire_put_planes(&m, buf), bytes.size());
	same_bytes(buf, bytes.size(), bytes);
}

void check_planes_ack(const json &v, const Exact &e, const Bytes &bytes)
{
	const json &f = v.at("fields");
	u8 buf[MROCE_COMMON_LEN];

	EXPECT_EQ(mroce_wire_dcid(e.p()), number(f, "dcid"));
	EXPECT_EQ(mroce_wire_bare_scid(e.p()), number(f, "scid"));
	EXPECT_EQ(mroce_wire_planes_serial(e.p()), number(f, "serial"));
	ASSERT_EQ(mroce_wire_put_planes_ack(number(f, "dcid"), number(f, "scid"),
					    number(f, "serial"), buf), bytes.size());
	same_bytes(buf, bytes.size(), bytes);
}

void check_probe(const json &v, int type, const Exact &e, const Bytes &bytes)
{
	const json &f = v.at("fields");
	u8 buf[MROCE_PROBE_LEN];
	mroce_probe m;

	ASSERT_EQ(mroce_wire_get_probe(&m, e.p(), e.len()), 0);
	EXPECT_EQ(m.dcid, number(f, "dcid"));
	EXPECT_EQ(m.scid, number(f, "scid"));
	EXPECT_EQ(m.nonce, number(f, "nonce"));
	ASSERT_EQ(mroce_wire_put_probe(type, &m, buf), bytes.size());
	same_bytes(buf, bytes.size(), bytes);
}

void check_vector(const json &v)
{
	SCOPED_TRACE(v.at("name").get<std::string>());
	Bytes bytes = vector_bytes(v);
	Exact e(bytes);
	int type = type_of(v.at("type"));

	ASSERT_EQ(mroce_wire_type(e.p(), e.len()), type);
	switch (type) {
	case MROCE_T_DATA:
		return check_data(v, e, bytes);
	case MROCE_T_ACK:
		return check_ack(v, e, bytes);
	case MROCE_T_DATAGRAM:
		return check_dgram(v, e, bytes);
	case MROCE_T_UNKNOWN_CONN:
	case MROCE_T_CLOSE:
		return check_bare(v, type, e, bytes);
	case MROCE_T_PLANES:
		return check_planes(v, e, bytes);
	case MROCE_T_PLANES_ACK:
		return check_planes_ack(v, e, bytes);
	case MROCE_T_PROBE:
	case MROCE_T_PROBE_REPLY:
		return check_probe(v, type, e, bytes);
	default:
		return check_hello(v, type, e, bytes);
	}
}

class WireVectors : public testing::TestWithParam<const char *> {};

/* MR-2.1-01 MR-2.1-02 MR-2.3-01 MR-2.3-02 MR-2.4-01 MR-2.5-01 MR-2.6-01 MR-2.7-01 */
TEST_P(WireVectors, BothWays)
{
	json vectors = load(GetParam());

	ASSERT_FALSE(vectors.empty());
	for (const auto &v : vectors)
		check_vector(v);
}

INSTANTIATE_TEST_SUITE_P(Spec, WireVectors,
			 testing::Values("data.json", "ack.json", "handshake.json",
					 "datagram.json", "bare.json", "planes.json"));

/* MR-2.1-03 MR-2.1-04 MR-2.1-05 MR-2.3-03 .. 07 MR-2.4-06 MR-2.4-07 MR-2.5-03 MR-2.6-02 */
TEST(Wire, MalformedVectorsAreRejected)
{
	const std::map<std::string, int> first_look = {{"short", -1}, {"version", -2},
						       {"type", -3}};
	json vectors = load("malformed.json");

	ASSERT_FALSE(vectors.empty());
	for (const auto &v : vectors) {
		SCOPED_TRACE(v.at("name").get<std::string>());
		Exact e(vector_bytes(v));
		std::string reject = v.at("reject");
		int type = mroce_wire_type(e.p(), e.len());

		if (reject == "malformed") {
			EXPECT_EQ(type, type_of(v.at("parse")));
			EXPECT_FALSE(parse(e.p(), e.len()));
		} else {
			EXPECT_EQ(type, first_look.at(reject));
		}
	}
}

/* Every opcode, type and reason of refusal has a vector: a new one needs one too. */
TEST(Wire, VectorsCoverTheRegistries)
{
	std::vector<bool> ops(MROCE_OP_MAX), types(MROCE_T_MAX), naks(MROCE_NAK_MAX);
	u8 all_flags = 0;

	for (const char *file : {"data.json", "ack.json", "handshake.json", "datagram.json",
				 "bare.json", "planes.json"}) {
		for (const auto &v : load(file)) {
			const json &f = v.at("fields");

			types[type_of(v.at("type"))] = true;
			all_flags |= flags(f);
			if (f.contains("op"))
				ops[by_name(f, "op", mroce_op_name, MROCE_OP_MAX)] = true;
			for (const char *list : {"streams", "refused"})
				for (const auto &s : f.value(list, json::array()))
					naks[by_name(s, "nak", mroce_nak_name, MROCE_NAK_MAX)] =
						true;
		}
	}
	for (unsigned int i = 0; i < ops.size(); i++)
		EXPECT_TRUE(ops[i]) << "no vector for " << mroce_op_name(i);
	for (unsigned int i = 0; i < types.size(); i++)
		EXPECT_TRUE(types[i]) << "no vector for " << kTypes[i];
	for (unsigned int i = 0; i < naks.size(); i++)
		EXPECT_TRUE(naks[i]) << "no vector for " << mroce_nak_name(i);
	EXPECT_EQ(all_flags, 0x3f);
}

/* MR-2.1-01: the constants that everything is laid out by. */
TEST(Wire, HeaderLengths)
{
	EXPECT_EQ(MROCE_ACK_MAX_LEN, 1080);
	EXPECT_LE(MROCE_ACK_MAX_LEN, 1200);
	for (u8 op = 0; op < MROCE_OP_MAX; op++)
		for (unsigned int f = 0; f < 256; f++)
			EXPECT_LE(mroce_wire_hdr_len(op, f), unsigned(MROCE_MAX_HDR_LEN));
	EXPECT_EQ(mroce_wire_hdr_len(MROCE_OP_WRITE, 0), 40u);
	EXPECT_EQ(mroce_wire_hdr_len(MROCE_OP_WRITE, MROCE_F_IMM), 48u);
	EXPECT_EQ(mroce_wire_hdr_len(MROCE_OP_SEND, MROCE_F_INV), 48u);
	EXPECT_EQ(mroce_wire_hdr_len(MROCE_OP_READ, 0), 48u);
	EXPECT_EQ(mroce_wire_hdr_len(MROCE_OP_CMP_SWAP, 0), 60u);
	EXPECT_EQ(mroce_wire_hdr_len(MROCE_OP_OPEN, 0), 60u);
}

} // namespace
} // namespace wire_test
