// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Cases that continue the sender's numbers, as only somebody on the path can. What they forge ends the
// stream they forge for, and the connection's numbers are no longer the sender's.
#include <random>

#include "cases.h"
#include "pattern.h"

namespace mroce::inject {

namespace {

constexpr uint32_t kWrongKey = 0x01010101;
constexpr uint32_t kLength = 256;

Bytes Poisonous(size_t length) { return Bytes(length, 0x66); }

void SamePacketAgain(Bench& b) {
  Stream& s = b.first();
  const uint32_t cpn = s.header.cpn;
  mroce_hdr h = b.Forge(s, MROCE_OP_WRITE);
  h.cpn = cpn;
  h.msn = s.header.msn;
  b.SendData(h, Poisonous(64));
}
void UnknownStream(Bench& b) {
  for (const uint32_t handle : {0u, 0x7fffu, 0xffffffu}) {
    mroce_hdr h = b.Forge(b.first(), MROCE_OP_WRITE);
    h.handle = handle;
    b.SendData(h, Poisonous(kLength));
  }
}
void FarAhead(Bench& b) {
  mroce_hdr h = b.Forge(b.first(), MROCE_OP_WRITE);
  h.cpn += 1u << 30;
  b.SendData(h, Poisonous(kLength));
}
void NoReceive(Bench& b) {
  mroce_hdr h = b.Forge(b.first(), MROCE_OP_SEND);
  h.addr = 0;
  h.rqn = 0;
  b.SendData(h, Poisonous(kLength));
}
void UnaskedAnswer(Bench& b) {
  for (const uint8_t op : {MROCE_OP_READ_RESP, MROCE_OP_ATOMIC_RESP}) {
    mroce_hdr h = b.Forge(b.first(), op);
    h.addr = 3;
    b.SendData(h, Poisonous(8));
  }
}

// A request into memory that it may not touch, on a stream of its own.
void Request(Bench& b, uint8_t op, uint32_t key, uint64_t (*place)(const Region&), uint32_t length = kLength) {
  Stream& s = b.Fresh();
  mroce_hdr h = b.Forge(s, op);
  h.rkey = s.header.rkey ^ key;
  h.addr = place(*s.pair->b.memory);
  h.length = length;
  h.tag = 1;
  h.compare_add = 0xa5a5a5a5a5a5a5a5;
  h.swap = 1;
  b.SendData(h, op == MROCE_OP_WRITE ? Poisonous(length) : Bytes());
}
uint64_t Inside(const Region& r) { return r.address() + 1024; }
uint64_t Behind(const Region& r) { return r.address() + r.size(); }
uint64_t OverTheEnd(const Region& r) { return r.address() + r.size() - 8; }
uint64_t Before(const Region& r) { return r.address() - 8; }
uint64_t Wrapping(const Region&) { return ~uint64_t{0} - 7; }
uint64_t Zero(const Region&) { return 0; }

void WriteWrongKey(Bench& b) { Request(b, MROCE_OP_WRITE, kWrongKey, Inside); }
void WriteBehind(Bench& b) { Request(b, MROCE_OP_WRITE, 0, Behind); }
void WriteOverTheEnd(Bench& b) { Request(b, MROCE_OP_WRITE, 0, OverTheEnd); }
void WriteBefore(Bench& b) { Request(b, MROCE_OP_WRITE, 0, Before); }
void WriteWrapping(Bench& b) { Request(b, MROCE_OP_WRITE, 0, Wrapping); }
void WriteNowhere(Bench& b) { Request(b, MROCE_OP_WRITE, 0, Zero); }
void ReadWrongKey(Bench& b) { Request(b, MROCE_OP_READ, kWrongKey, Inside); }
void ReadTooMuch(Bench& b) { Request(b, MROCE_OP_READ, 0, Inside, 0x7fffffff); }
void AddWrongKey(Bench& b) { Request(b, MROCE_OP_FETCH_ADD, kWrongKey, Inside); }
void SwapBehind(Bench& b) { Request(b, MROCE_OP_CMP_SWAP, 0, Behind); }

// A piece whose offset puts it far from where its message may lie.
void OffsetOverflow(Bench& b) {
  mroce_hdr h = b.Forge(b.Fresh(), MROCE_OP_WRITE);
  h.offset = 0xffffff80;
  b.SendData(h, Poisonous(kLength));
}
void MessageFarAhead(Bench& b) {
  mroce_hdr h = b.Forge(b.Fresh(), MROCE_OP_WRITE);
  h.msn = (h.msn + 0x400000) & 0xffffff;
  b.SendData(h, Poisonous(kLength));
}
void MessageLongPast(Bench& b) {
  mroce_hdr h = b.Forge(b.Fresh(), MROCE_OP_WRITE);
  h.msn = (h.msn - 0x400000) & 0xffffff;
  b.SendData(h, Poisonous(kLength));
}
void OpenForNobody(Bench& b) {
  mroce_hdr h = b.Forge(b.first(), MROCE_OP_OPEN);
  h.flags = 0;
  h.handle = 0;
  h.src_qpn = 0x123;
  h.dst_qpn = 0xfffff0;
  h.incarnation = 0x99;
  h.src_handle = 0x77;
  b.SendData(h);
}

// Anything at all behind the connection id, but no key that opens memory.
void Garbage(Bench& b) {
  std::mt19937 random(20);  // the same on every run
  Stream& s = b.first();
  for (int i = 0; i < 2000; i++) {
    Bytes p = s.packet;
    const uint32_t changes = 1 + random() % 12;
    for (uint32_t n = 0; n < changes; n++) {
      const uint32_t at = random() % p.size();
      if (at < 4 || at > 7) p[at] = static_cast<uint8_t>(random());
    }
    p[0] = static_cast<uint8_t>(MROCE_WIRE_VERSION << 4 | random() % 3);
    p[32] = static_cast<uint8_t>(~s.packet[32]);
    p.resize(8 + random() % (p.size() - 8));
    b.Send(p);
  }
  b.ResetSent();  // counters of every name share them
}

constexpr Case kCases[] = {
    {"a packet again under a new sequence", "rx_dup_cpn", SamePacketAgain},
    {"unknown stream", "rx_no_stream", UnknownStream},
    {"packet number far ahead", "rx_out_of_window", FarAhead},
    {"send without a receive", "rx_refused_rnr", NoReceive},
    {"answer that nobody asked for", "rx_bad_tag", UnaskedAnswer},
    {"write with a wrong key", "rx_access_err", WriteWrongKey},
    {"write behind the memory", "rx_access_err", WriteBehind},
    {"write over its end", "rx_access_err", WriteOverTheEnd},
    {"write before it", "rx_access_err", WriteBefore},
    {"write to a wrapping address", "rx_access_err", WriteWrapping},
    {"write to address 0", "rx_access_err", WriteNowhere},
    {"read with a wrong key", "rx_access_err", ReadWrongKey},
    {"read of 2 GiB", "rx_access_err", ReadTooMuch},
    {"fetch-and-add with a wrong key", "rx_access_err", AddWrongKey},
    {"compare-and-swap behind the memory", "rx_access_err", SwapBehind},
    {"offset beyond any message", "rx_bad_offset", OffsetOverflow},
    {"message number far ahead", "rx_bad_msn", MessageFarAhead},
    {"message number long past", "rx_bad_msn", MessageLongPast},
    {"stream for no QP", "stream_reject", OpenForNobody},
    {"2000 frames of garbage", "rx_malformed", Garbage},
};

}  // namespace

std::span<const Case> ForgedCases() { return kCases; }

}  // namespace mroce::inject
