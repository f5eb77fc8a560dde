// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "requester.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mroce::verify {

namespace {

constexpr size_t kChain = 16;  // messages per doorbell

struct WireOp {
  ibv_wr_opcode post;
  ibv_wc_opcode complete;
};
constexpr WireOp kWire[] = {
    {IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
    {IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE},
    {IBV_WR_SEND, IBV_WC_SEND},
    {IBV_WR_SEND_WITH_IMM, IBV_WC_SEND},
    {IBV_WR_RDMA_READ, IBV_WC_RDMA_READ},
    {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD},
    {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP},
    {IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
};
static_assert(std::size(kWire) == kOpCount);

}  // namespace

void Counts::Add(const Message& m) {
  messages++;
  bytes += m.length;
  per_op[static_cast<size_t>(m.op)]++;
}
void Counts::Add(const Counts& other) {
  messages += other.messages;
  bytes += other.bytes;
  for (size_t i = 0; i < kOpCount; i++) per_op[i] += other.per_op[i];
}

Requester::Requester(Session& session, uint32_t qp, uint64_t volume)
    : session_(session),
      c_(session.connections[qp]),
      qp_(qp),
      volume_(volume),
      id_{session.options.plan.seed, session.OwnFlow(), qp},
      plan_(session.options.plan, session.OwnFlow(), qp),
      next_(plan_.Next()) {
  // Requests point into these while a chain is built: no reallocation.
  wrs_.reserve(kChain * kMaxPieces);
  sges_.reserve(kChain * kMaxPieces);
}

bool Requester::Fits(const Message& m) const {
  if (m.number >= peer_armed_ || in_flight_ + m.WorkRequests() > session_.options.depth) return false;
  const uint64_t oldest = out_.empty() ? m.local.position : out_.front().message.local.position;
  return m.local.position + m.local.size - oldest <= session_.options.plan.ring;
}

void Requester::BuildSges(const Message& m, uint32_t first, uint32_t count, ibv_send_wr* wr) {
  const uint64_t base = c_.source->address() + RingOffset(m.local, session_.options.plan.ring);
  wr->num_sge = static_cast<int>(count);
  wr->sg_list = count ? sges_.data() + sges_.size() : nullptr;
  uint32_t bytes = 0;
  for (uint32_t i = first; i < first + count; i++) {
    sges_.push_back({base + m.local.piece[i].offset, m.local.piece[i].length, c_.source->lkey()});
    bytes += m.local.piece[i].length;
  }
  const bool can = m.op != Op::kRead && !IsAtomic(m.op) && m.op != Op::kOverlap;
  if (can && m.try_inline && bytes && bytes <= c_.max_inline) {
    wr->send_flags |= IBV_SEND_INLINE;
    for (int i = 0; i < wr->num_sge; i++) wr->sg_list[i].lkey = 0;  // must not be looked at
    inlined_.push_back(m.local);
  }
}

void Requester::Build(const Message& m, bool is_signalled) {
  const uint64_t ring = session_.options.plan.ring;
  const uint32_t parts = m.WorkRequests();
  const uint64_t target = c_.peer_target.address + RingOffset(m.remote, ring) +
                          (m.remote.count ? m.remote.piece[0].offset : 0);
  for (uint32_t part = 0; part < parts; part++) {
    ibv_send_wr wr{};
    wr.wr_id = m.number;
    wr.opcode = kWire[static_cast<size_t>(m.op)].post;
    if (is_signalled && part + 1 == parts) wr.send_flags |= IBV_SEND_SIGNALED;
    if (m.solicited && ConsumesReceive(m.op)) wr.send_flags |= IBV_SEND_SOLICITED;
    if (HasImmediate(m.op)) wr.imm_data = htonl(m.imm);
    if (m.op == Op::kOverlap) BuildSges(m, part, 1, &wr);
    else BuildSges(m, 0, m.local.count, &wr);
    if (IsAtomic(m.op)) {
      wr.wr.atomic.remote_addr = target;
      wr.wr.atomic.rkey = c_.peer_target.rkey;
      wr.wr.atomic.compare_add = m.operand;
      if (m.op == Op::kCmpSwap) {
        wr.wr.atomic.compare_add = AtomicBefore(m, id_) + (m.swap_matches ? 0 : 1);
        wr.wr.atomic.swap = m.operand;
      }
    } else if (m.op != Op::kSend && m.op != Op::kSendImm) {
      // A WRITE of no byte must work without address and key: NCCL sends such.
      const bool keyless = !m.length && m.op != Op::kRead && m.try_inline;
      wr.wr.rdma.remote_addr = keyless ? 0 : target + m.part_at[part];
      wr.wr.rdma.rkey = keyless ? 0 : c_.peer_target.rkey;
    }
    if (!wrs_.empty()) wrs_.back().next = wrs_.data() + wrs_.size();
    wrs_.push_back(wr);
  }
}

void Requester::Flush() {
  if (wrs_.empty()) return;
  if (const int rc = PostChain(c_, wrs_.data()))
    throw VerifyError(fmt::format("QP {} ({:#x}): posting {} requests within the queue's depth failed: {}", qp_,
                                  c_.qp->qp_num, wrs_.size(), std::strerror(rc)));
  // Inline data belongs to the application again at once.
  uint8_t* ring = c_.source->data();
  for (const Layout& l : inlined_)
    for (uint32_t i = 0; i < l.count; i++)
      Poison(ring + RingOffset(l, session_.options.plan.ring) + l.piece[i].offset, l.piece[i].length);
  wrs_.clear();
  sges_.clear();
  inlined_.clear();
}

uint32_t Requester::Post(bool stop) {
  if (final_ != kUnknown) return 0;
  if (stop && !run_) {
    final_ = next_.number;
    return 0;
  }
  uint32_t messages = 0;
  const uint32_t longest = std::min(session_.options.signal_every, std::max(session_.options.depth / 2, 1u));
  while (messages < kChain && Fits(next_)) {
    const Message m = next_;
    next_ = plan_.Next();
    PrepareLocal(c_.source->data() + RingOffset(m.local, session_.options.plan.ring), m, id_);
    in_flight_ += m.WorkRequests();
    posted_bytes_ += m.length;
    run_ += m.WorkRequests();
    out_.push_back({m, false});
    // Unsignalled only if another can follow: its completion will speak for this one.
    const bool last = VolumeReached() || stop;
    out_.back().is_signalled = last || run_ >= longest || !Fits(next_);
    Build(m, out_.back().is_signalled);
    messages++;
    if (out_.back().is_signalled) {
      run_ = 0;
      signalled_++;
    }
    if (last) {
      final_ = next_.number;
      break;
    }
  }
  Flush();
  return messages;
}

void Requester::OnCompletion(const ibv_wc& wc) {
  const auto expected = std::find_if(out_.begin(), out_.end(), [](const Outstanding& o) { return o.is_signalled; });
  if (expected == out_.end())
    throw VerifyError(fmt::format("QP {}: surplus send completion, wr_id {}, status {}", qp_, wc.wr_id,
                                  ibv_wc_status_str(wc.status)));
  const Message& m = expected->message;
  const auto what = [&] {
    return fmt::format("QP {} ({:#x}) message {} ({}, {} bytes, {} SGEs)", qp_, wc.qp_num, m.number, OpName(m.op),
                       m.length, m.local.count);
  };
  if (wc.status != IBV_WC_SUCCESS)
    throw VerifyError(fmt::format("{}: completed with status {} ({}), vendor error {:#x}, wr_id {}", what(),
                                  static_cast<int>(wc.status), ibv_wc_status_str(wc.status), wc.vendor_err, wc.wr_id));
  if (wc.wr_id != m.number)
    throw VerifyError(fmt::format("{}: the next completion is of wr_id {}: order or count is wrong", what(), wc.wr_id));
  if (wc.opcode != kWire[static_cast<size_t>(m.op)].complete)
    throw VerifyError(fmt::format("{}: opcode {} in the completion", what(), static_cast<int>(wc.opcode)));
  for (const uint64_t last = m.number; !out_.empty() && out_.front().message.number <= last; out_.pop_front()) {
    const Message& done = out_.front().message;
    const uint8_t* slot = c_.source->data() + RingOffset(done.local, session_.options.plan.ring);
    if (const auto bad = CheckLocal(slot, done, id_))
      throw VerifyError(fmt::format("QP {} message {} ({}, {} bytes), at the requester: {}", qp_, done.number,
                                    OpName(done.op), done.length, *bad));
    in_flight_ -= done.WorkRequests();
    completed_ = done.number + 1;
    counts_.Add(done);
  }
}

void Requester::OnState(uint64_t peer_armed, uint64_t peer_released) {
  peer_armed_ = peer_armed;
  peer_released_ = peer_released;
}

std::string Requester::Describe() const {
  return fmt::format("QP {} requester: next {}, completed {}, peer armed {}, peer released {}, {} WRs in flight{}",
                     qp_, next_.number, completed_, peer_armed_, peer_released_, in_flight_,
                     out_.empty() ? "" : fmt::format(", oldest {} of {} bytes", OpName(out_.front().message.op),
                                                     out_.front().message.length));
}

}  // namespace mroce::verify
