/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tests of the codec share: the vectors of Documentation/spec/vectors as
 * bytes and as structs, and comparing. Every packet lies in a heap block of exactly
 * its length, so AddressSanitizer sees a read beyond it.
 */
#ifndef _MROCE_CORE_WIRE_TEST_H
#define _MROCE_CORE_WIRE_TEST_H

#include <gtest/gtest.h>
#include <metaroce/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace wire_test {
using nlohmann::json;
using Bytes = std::vector<u8>;

/* A copy of exactly size() bytes: std::vector may own more than it uses. */
class Exact {
 public:
	explicit Exact(const Bytes &b) : len_(b.size()), p_(new u8[b.size()])
	{
		std::copy(b.begin(), b.end(), p_.get());
	}
	const u8 *p() const { return p_.get(); }
	size_t len() const { return len_; }

 private:
	size_t len_;
	std::unique_ptr<u8[]> p_;
};

/* ------------------------------------------------------------ reading vectors */

inline const std::filesystem::path kVectors =
	std::filesystem::absolute(__FILE__).parent_path() /
	"../../../../../Documentation/spec/vectors";

inline json load(const std::string &file)
{
	std::ifstream in(kVectors / file);

	if (!in)
		throw std::runtime_error("cannot read " + (kVectors / file).string());
	return json::parse(in).at("vectors");
}

inline Bytes from_hex(const std::string &text)
{
	Bytes out;
	std::string digits;

	for (char c : text)
		if (c != ' ')
			digits += c;
	if (digits.size() % 2)
		throw std::runtime_error("odd number of digits: " + text);
	for (size_t i = 0; i < digits.size(); i += 2)
		out.push_back(std::stoul(digits.substr(i, 2), nullptr, 16));
	return out;
}

inline Bytes vector_bytes(const json &v)
{
	Bytes out;

	for (const auto &line : v.at("bytes")) {
		Bytes b = from_hex(line);

		out.insert(out.end(), b.begin(), b.end());
	}
	return out;
}

inline std::string to_hex(const u8 *p, size_t len)
{
	std::ostringstream s;

	for (size_t i = 0; i < len; i++)
		s << std::hex << std::setw(2) << std::setfill('0') << unsigned(p[i]);
	return s.str();
}

/* Numbers are JSON numbers, or "0x..." where that reads better or exceeds 2^53. */
inline u64 number(const json &f, const char *key)
{
	if (!f.contains(key))
		return 0;
	const json &v = f.at(key);

	return v.is_string() ? std::stoull(v.get<std::string>(), nullptr, 16) : v.get<u64>();
}

inline u8 by_name(const json &f, const char *key, const char *(*name)(u8), unsigned int count)
{
	std::string want = f.at(key);

	for (unsigned int i = 0; i < count; i++)
		if (want == name(i))
			return i;
	throw std::runtime_error(std::string(key) + ": unknown name " + want);
}

inline const std::vector<std::pair<std::string, u8>> kFlags = {
	{"LAST", MROCE_F_LAST}, {"MORE", MROCE_F_MORE}, {"SOLICITED", MROCE_F_SOLICITED},
	{"IMM", MROCE_F_IMM},	{"INV", MROCE_F_INV},	{"RETX", MROCE_F_RETX},
};

inline u8 flags(const json &f)
{
	u8 out = 0;

	for (const std::string want : f.value("flags", json::array())) {
		auto it = std::find_if(kFlags.begin(), kFlags.end(),
				       [&](const auto &e) { return e.first == want; });

		if (it == kFlags.end())
			throw std::runtime_error("unknown flag " + want);
		out |= it->second;
	}
	return out;
}

inline const std::vector<std::string> kTypes = {"DATA",   "ACK",	   "HELLO",    "CHALLENGE", "WELCOME",
					 "REJECT", "UNKNOWN_CONN", "DATAGRAM", "CLOSE",
					 "PLANES", "PLANES_ACK",   "PROBE",    "PROBE_REPLY"};
static_assert(MROCE_T_MAX == 13);

inline int type_of(const std::string &name)
{
	auto it = std::find(kTypes.begin(), kTypes.end(), name);

	if (it == kTypes.end())
		throw std::runtime_error("unknown type " + name);
	return it - kTypes.begin();
}

inline void four(const json &f, const char *key, u32 *to)
{
	Bytes b = from_hex(f.value(key, "00000000"));

	memcpy(to, b.data(), 4);
}

/* ---------------------------------------------------- fields of a vector -> struct */

inline mroce_hdr data_of(const json &f)
{
	mroce_hdr h = {};

	h.type = MROCE_T_DATA;
	h.flags = flags(f);
	h.op = by_name(f, "op", mroce_op_name, MROCE_OP_MAX);
	h.path = number(f, "path");
	h.dcid = number(f, "dcid");
	h.pseq = number(f, "pseq");
	h.cpn = number(f, "cpn");
	h.handle = number(f, "handle");
	h.dep = number(f, "dep");
	h.msn = number(f, "msn");
	h.addr = number(f, "addr");
	h.rkey = number(f, "rkey");
	h.offset = number(f, "offset");
	four(f, "imm", &h.imm);
	h.rqn = number(f, "rqn");
	h.length = number(f, "length");
	h.tag = number(f, "tag");
	h.compare_add = number(f, "compare_add");
	h.swap = number(f, "swap");
	h.src_qpn = number(f, "src_qpn");
	h.dst_qpn = number(f, "dst_qpn");
	h.incarnation = number(f, "incarnation");
	h.src_handle = number(f, "src_handle");
	if (f.contains("nak"))
		h.nak = by_name(f, "nak", mroce_nak_name, MROCE_NAK_MAX);
	h.hdr_len = mroce_wire_hdr_len(h.op, h.flags);
	return h;
}

inline mroce_ack ack_of(const json &f)
{
	mroce_ack a = {};

	a.dcid = number(f, "dcid");
	a.serial = number(f, "serial");
	a.cpn_base = number(f, "cpn_base");
	a.hint = number(f, "hint");
	for (const auto &p : f.value("paths", json::array())) {
		mroce_ack_path *q = &a.paths[a.npaths++];

		q->path = number(p, "path");
		q->ce = number(p, "ce");
		q->highest = number(p, "highest");
		q->delay_us = number(p, "delay_us");
		q->spurious = number(p, "spurious");
		for (int i = 0; i < MROCE_BITMAP_WORDS; i++)
			q->bitmap[i] = std::stoull(p.at("bitmap").at(i).get<std::string>(),
						   nullptr, 16);
	}
	for (const auto &s : f.value("streams", json::array())) {
		mroce_ack_stream *q = &a.streams[a.nstreams++];

		q->handle = number(s, "handle");
		q->msn = number(s, "msn");
		q->nak = by_name(s, "nak", mroce_nak_name, MROCE_NAK_MAX);
	}
	for (const auto &r : f.value("refused", json::array())) {
		mroce_ack_refused *q = &a.refused[a.nrefused++];

		q->path = number(r, "path");
		q->count = number(r, "count");
		q->pseq = number(r, "pseq");
		q->handle = number(r, "handle");
		q->delay_us = number(r, "delay_us");
		q->nak = by_name(r, "nak", mroce_nak_name, MROCE_NAK_MAX);
	}
	return a;
}

inline mroce_hello hello_of(const json &f, int type)
{
	mroce_hello m = {};
	Bytes src = from_hex(f.at("src_gid")), dst = from_hex(f.at("dst_gid"));

	m.type = type;
	m.version_min = number(f, "version_min");
	m.version_max = number(f, "version_max");
	m.dscp = number(f, "dscp");
	m.reason = number(f, "reason");
	m.dcid = number(f, "dcid");
	m.scid = number(f, "scid");
	m.epoch = number(f, "epoch");
	m.device_id = number(f, "device_id");
	m.cookie = number(f, "cookie");
	m.caps = number(f, "caps");
	m.window = number(f, "window");
	m.max_paths = number(f, "max_paths");
	m.mtu = number(f, "mtu");
	memcpy(m.src_gid, src.data(), 16);
	memcpy(m.dst_gid, dst.data(), 16);
	return m;
}

inline mroce_dgram dgram_of(const json &f)
{
	mroce_dgram d = {};

	d.flags = flags(f);
	d.src_qpn = number(f, "src_qpn");
	d.dst_qpn = number(f, "dst_qpn");
	d.qkey = number(f, "qkey");
	d.pkey_index = number(f, "pkey_index");
	d.length = number(f, "length");
	four(f, "imm", &d.imm);
	return d;
}

/* ----------------------------------------------------------------- comparing */

#define SAME(field) EXPECT_EQ(got.field, want.field) << #field

inline void same(const mroce_hdr &got, const mroce_hdr &want)
{
	SAME(type);
	SAME(flags);
	SAME(path);
	SAME(dcid);
	SAME(pseq);
	SAME(cpn);
	SAME(op);
	SAME(dep);
	SAME(handle);
	SAME(msn);
	SAME(offset);
	SAME(addr);
	SAME(rkey);
	SAME(imm);
	SAME(rqn);
	SAME(length);
	SAME(tag);
	SAME(compare_add);
	SAME(swap);
	SAME(src_qpn);
	SAME(dst_qpn);
	SAME(incarnation);
	SAME(src_handle);
	SAME(nak);
	SAME(hdr_len);
}

inline void same(const mroce_ack_path &got, const mroce_ack_path &want)
{
	SAME(path);
	SAME(ce);
	SAME(highest);
	SAME(delay_us);
	SAME(spurious);
	for (int i = 0; i < MROCE_BITMAP_WORDS; i++)
		SAME(bitmap[i]);
}

inline void same(const mroce_ack_stream &got, const mroce_ack_stream &want)
{
	SAME(handle);
	SAME(nak);
	SAME(msn);
}

inline void same(const mroce_ack_refused &got, const mroce_ack_refused &want)
{
	SAME(path);
	SAME(count);
	SAME(pseq);
	SAME(handle);
	SAME(nak);
	SAME(delay_us);
}

inline void same(const mroce_ack &got, const mroce_ack &want)
{
	SAME(dcid);
	SAME(serial);
	SAME(cpn_base);
	SAME(hint);
	ASSERT_EQ(got.npaths, want.npaths);
	ASSERT_EQ(got.nstreams, want.nstreams);
	ASSERT_EQ(got.nrefused, want.nrefused);
	for (int i = 0; i < want.npaths; i++)
		same(got.paths[i], want.paths[i]);
	for (int i = 0; i < want.nstreams; i++)
		same(got.streams[i], want.streams[i]);
	for (int i = 0; i < want.nrefused; i++)
		same(got.refused[i], want.refused[i]);
}

inline void same(const mroce_hello &got, const mroce_hello &want)
{
	SAME(type);
	SAME(version_min);
	SAME(version_max);
	SAME(dscp);
	SAME(reason);
	SAME(dcid);
	SAME(scid);
	SAME(epoch);
	SAME(device_id);
	SAME(cookie);
	SAME(caps);
	SAME(window);
	SAME(max_paths);
	SAME(mtu);
	EXPECT_EQ(to_hex(got.src_gid, 16), to_hex(want.src_gid, 16));
	EXPECT_EQ(to_hex(got.dst_gid, 16), to_hex(want.dst_gid, 16));
}

inline void same(const mroce_dgram &got, const mroce_dgram &want)
{
	SAME(flags);
	SAME(src_qpn);
	SAME(dst_qpn);
	SAME(qkey);
	SAME(imm);
	SAME(pkey_index);
	SAME(length);
}

/* The first @n bytes of a vector against what was written. */
inline void same_bytes(const u8 *got, size_t n, const Bytes &want)
{
	ASSERT_LE(n, want.size());
	EXPECT_EQ(to_hex(got, n), to_hex(want.data(), n));
}

/* -------------------------------------------------------------- any packet */

/* Parses as whatever it says it is. Return: whether it was taken. */
inline bool parse(const u8 *p, size_t len)
{
	int type = mroce_wire_type(p, len);
	auto ack = std::make_unique<mroce_ack>();
	mroce_hdr h;
	mroce_hello m;
	mroce_dgram d;
	mroce_planes planes;
	mroce_probe probe;

	switch (type) {
	case MROCE_T_DATA:
		return !mroce_wire_get_data(&h, p, len, len);
	case MROCE_T_ACK:
		return !mroce_wire_get_ack(ack.get(), p, len);
	case MROCE_T_HELLO:
	case MROCE_T_CHALLENGE:
	case MROCE_T_WELCOME:
	case MROCE_T_REJECT:
		return !mroce_wire_get_hello(&m, p, len);
	case MROCE_T_DATAGRAM:
		return !mroce_wire_get_dgram(&d, p, len);
	case MROCE_T_UNKNOWN_CONN:
	case MROCE_T_CLOSE:
		mroce_wire_dcid(p);
		mroce_wire_bare_scid(p);
		return true;
	case MROCE_T_PLANES:
		return !mroce_wire_get_planes(&planes, p, len);
	case MROCE_T_PLANES_ACK:
		mroce_wire_planes_serial(p);
		return true;
	case MROCE_T_PROBE:
	case MROCE_T_PROBE_REPLY:
		return !mroce_wire_get_probe(&probe, p, len);
	default:
		return false;
	}
}

} // namespace wire_test

#endif /* _MROCE_CORE_WIRE_TEST_H */
