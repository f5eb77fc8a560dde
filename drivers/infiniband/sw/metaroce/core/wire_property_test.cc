// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Properties of the codec that hold for any bytes and for any fields. */
#include <random>

#include "wire_test.h"

namespace wire_test {
namespace {

/* A fixed seed: a failure comes again. */
std::mt19937_64 rng(0x6d726f6365);

u64 bits(unsigned int n)
{
	return rng() >> (64 - n);
}

Bytes random_bytes(size_t len)
{
	Bytes b(len);

	for (auto &c : b)
		c = rng();
	return b;
}

std::vector<Bytes> all_vectors()
{
	std::vector<Bytes> out;

	for (const char *file : {"data.json", "ack.json", "handshake.json", "datagram.json",
				 "bare.json", "planes.json", "malformed.json"})
		for (const auto &v : load(file))
			out.push_back(vector_bytes(v));
	return out;
}

/* No bytes make the codec read beyond them; every parser sees all of them. */
TEST(WireProperty, RandomBytes)
{
	auto ack = std::make_unique<mroce_ack>();
	mroce_hello m;
	mroce_dgram d;
	mroce_hdr h;

	for (int i = 0; i < 200000; i++) {
		Bytes b = random_bytes(rng() % (i % 10 ? 128 : 1300));

		if (!b.empty())	/* most get past the first look */
			b[0] = i % 16 ? 0x10 | rng() % MROCE_T_MAX : b[0];
		if (b.size() > 16)
			b[16] = i % 8 ? rng() % MROCE_OP_MAX : b[16];
		if (b.size() > 22 && i % 4) {
			b[20] = rng() % 10;
			b[21] = rng() % 50;
			b[22] = rng() % 18;
		}
		Exact e(b);

		parse(e.p(), e.len());
		mroce_wire_get_data(&h, e.p(), e.len(), e.len());
		mroce_wire_get_ack(ack.get(), e.p(), e.len());
		mroce_wire_get_hello(&m, e.p(), e.len());
		mroce_wire_get_dgram(&d, e.p(), e.len());
	}
}

/* The same of vectors with a few bits changed, then cut or extended. */
TEST(WireProperty, DamagedVectors)
{
	auto vectors = all_vectors();

	for (int i = 0; i < 100000; i++) {
		Bytes b = vectors[rng() % vectors.size()];

		for (int k = rng() % 4; k && !b.empty(); k--)
			b[rng() % b.size()] ^= 1 << rng() % 8;
		b.resize(rng() % 3 ? b.size() : rng() % (b.size() + 40));
		Exact e(b);

		parse(e.p(), e.len());
	}
}

/* MR-2.3-05: the header may be the only linear part of a packet. */
TEST(WireProperty, DataHeaderNeedsOnlyItself)
{
	for (const auto &v : load("data.json")) {
		SCOPED_TRACE(v.at("name").get<std::string>());
		Bytes whole = vector_bytes(v);
		mroce_hdr want, got;

		ASSERT_EQ(mroce_wire_get_data(&want, whole.data(), whole.size(), whole.size()), 0);
		Exact header(Bytes(whole.begin(), whole.begin() + want.hdr_len));

		ASSERT_EQ(mroce_wire_get_data(&got, header.p(), header.len(), whole.size()), 0);
		same(got, want);
	}
}

/* Every vector, cut anywhere in its header, is refused. */
TEST(WireProperty, CutHeadersAreRejected)
{
	for (const char *file : {"data.json", "ack.json", "handshake.json", "datagram.json",
				 "bare.json"}) {
		for (const auto &v : load(file)) {
			SCOPED_TRACE(v.at("name").get<std::string>());
			Bytes b = vector_bytes(v);
			size_t need = b.size();
			int type = type_of(v.at("type"));
			mroce_hdr h;

			if (type == MROCE_T_DATA) {
				ASSERT_EQ(mroce_wire_get_data(&h, b.data(), need, need), 0);
				need = h.hdr_len;
			} else if (type >= MROCE_T_HELLO && type <= MROCE_T_REJECT) {
				need = MROCE_HELLO_LEN;
			}
			for (size_t len = 0; len < need; len++) {
				Exact e(Bytes(b.begin(), b.begin() + len));

				EXPECT_FALSE(parse(e.p(), e.len())) << len << " bytes";
			}
		}
	}
}

mroce_hdr random_hdr()
{
	mroce_hdr h = {};

	h.type = MROCE_T_DATA;
	h.op = rng() % MROCE_OP_MAX;
	h.flags = bits(6);
	if (h.flags & MROCE_F_IMM)
		h.flags &= ~MROCE_F_INV;
	h.path = rng();
	h.dcid = rng();
	h.pseq = rng();
	h.cpn = rng();
	h.dep = rng();
	h.handle = bits(24);
	h.msn = bits(24);
	h.offset = rng();
	h.addr = rng();
	h.rkey = rng();
	h.hdr_len = mroce_wire_hdr_len(h.op, h.flags);
	switch (h.op) {
	case MROCE_OP_SEND:
	case MROCE_OP_WRITE:
		h.rqn = h.addr;
		if (h.flags & (MROCE_F_IMM | MROCE_F_INV)) {
			h.imm = rng();
			h.rqn = rng();
		}
		break;
	case MROCE_OP_READ:
		h.length = rng();
		h.tag = rng();
		break;
	case MROCE_OP_FETCH_ADD:
	case MROCE_OP_CMP_SWAP:
		h.compare_add = rng();
		h.swap = rng();
		h.tag = rng();
		break;
	case MROCE_OP_OPEN:
	case MROCE_OP_OPEN_ACK:
	case MROCE_OP_OPEN_NAK:
		h.src_qpn = bits(24);
		h.dst_qpn = bits(24);
		h.incarnation = rng();
		h.src_handle = bits(24);
		h.nak = rng();
		break;
	}
	return h;
}

TEST(WireProperty, DataRoundTrip)
{
	for (int i = 0; i < 50000; i++) {
		mroce_hdr h = random_hdr(), got;
		Bytes b(h.hdr_len + (h.op == MROCE_OP_ATOMIC_RESP ? 8 : 0));
		u8 buf[MROCE_MAX_HDR_LEN];

		ASSERT_EQ(mroce_wire_put_data(&h, buf), h.hdr_len);
		std::copy(buf, buf + h.hdr_len, b.begin());
		Exact e(b);
		ASSERT_EQ(mroce_wire_get_data(&got, e.p(), e.len(), e.len()), 0);
		same(got, h);
		ASSERT_FALSE(HasFailure()) << to_hex(e.p(), e.len());
	}
}

TEST(WireProperty, AckRoundTrip)
{
	for (int i = 0; i < 5000; i++) {
		mroce_ack a = {}, got;
		u8 buf[MROCE_ACK_MAX_LEN];

		a.dcid = rng();
		a.serial = rng();
		a.cpn_base = rng();
		a.hint = rng();
		a.npaths = rng() % (MROCE_ACK_MAX_PATHS + 1);
		a.nstreams = rng() % (MROCE_ACK_MAX_STREAMS + 1);
		a.nrefused = rng() % (MROCE_ACK_MAX_REFUSED + 1);
		for (int k = 0; k < a.npaths; k++)
			a.paths[k] = {u16(rng()), u16(rng()), u32(rng()), u32(bits(24)),
				      u16(rng()), {rng(), rng(), rng(), rng()}};
		for (int k = 0; k < a.nstreams; k++)
			a.streams[k] = {u32(bits(24)), u8(rng()), u32(bits(24))};
		for (int k = 0; k < a.nrefused; k++)
			a.refused[k] = {u16(rng()),	u16(rng()), u32(rng()),
					u32(bits(24)),	u8(rng()),  u32(bits(24))};
		size_t len = mroce_wire_put_ack(&a, buf);
		Exact e(Bytes(buf, buf + len));
		ASSERT_EQ(mroce_wire_get_ack(&got, e.p(), e.len()), 0);
		same(got, a);
		ASSERT_FALSE(HasFailure()) << to_hex(e.p(), e.len());
	}
}

TEST(WireProperty, HelloAndDatagramRoundTrip)
{
	for (int i = 0; i < 20000; i++) {
		mroce_hello m = {}, gm;
		mroce_dgram d = {}, gd;
		u8 buf[MROCE_HELLO_LEN];

		m.type = MROCE_T_HELLO + rng() % 4;
		m.version_min = rng();
		m.version_max = rng();
		m.dscp = rng();
		m.reason = rng();
		m.dcid = rng();
		m.scid = rng();
		m.epoch = rng();
		m.device_id = rng();
		m.cookie = rng();
		m.caps = rng();
		m.window = rng();
		m.max_paths = rng();
		m.mtu = rng();
		for (int k = 0; k < 16; k++) {
			m.src_gid[k] = rng();
			m.dst_gid[k] = rng();
		}
		Exact e(Bytes(buf, buf + mroce_wire_put_hello(&m, buf)));
		ASSERT_EQ(mroce_wire_get_hello(&gm, e.p(), e.len()), 0);
		same(gm, m);

		d.flags = rng();
		d.src_qpn = bits(24);
		d.dst_qpn = bits(24);
		d.qkey = rng();
		d.imm = rng();
		d.pkey_index = rng();
		d.length = rng() % 256;
		Bytes b(MROCE_DGRAM_LEN + d.length);
		mroce_wire_put_dgram(&d, b.data());
		Exact f(b);
		ASSERT_EQ(mroce_wire_get_dgram(&gd, f.p(), f.len()), 0);
		same(gd, d);
		ASSERT_FALSE(HasFailure());
	}
}

/* Whatever is taken, taken apart and put together again, means the same. */
TEST(WireProperty, TakenBytesSurviveAnotherRound)
{
	for (int i = 0; i < 50000; i++) {
		Bytes b = random_bytes(MROCE_MAX_HDR_LEN + 8);
		mroce_hdr h, again;
		u8 buf[MROCE_MAX_HDR_LEN];

		b[0] = 0x10;
		b[16] = rng() % MROCE_OP_MAX;
		if (mroce_wire_get_data(&h, b.data(), b.size(), b.size()))
			continue;
		ASSERT_EQ(mroce_wire_put_data(&h, buf), h.hdr_len);
		ASSERT_EQ(mroce_wire_get_data(&again, buf, h.hdr_len, b.size()), 0);
		same(again, h);
		ASSERT_FALSE(HasFailure()) << to_hex(b.data(), b.size());
	}
}

} // namespace
} // namespace wire_test
