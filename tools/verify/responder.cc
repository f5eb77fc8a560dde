// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "responder.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mroce::verify {

namespace {
constexpr uint32_t kBatch = 16;
}

Responder::Responder(Session& session, uint32_t qp)
    : session_(session),
      c_(session.connections[qp]),
      qp_(qp),
      id_{session.options.plan.seed, session.PeerFlow(), qp},
      plan_(session.options.plan, session.PeerFlow(), qp),
      next_(plan_.Next()) {}

uint8_t* Responder::Slot(const Message& m) const {
  return c_.target->data() + RingOffset(m.remote, session_.options.plan.ring);
}

uint32_t Responder::Arm() {
  const Options& o = session_.options;
  uint32_t count = 0;
  while (count < kBatch && final_ == kUnknown && armed_messages_.size() < o.depth) {
    const uint64_t oldest =
        armed_messages_.empty() ? next_.remote.position : armed_messages_.front().message.remote.position;
    if (next_.remote.position + next_.remote.size - oldest > o.plan.ring) break;
    if (ConsumesReceive(next_.op) && receives_held_ >= o.depth) break;
    PrepareRemote(Slot(next_), next_, id_);
    if (ConsumesReceive(next_.op)) {
      pending_.push_back({next_, Clock::now() + std::chrono::microseconds(o.late_receive)});
      receives_held_++;
    }
    armed_messages_.push_back({next_, false, false});
    armed_ = next_.number + 1;
    next_ = plan_.Next();
    count++;
  }
  PostReceives(!o.late_receive);
  return count;
}

void Responder::PostReceives(bool all) {
  std::array<ibv_recv_wr, kBatch> wr;
  std::array<std::array<ibv_sge, kMaxPieces>, kBatch> sge;
  while (!pending_.empty()) {
    uint32_t n = 0;
    for (; n < kBatch && !pending_.empty(); n++) {
      const Pending& p = pending_.front();
      if (!all && p.due > Clock::now()) break;
      const Message& m = p.message;
      // A WRITE with immediate consumes a receive without touching memory: none is given.
      const uint32_t pieces = m.op == Op::kWriteImm ? 0 : m.remote.count;
      const uint64_t base = reinterpret_cast<uintptr_t>(Slot(m));
      for (uint32_t i = 0; i < pieces; i++)
        sge[n][i] = {base + m.remote.piece[i].offset, m.remote.piece[i].length, c_.target->lkey()};
      wr[n] = {m.number | kReceiveTag, nullptr, pieces ? sge[n].data() : nullptr, static_cast<int>(pieces)};
      if (n) wr[n - 1].next = &wr[n];
      receives_.push_back(m.number);
      pending_.pop_front();
    }
    if (!n) return;
    ibv_recv_wr* bad = nullptr;
    if (const int rc = ibv_post_recv(c_.qp.get(), wr.data(), &bad))
      throw VerifyError(fmt::format("QP {} ({:#x}): posting receives within the queue's depth failed: {}", qp_,
                                    c_.qp->qp_num, std::strerror(rc)));
  }
}

void Responder::OnCompletion(const ibv_wc& wc) {
  if (receives_.empty())
    throw VerifyError(fmt::format("QP {}: surplus receive completion, wr_id {:#x}, status {}", qp_, wc.wr_id,
                                  ibv_wc_status_str(wc.status)));
  const uint64_t number = receives_.front();
  const auto armed = std::find_if(armed_messages_.begin(), armed_messages_.end(),
                                  [&](const Armed& a) { return a.message.number == number; });
  if (armed == armed_messages_.end())
    throw VerifyError(fmt::format("QP {}: receive {} completed after its message was verified without it", qp_, number));
  const Message& m = armed->message;
  const auto wrong = [&](const std::string& what) {
    throw VerifyError(fmt::format("QP {} ({:#x}) receive of message {} ({}, {} bytes, {} SGEs): {}", qp_, wc.qp_num,
                                  number, OpName(m.op), m.length, m.remote.count, what));
  };
  if (wc.status != IBV_WC_SUCCESS)
    wrong(fmt::format("status {} ({}), vendor error {:#x}", static_cast<int>(wc.status), ibv_wc_status_str(wc.status),
                      wc.vendor_err));
  if (wc.wr_id != (number | kReceiveTag)) wrong(fmt::format("completed as wr_id {:#x}: order or count is wrong", wc.wr_id));
  const auto opcode = m.op == Op::kWriteImm ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  if (wc.opcode != opcode) wrong(fmt::format("opcode {} in the completion", static_cast<int>(wc.opcode)));
  if (wc.byte_len != m.length) wrong(fmt::format("byte_len is {}", wc.byte_len));
  const bool has_imm = wc.wc_flags & IBV_WC_WITH_IMM;
  if (has_imm != HasImmediate(m.op)) wrong(has_imm ? "an immediate nobody sent" : "the immediate is missing");
  if (has_imm && ntohl(wc.imm_data) != m.imm)
    wrong(fmt::format("immediate {:#x}, sent was {:#x}", ntohl(wc.imm_data), m.imm));
  receives_.pop_front();
  receives_held_--;
  armed->receive_seen = true;
  // It also vouches for every earlier message of the QP, WRITEs included. READ sources stay as they
  // are until the requester has its data: a lost response may be read again.
  VerifyUpTo(number + 1, false);
  // What the peer said was done may have waited for this very completion, and it says it once.
  VerifyUpTo(done_, true);
  Release();
}

void Responder::VerifyUpTo(uint64_t number, bool reads_too) {
  for (Armed& a : armed_messages_) {
    if (a.message.number >= number) break;
    if (a.verified || (a.message.op == Op::kRead && !reads_too)) continue;
    if (ConsumesReceive(a.message.op) && !a.receive_seen) {
      // Send completions may overtake the receive completion (other CQ, other host): it must still come.
      if (reads_too) break;
      throw VerifyError(fmt::format("QP {}: message {} ({}) has no receive completion, a later one has", qp_,
                                    a.message.number, OpName(a.message.op)));
    }
    if (const auto bad = CheckRemote(Slot(a.message), a.message, id_))
      throw VerifyError(fmt::format("QP {} message {} ({}, {} bytes), at the responder: {}", qp_, a.message.number,
                                    OpName(a.message.op), a.message.length, *bad));
    a.verified = true;
    counts_.Add(a.message);
  }
}

void Responder::Release() {
  while (!armed_messages_.empty() && armed_messages_.front().verified) {
    released_ = armed_messages_.front().message.number + 1;
    armed_messages_.pop_front();
  }
}

void Responder::OnState(uint64_t done, uint64_t final) {
  final_ = final;
  if (done > armed_) throw VerifyError(fmt::format("QP {}: the peer completed more messages than were armed", qp_));
  done_ = done;
  VerifyUpTo(done, true);
  Release();
}

void Responder::CheckUnused() const {
  for (const Armed& a : armed_messages_) {
    if (a.message.op == Op::kRead || IsAtomic(a.message.op)) {
      Message m = a.message;
      if (IsAtomic(m.op)) m.op = Op::kRead;  // untouched: it holds the value before
      if (const auto bad = CheckSlot(Slot(m), m.remote, Pattern(id_.seed, id_.flow, id_.qp, m.number), m.length))
        throw VerifyError(fmt::format("QP {}: memory armed for message {}, never used: {}", qp_, m.number, *bad));
    } else if (const auto bad = CheckUntouched(Slot(a.message), a.message.remote)) {
      throw VerifyError(fmt::format("QP {}: memory armed for message {}, never used: {}", qp_, a.message.number, *bad));
    }
  }
}

std::string Responder::Describe() const {
  return fmt::format("QP {} responder: armed {}, released {}, receives posted {}{}", qp_, armed_, released_,
                     receives_.size(),
                     armed_messages_.empty() ? ""
                                             : fmt::format(", oldest {} of {} bytes", OpName(armed_messages_.front().message.op),
                                                           armed_messages_.front().message.length));
}

}  // namespace mroce::verify
