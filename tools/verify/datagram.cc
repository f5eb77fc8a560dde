// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "datagram.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "cqset.h"
#include "device.h"
#include "pattern.h"
#include "rng.h"

namespace mroce::verify {

namespace {

using Clock = std::chrono::steady_clock;
constexpr uint32_t kGrh = 40;
constexpr uint32_t kQkey = 0x11223344;
constexpr uint32_t kStride = 8192;     // of receive buffers; more than GRH + payload + guard
constexpr auto kQuiet = std::chrono::milliseconds(100);
constexpr uint64_t kSendId = uint64_t{1} << 62;

// Datagram @number of a flow: as both sides compute it. Those with an immediate carry their number
// there, the others in their first eight bytes.
struct Datagram {
  Datagram(uint64_t seed, uint32_t flow, uint64_t number, uint32_t mtu) {
    Rng rng(Mix(seed) ^ Mix((uint64_t{flow} << 40) + number));
    immediate = rng.OneIn(2);
    const uint32_t least = immediate ? 0 : 8;
    const uint64_t dice = rng.Below(4);
    if (dice == 0) length = mtu - static_cast<uint32_t>(rng.Below(2));
    else if (dice == 1) length = least + static_cast<uint32_t>(rng.Below(64));
    else length = static_cast<uint32_t>(rng.Between(least, mtu));
  }
  bool immediate;
  uint32_t length;
};

class Datagrams {
 public:
  Datagrams(const Options& o, Channel channel, Summary* summary)
      : o_(o), channel_(std::move(channel)), summary_(summary), progress_(o.progress) {}

  std::string Setup() {
    device_ = OpenDevice(o_.device, o_.ib_port, o_.gid_index, o_.ipv6);
    attributes_.tclass = o_.tclass;
    attributes_.sl = o_.sl;
    cqs_ = std::make_unique<CqSet>(device_, o_, 1, o_.depth, o_.depth);
    ibv_qp_init_attr a{};
    a.send_cq = cqs_->SendCq(0);
    a.recv_cq = cqs_->ReceiveCq(0);
    a.qp_type = IBV_QPT_UD;
    a.cap = {o_.depth, o_.depth, 2, 2, 0};
    qp_.reset(ibv_create_qp(device_.pd.get(), &a));
    if (!qp_) throw SetupError(fmt::format("cannot create a UD QP: {}", std::strerror(errno)));
    UdToRts(qp_.get(), device_, kQkey, 0);
    in_ = std::make_unique<Region>(device_, size_t{o_.depth} * kStride, IBV_ACCESS_LOCAL_WRITE);
    out_ = std::make_unique<Region>(device_, size_t{o_.depth} * kStride, IBV_ACCESS_LOCAL_WRITE);
    Exchange();
    for (uint32_t i = 0; i < o_.depth; i++) PostReceive(i);
    channel_.Send(FrameType::kReady, {});
    channel_.Expect(FrameType::kReady, o_.connect_timeout);
    return device_.name;
  }

  // Rounds: a burst, then the peer is told how many there are in all and answers how many came
  // once all did or nothing came for a while. Both directions at the same time.
  void Run() {
    const auto start = Clock::now();
    last_ = start;
    while (!(sent_all_ && !waiting_ && peer_done_)) {
      Burst(start);
      bool work = Completions();
      work |= Frames();
      Answer();
      if (work) {
        last_ = Clock::now();
        cqs_->Busy();
        progress_.Update(summary_->received.bytes, summary_->received.messages, o_.total);
      } else {
        if (Clock::now() - last_ > std::chrono::seconds(o_.stall))
          throw VerifyError(fmt::format("no progress for {} s: {} sends outstanding", o_.stall, outstanding_));
        cqs_->Wait(channel_, 20);
      }
    }
    summary_->seconds = std::chrono::duration<double>(Clock::now() - start).count();
    summary_->events = cqs_->events();
    summary_->lost = peer_total_ - seen_count_;
    channel_.Send(FrameType::kBye, {});
    channel_.Expect(FrameType::kBye, 30);
    if (peer_total_ && !seen_count_) throw VerifyError("not one datagram arrived");
  }

  void Tell(const std::string& text) {
    try {
      channel_.Send(FrameType::kError, {text.begin(), text.end()});
    } catch (const std::exception&) {
      // The peer is gone: nobody to tell.
    }
  }

 private:
  uint32_t OwnFlow() const { return o_.listen ? 1 : 0; }
  bool Sends() const { return !o_.listen || o_.both; }

  void Exchange() {
    Writer w;
    w.Raw(device_.gid.raw, 16);
    w.U64(qp_->qp_num);
    w.U64(device_.port_attr.active_mtu);
    channel_.Send(FrameType::kEndpoint, w.body);
    const Frame f = channel_.Expect(FrameType::kEndpoint, o_.connect_timeout);
    Reader r(f.body);
    r.Raw(peer_.gid.raw, 16);
    peer_.qpn = static_cast<uint32_t>(r.U64());
    const auto mtu = std::min(device_.port_attr.active_mtu, static_cast<ibv_mtu>(r.U64()));
    mtu_ = MtuBytes(mtu);
    if (o_.mtu) mtu_ = std::min(mtu_, o_.mtu);
    ibv_ah_attr a = AddressOf(device_, peer_.gid, attributes_);
    ah_.reset(ibv_create_ah(device_.pd.get(), &a));
    if (!ah_) throw SetupError(fmt::format("no address handle towards {}: {}", GidText(peer_.gid), std::strerror(errno)));
  }

  uint8_t* Buffer(uint64_t slot) { return in_->data() + slot * kStride; }

  void PostReceive(uint64_t slot) {
    Poison(Buffer(slot), kStride);
    ibv_sge s{in_->address() + slot * kStride, kGrh + mtu_, in_->lkey()};
    ibv_recv_wr wr{slot, nullptr, &s, 1};
    ibv_recv_wr* bad = nullptr;
    if (const int rc = ibv_post_recv(qp_.get(), &wr, &bad))
      throw VerifyError(fmt::format("posting a receive: {}", std::strerror(rc)));
  }

  void Burst(Clock::time_point start) {
    if (!Sends() && !sent_all_) {
      sent_all_ = true;
      SendTotal();
    }
    if (sent_all_ || waiting_ || outstanding_) return;
    const uint32_t burst = std::max(o_.depth / 2, 1u);
    for (uint32_t i = 0; i < burst; i++) Post(i, sent_++);
    sent_all_ = o_.total ? summary_->sent.bytes >= o_.total
                         : Clock::now() - start >= std::chrono::duration<double>(o_.seconds);
    waiting_ = true;
  }

  void Post(uint32_t slot, uint64_t number) {
    const Datagram d(o_.plan.seed, OwnFlow(), number, mtu_);
    uint8_t* p = out_->data() + size_t{slot} * kStride;
    Pattern(o_.plan.seed, OwnFlow(), 0, number).Fill(p, 0, d.length);
    if (!d.immediate) std::memcpy(p, &number, 8);
    // Two pieces when there is something to cut.
    const uint32_t first = d.length / 3;
    ibv_sge s[2] = {{out_->address() + size_t{slot} * kStride, first, out_->lkey()},
                    {out_->address() + size_t{slot} * kStride + first, d.length - first, out_->lkey()}};
    ibv_send_wr wr{};
    wr.wr_id = kSendId | number;
    wr.sg_list = first ? s : s + 1;
    wr.num_sge = !d.length ? 0 : first ? 2 : 1;
    wr.opcode = d.immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.imm_data = d.immediate ? htonl(static_cast<uint32_t>(number)) : 0;
    wr.wr.ud = {ah_.get(), peer_.qpn, kQkey};
    ibv_send_wr* bad = nullptr;
    if (const int rc = ibv_post_send(qp_.get(), &wr, &bad))
      throw VerifyError(fmt::format("posting datagram {}: {}", number, std::strerror(rc)));
    outstanding_++;
    summary_->sent.messages++;
    summary_->sent.bytes += d.length;
    summary_->sent.per_op[static_cast<size_t>(d.immediate ? Op::kSendImm : Op::kSend)]++;
  }

  bool Completions() {
    const auto& found = cqs_->Poll();
    for (const ibv_wc& wc : found) {
      if (wc.status != IBV_WC_SUCCESS)
        throw VerifyError(fmt::format("wr_id {:#x}: status {} ({})", wc.wr_id, static_cast<int>(wc.status),
                                      ibv_wc_status_str(wc.status)));
      if (!(wc.wr_id & kSendId)) {
        Received(wc);
      } else if (wc.wr_id != (kSendId | sent_done_)) {
        throw VerifyError(fmt::format("send completion of wr_id {:#x}, expected {:#x}", wc.wr_id, kSendId | sent_done_));
      } else {
        sent_done_++;
        summary_->signalled++;
        if (!--outstanding_) SendTotal();
      }
    }
    return !found.empty();
  }

  void SendTotal() {
    Writer w;
    w.U64(sent_);
    w.U64(sent_all_);
    channel_.Send(FrameType::kUdRound, w.body);
  }

  void Received(const ibv_wc& wc) {
    if (wc.wr_id != next_receive_) throw VerifyError(fmt::format("receive completion of wr_id {:#x}, expected {}", wc.wr_id, next_receive_));
    next_receive_ = (next_receive_ + 1) % o_.depth;
    if (!(wc.wc_flags & IBV_WC_GRH)) throw VerifyError("a datagram without IBV_WC_GRH");
    if (wc.src_qp != peer_.qpn) throw VerifyError(fmt::format("src_qp {:#x}, the sender is {:#x}", wc.src_qp, peer_.qpn));
    if (wc.qp_num != qp_->qp_num) throw VerifyError("a completion names another QP");
    if (wc.byte_len < kGrh || wc.byte_len > kGrh + mtu_) throw VerifyError(fmt::format("byte_len {}", wc.byte_len));
    const uint8_t* p = Buffer(wc.wr_id);
    CheckGrh(p);
    CheckPayload(wc, p + kGrh);
    PostReceive(wc.wr_id);
    last_arrival_ = Clock::now();
  }

  void CheckPayload(const ibv_wc& wc, const uint8_t* p) {
    const uint32_t length = wc.byte_len - kGrh;
    const bool immediate = wc.wc_flags & IBV_WC_WITH_IMM;
    uint64_t number = ntohl(wc.imm_data);
    if (!immediate) {
      if (length < 8) throw VerifyError(fmt::format("a datagram of {} bytes, none of ours", length));
      std::memcpy(&number, p, 8);
    }
    const uint32_t flow = 1 - OwnFlow();
    const Datagram d(o_.plan.seed, flow, number, mtu_);
    if (d.immediate != immediate || d.length != length)
      throw VerifyError(fmt::format("datagram {}: {} bytes, {} immediate; sent were {} bytes", number, length,
                                    immediate ? "with" : "without", d.length));
    const uint32_t skip = immediate ? 0 : 8;
    if (const auto bad = Pattern(o_.plan.seed, flow, 0, number).Check(p + skip, skip, length - skip))
      throw VerifyError(fmt::format("datagram {} of {} bytes: {}", number, length, bad->ToString()));
    if (const auto bad = CheckPoison(p + length, kStride - kGrh - length))
      throw VerifyError(fmt::format("bytes behind datagram {} were changed: {}", number, bad->ToString()));
    if (number >= seen_.size()) seen_.resize(number + 1024);
    if (seen_[number]) {
      summary_->duplicates++;
      return;
    }
    seen_[number] = true;
    seen_count_++;
    summary_->received.messages++;
    summary_->received.bytes += length;
    summary_->received.per_op[static_cast<size_t>(immediate ? Op::kSendImm : Op::kSend)]++;
  }

  // The first 40 bytes: an IPv6 header, or twenty bytes of nothing and an IPv4 header.
  void CheckGrh(const uint8_t* p) const {
    const auto wrong = [](const std::string& what) { throw VerifyError("GRH area: " + what); };
    if (IsIpv4(device_.gid) != IsIpv4(peer_.gid)) return;  // mixed: either may travel
    if (!IsIpv4(device_.gid)) {
      if (p[0] >> 4 != 6) wrong(fmt::format("version {} in an IPv6 header", p[0] >> 4));
      if (std::memcmp(p + 8, peer_.gid.raw, 16) != 0) wrong("the source is not the sender's GID");
      if (std::memcmp(p + 24, device_.gid.raw, 16) != 0) wrong("the destination is not our GID");
      return;
    }
    // UCX tells the two apart by the very first byte.
    if (p[0] >> 4 == 6) wrong("the first byte looks like IPv6");
    const uint8_t* ip = p + 20;
    if (ip[0] != 0x45) wrong(fmt::format("byte 20 is {:#04x}, not the 0x45 of an IPv4 header", ip[0]));
    if (ip[9] != 17) wrong(fmt::format("protocol {}, not UDP", ip[9]));
    if (std::memcmp(ip + 12, peer_.gid.raw + 12, 4) != 0) wrong("the source is not the sender's address");
    if (std::memcmp(ip + 16, device_.gid.raw + 12, 4) != 0) wrong("the destination is not our address");
  }

  bool Frames() {
    bool any = false;
    while (auto f = peer_done_ && sent_all_ && !waiting_ ? std::nullopt : channel_.Receive()) {
      any = true;
      if (f->type == FrameType::kUdReply) {
        waiting_ = false;
      } else if (f->type == FrameType::kUdRound) {
        Reader r(f->body);
        peer_total_ = r.U64();
        peer_last_ = r.U64();
        answer_due_ = true;
        last_arrival_ = Clock::now();
      } else {
        throw VerifyError("the other side left the traffic phase early");
      }
    }
    return any;
  }

  void Answer() {
    if (!answer_due_) return;
    if (seen_count_ < peer_total_ - given_up_ && Clock::now() - last_arrival_ < kQuiet) return;
    given_up_ = peer_total_ - seen_count_;
    answer_due_ = false;
    channel_.Send(FrameType::kUdReply, {});
    peer_done_ = peer_last_;
    if (!Sends()) waiting_ = false;
  }

  const Options& o_;
  Channel channel_;
  Summary* summary_;
  Progress progress_;
  Device device_;
  std::unique_ptr<CqSet> cqs_;
  std::unique_ptr<Region> in_, out_;
  AhPtr ah_;
  QpPtr qp_;
  Remote peer_;
  QpAttributes attributes_;
  uint32_t mtu_ = 0;
  uint64_t sent_ = 0, sent_done_ = 0, next_receive_ = 0;
  uint32_t outstanding_ = 0;
  bool waiting_ = false;   // for the answer to our burst
  bool sent_all_ = false;
  bool answer_due_ = false;
  bool peer_last_ = false, peer_done_ = false;
  uint64_t peer_total_ = 0, seen_count_ = 0, given_up_ = 0;
  std::vector<bool> seen_;
  Clock::time_point last_, last_arrival_;
};

}  // namespace

void RunDatagrams(const Options& options, Channel channel, Summary* summary, std::string* device) {
  Datagrams d(options, std::move(channel), summary);
  try {
    *device = d.Setup();
    d.Run();
  } catch (const std::exception& e) {
    d.Tell(e.what());
    throw;
  }
}

}  // namespace mroce::verify
