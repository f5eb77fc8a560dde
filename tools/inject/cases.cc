// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Cases that must leave every stream at work.
#include "cases.h"

#include <algorithm>

#include "oob.h"
#include "pattern.h"

namespace mroce::inject {

namespace {

constexpr uint32_t kStranger = 0xc0000263;  // 192.0.2.99
constexpr uint32_t kNobodysId = 0x5eed5eed;
constexpr uint32_t kNobodysQpn = 0xfffff0;

Bytes Plain(size_t length, uint8_t type) {
  Bytes p(length, 0);
  if (length) p[0] = static_cast<uint8_t>(MROCE_WIRE_VERSION << 4 | type);
  return p;
}

// --- shape

void Empty(Bench& b) { b.Send({}); }
void Short(Bench& b) {
  for (const size_t n : {1, 4, 15}) b.Send(Plain(n, MROCE_T_DATA));
}
void Version(Bench& b) {
  for (const uint8_t v : {0, 2, 15}) {
    Bytes p = b.first().packet;
    p[0] = static_cast<uint8_t>(v << 4 | MROCE_T_DATA);
    b.Send(p);
  }
}
void Type(Bench& b) {
  for (uint8_t t = MROCE_T_MAX; t < 16; t++) {
    Bytes p = b.first().packet;
    p[0] = static_cast<uint8_t>(MROCE_WIRE_VERSION << 4 | t);
    b.Send(p);
  }
}
void WrongChecksum(Bench& b) { b.Send(b.first().packet, Checksum::kWrong); }
void NoChecksum(Bench& b) { b.Send(b.first().packet, Checksum::kNone); }

void TruncatedData(Bench& b) {
  for (const size_t n : {16, 30, 39}) {
    Bytes p = b.first().packet;
    p.resize(n);
    b.Send(p);
  }
}
void TruncatedExtension(Bench& b) {
  mroce_hdr h = b.first().header;
  for (const uint8_t op : {MROCE_OP_READ, MROCE_OP_FETCH_ADD, MROCE_OP_CMP_SWAP, MROCE_OP_OPEN}) {
    h.op = op;
    Bytes p = EncodeData(h, {});
    p.pop_back();
    b.Send(p);
  }
}
void UnknownOpcode(Bench& b) {
  for (const uint8_t op : {static_cast<uint8_t>(MROCE_OP_MAX), uint8_t{0x80}, uint8_t{0xff}}) {
    Bytes p = b.first().packet;
    p[16] = op;
    b.Send(p);
  }
}
void ImmediateAndInvalidate(Bench& b) {
  mroce_hdr h = b.first().header;
  h.op = MROCE_OP_SEND;
  h.flags = MROCE_F_LAST | MROCE_F_IMM | MROCE_F_INV;
  b.SendData(h, Bytes(8));
}
void PayloadWhereNoneIs(Bench& b) {
  mroce_hdr h = b.first().header;
  for (const uint8_t op : {MROCE_OP_READ, MROCE_OP_CMP_SWAP, MROCE_OP_VOID}) {
    h.op = op;
    b.SendData(h, Bytes(32));
  }
}

// --- connections

void UnknownConnection(Bench& b) {
  mroce_hdr h = b.first().header;
  h.dcid = kNobodysId;
  b.SendData(h, Bytes(64));
}
Bytes Acknowledgment(uint32_t dcid, uint16_t path, uint32_t highest) {
  static mroce_ack a;  // large
  a = {};
  a.dcid = dcid;
  a.serial = 0x7fffffff;
  a.npaths = 1;
  a.paths[0].path = path;
  a.paths[0].highest = highest;
  std::fill(std::begin(a.paths[0].bitmap), std::end(a.paths[0].bitmap), ~uint64_t{0});
  Bytes p(MROCE_ACK_MAX_LEN);
  p.resize(mroce_wire_put_ack(&a, p.data()));
  return p;
}
void UnknownConnectionAck(Bench& b) { b.Send(Acknowledgment(kNobodysId, 0, 1)); }
void AckOfTheFuture(Bench& b) { b.Send(Acknowledgment(b.first().header.dcid, 0, 0x40000000)); }
void TruncatedAck(Bench& b) {
  Bytes p = Acknowledgment(b.first().header.dcid, 0, 1);
  p.pop_back();
  b.Send(p);
}
void AckWithTooManyBlocks(Bench& b) {
  Bytes p = Acknowledgment(b.first().header.dcid, 0, 1);
  for (const size_t at : {20, 21, 22}) {
    Bytes q = p;
    q[at] = 0xff;
    q.resize(1400);
    b.Send(q);
  }
}
void WrongSource(Bench& b) { b.SendFrom(kStranger, b.first().packet); }
void WrongSourceAck(Bench& b) { b.SendFrom(kStranger, Acknowledgment(b.first().header.dcid, 0, 1)); }
void WrongSourceClose(Bench& b) {
  Bytes p(MROCE_COMMON_LEN);
  p.resize(mroce_wire_put_bare(MROCE_T_CLOSE, b.first().header.dcid, kNobodysId, p.data()));
  b.SendFrom(kStranger, p);
}
void UnknownPath(Bench& b) {
  mroce_hdr h = b.first().header;
  h.path = 0xffff;
  b.SendData(h, Bytes(64));
}
void OldSequence(Bench& b) {
  mroce_hdr h = b.first().header;
  h.pseq -= 100000;
  b.SendData(h, Bytes(64));
}
// A late copy, after the target's program has put the memory to another use.
void Replay(Bench& b) {
  Stream& s = b.first();
  std::fill_n(s.pair->b.memory->data(), 32, uint8_t{0x11});
  std::fill_n(s.expected.begin(), 32, uint8_t{0x11});
  for (int i = 0; i < 3; i++) b.Send(s.packet);
}

// --- handshake

Bytes Hello(Bench& b, void (*change)(mroce_hello*)) {
  mroce_hello m{};
  m.type = MROCE_T_HELLO;
  m.version_min = m.version_max = MROCE_WIRE_VERSION;
  m.scid = kNobodysId;
  m.epoch = 7;
  m.device_id = 0x1122334455667788;
  m.window = 4096;
  m.max_paths = 4;
  m.mtu = 1500;
  const verify::Pair& p = *b.first().pair;
  std::copy_n(p.a.device->gid.raw, 16, m.src_gid);
  std::copy_n(p.b.device->gid.raw, 16, m.dst_gid);
  change(&m);
  Bytes bytes(MROCE_HELLO_LEN);
  bytes.resize(mroce_wire_put_hello(&m, bytes.data()));
  return bytes;
}
void HelloTruncated(Bench& b) {
  for (const uint8_t type : {MROCE_T_HELLO, MROCE_T_CHALLENGE, MROCE_T_WELCOME, MROCE_T_REJECT})
    b.Send(Plain(MROCE_HELLO_LEN - 1, type));
}
void HelloBadCookie(Bench& b) {
  b.Send(Hello(b, [](mroce_hello* m) { m->cookie = 0x0123456789abcdef; }));
}
void HelloOtherVersion(Bench& b) {
  b.Send(Hello(b, [](mroce_hello* m) { m->version_min = m->version_max = 9; }));
}
void HelloForNobody(Bench& b) {
  b.Send(Hello(b, [](mroce_hello* m) { m->dst_gid[15] ^= 0x40; }));
}
void HelloFlood(Bench& b) {
  const Bytes p = Hello(b, [](mroce_hello*) {});
  for (uint32_t i = 0; i < 500; i++) b.SendFrom(kStranger + i, p);
}

// --- datagrams

Bytes Datagram(uint32_t qpn, uint32_t qkey, uint16_t says, size_t is) {
  mroce_dgram d{};
  d.src_qpn = 17;
  d.dst_qpn = qpn;
  d.qkey = qkey;
  d.length = says;
  Bytes p(MROCE_DGRAM_LEN);
  p.resize(mroce_wire_put_dgram(&d, p.data()));
  p.resize(p.size() + is, 0x22);
  return p;
}
void DatagramForNobody(Bench& b) { b.Send(Datagram(kNobodysQpn, 1, 64, 64)); }
void DatagramTruncated(Bench& b) {
  b.Send(Datagram(1, 1, 64, 63));
  b.Send(Plain(MROCE_DGRAM_LEN - 1, MROCE_T_DATAGRAM));
}
void DatagramForRc(Bench& b) { b.Send(Datagram(b.first().pair->b.qp->qp_num, 1, 64, 64)); }
void DatagramWrongKey(Bench& b) {
  constexpr uint32_t kKey = 0x1234;
  Device& d = b.target();
  CqPtr cq(ibv_create_cq(d.context.get(), 16, nullptr, nullptr, 0));
  ibv_qp_init_attr a{};
  a.send_cq = a.recv_cq = cq.get();
  a.qp_type = IBV_QPT_UD;
  a.cap = {4, 4, 1, 1, 0};
  QpPtr qp(ibv_create_qp(d.pd.get(), &a));
  verify::Check(cq && qp, "no UD QP could be made");
  UdToRts(qp.get(), d, kKey, 0);
  Region memory(d, 4096, IBV_ACCESS_LOCAL_WRITE);
  verify::Poison(memory.data(), memory.size());
  const ibv_sge into = verify::Sge(memory, 0, 4096);
  verify::Check(!verify::PostReceive(qp.get(), 1, &into, 1), "ibv_post_recv failed");
  b.Send(Datagram(qp->qp_num, kKey + 1, 64, 64));
  verify::ExpectNone(cq.get(), "a UD QP that got another key", 200);
  verify::Check(!verify::CheckPoison(memory.data(), memory.size()), "a datagram with another key was placed");
}

constexpr Case kCases[] = {
    {"empty", "rx_malformed", Empty},
    {"short", "rx_malformed", Short},
    {"unknown version", "rx_version", Version},
    {"unknown type", "rx_type", Type},
    {"wrong UDP checksum", "rx_csum", WrongChecksum},
    {"no UDP checksum", "rx_csum", NoChecksum},
    {"truncated data header", "rx_malformed", TruncatedData},
    {"truncated extension", "rx_malformed", TruncatedExtension},
    {"unknown opcode", "rx_malformed", UnknownOpcode},
    {"immediate and invalidate at once", "rx_malformed", ImmediateAndInvalidate},
    {"payload where there is none", "rx_malformed", PayloadWhereNoneIs},
    {"unknown connection", "rx_no_conn", UnknownConnection},
    {"acknowledgment of an unknown connection", "rx_no_conn", UnknownConnectionAck},
    {"acknowledgment of what was never sent", "rx_bad_ack", AckOfTheFuture},
    {"truncated acknowledgment", "rx_malformed", TruncatedAck},
    {"acknowledgment with too many blocks", "rx_malformed", AckWithTooManyBlocks},
    {"wrong source", "rx_wrong_source", WrongSource},
    {"acknowledgment from a wrong source", "rx_wrong_source", WrongSourceAck},
    {"close from a wrong source", "rx_wrong_source", WrongSourceClose},
    {"unknown path", "rx_no_path", UnknownPath},
    {"sequence long past", "rx_out_of_window", OldSequence},
    {"replayed", "rx_dup_path", Replay},
    {"truncated handshake", "rx_malformed", HelloTruncated},
    {"hello with a made-up cookie", "rx_bad_cookie", HelloBadCookie},
    {"hello of another version", "hello_reject", HelloOtherVersion},
    {"hello for nobody here", "rx_no_device", HelloForNobody},
    {"500 hellos from 500 sources", "hello_rx", HelloFlood},
    {"datagram for no QP", "rx_no_qp", DatagramForNobody},
    {"datagram for an RC QP", "rx_no_qp", DatagramForRc},
    {"truncated datagram", "rx_malformed", DatagramTruncated},
    {"datagram with a wrong key", "rx_qkey", DatagramWrongKey},
};

}  // namespace

std::span<const Case> HarmlessCases() { return kCases; }

}  // namespace mroce::inject
