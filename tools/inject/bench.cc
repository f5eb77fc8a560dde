// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "oob.h"
#include "pattern.h"

namespace mroce::inject {

using verify::Check;

namespace {

constexpr uint32_t kWritten = 64;  // bytes that WriteAll() writes, at the start of the memory

}  // namespace

Bytes EncodeData(mroce_hdr header, std::span<const uint8_t> payload) {
  Bytes p(MROCE_MAX_HDR_LEN);
  p.resize(mroce_wire_put_data(&header, p.data()));
  p.insert(p.end(), payload.begin(), payload.end());
  return p;
}

Bench::Bench(const std::string& sender, const std::string& target, const std::string& netns,
             const std::string& netdev, uint32_t streams)
    : sender_(OpenDevice(sender, 1, -1, false)),
      target_(OpenDevice(target, 1, -1, false)),
      wire_(netns, netdev) {
  for (uint32_t i = 0; i < streams; i++) {
    Stream s;
    s.pair = std::make_unique<verify::Pair>(&sender_, &target_);
    s.expected.assign(verify::kEndMemory, verify::kPoison);
    streams_.push_back(std::move(s));
  }
  WriteAll();
}

void Bench::WriteAll() {
  round_++;
  for (size_t i = 0; i < streams_.size(); i++) {
    Stream& s = streams_[i];
    const verify::Pattern pattern(round_, 0, static_cast<uint32_t>(i), 0);
    pattern.Fill(s.pair->a.memory->data(), 0, kWritten);
    pattern.Fill(s.expected.data(), 0, kWritten);
    ibv_sge from = verify::Sge(*s.pair->a.memory, 0, kWritten);
    Check(!verify::PostOne(s.pair->a.qp.get(), verify::Request(IBV_WR_RDMA_WRITE, round_, &from, 1,
                                                               s.pair->b.memory->address(), s.pair->b.memory->rkey())),
          "posting a WRITE failed");
    verify::Expect(s.pair->a.send_cq.get(), fmt::format("WRITE on stream {}", i), round_, {IBV_WC_SUCCESS});
    Learn();
    Check(s.header.rkey == s.pair->b.memory->rkey() && !s.packet.empty(),
          fmt::format("the packet of the WRITE on stream {} was not seen on the wire", i));
  }
  CheckMemory();
}

// Takes note of what the sender sent: the latest numbers, and each stream's WRITE.
void Bench::Learn() {
  for (Seen& seen : wire_.Captured(MROCE_UDP_PORT)) {
    const Bytes& p = seen.payload;
    mroce_hdr h{};
    if (mroce_wire_type(p.data(), p.size()) != MROCE_T_DATA ||
        mroce_wire_get_data(&h, p.data(), p.size(), p.size()))
      continue;
    route_ = seen.route;
    uint32_t& sequence = path_sequences_[h.path];
    if (static_cast<int32_t>(h.pseq - sequence) > 0) sequence = h.pseq;
    path_ = h.path;
    if (h.op != MROCE_OP_NOP && (!cpn_known_ || static_cast<int32_t>(h.cpn - cpn_) > 0)) {
      cpn_ = h.cpn;
      cpn_known_ = true;
    }
    if (h.op != MROCE_OP_WRITE) continue;
    for (Stream& s : streams_)
      if (s.pair->b.memory->rkey() == h.rkey) {
        s.header = h;
        s.packet = p;
      }
  }
}

void Bench::CheckMemory() const {
  for (size_t i = 0; i < streams_.size(); i++) {
    const Bytes& wanted = streams_[i].expected;
    const uint8_t* is = streams_[i].pair->b.memory->data();
    const auto [right, wrong] = std::mismatch(wanted.begin(), wanted.end(), is);
    if (right == wanted.end()) continue;
    throw verify::Problem{fmt::format("byte {} of the memory of stream {} is {:#04x}, must be {:#04x}", wrong - is, i,
                                      *wrong, *right)};
  }
}

uint64_t Bench::Counter(const std::string& name) const {
  std::ifstream in(fmt::format("/sys/class/infiniband/{}/ports/1/hw_counters/{}", target_.name, name));
  uint64_t value = 0;
  if (!(in >> value)) throw SetupError(fmt::format("{} has no counter {}", target_.name, name));
  return value;
}

Stream& Bench::Fresh() {
  if (fresh_ >= streams_.size()) throw SetupError("more streams are needed than were made");
  return streams_[fresh_++];
}

mroce_hdr Bench::Forge(const Stream& s, uint8_t op) {
  mroce_hdr h = s.header;
  h.op = op;
  h.flags = MROCE_F_LAST;
  h.path = path_;
  h.pseq = ++path_sequences_[path_];
  h.cpn = ++cpn_;
  h.msn = (s.header.msn + 1) & 0xffffff;
  h.dep = 0;
  h.offset = 0;
  return h;
}

void Bench::Send(std::span<const uint8_t> payload, Checksum checksum) {
  wire_.Send(MakeFrame(route_, payload, checksum));
  sent_++;
}

void Bench::SendFrom(uint32_t source, std::span<const uint8_t> payload) {
  Route r = route_;
  r.source = source;
  wire_.Send(MakeFrame(r, payload));
  sent_++;
}

void Bench::SendData(mroce_hdr header, std::span<const uint8_t> payload) { Send(EncodeData(header, payload)); }

}  // namespace mroce::inject
