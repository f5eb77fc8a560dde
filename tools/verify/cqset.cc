// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cqset.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mroce::verify {

namespace {
constexpr int kBatch = 32;
// Two sides share few CPUs, perhaps emulated ones: give way early, sleep soon.
constexpr uint32_t kYields = 50;
constexpr int kEventGraceMs = 2000;
}  // namespace

void SetNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

CqSet::CqSet(const Device& device, const Options& o, uint32_t qps, uint32_t send, uint32_t receive)
    : device_(device), shape_(o.cqs) {
  if (o.events) {
    channel_.reset(ibv_create_comp_channel(device.context.get()));
    if (!channel_) throw SetupError(fmt::format("ibv_create_comp_channel: {}", std::strerror(errno)));
    SetNonBlocking(channel_->fd);
  }
  SetNonBlocking(device.context->async_fd);
  if (shape_ == "shared") {
    Create(uint64_t{qps} * (send + receive));
  } else if (shape_ == "split") {
    Create(uint64_t{qps} * send);
    Create(uint64_t{qps} * receive);
  } else {
    for (uint32_t i = 0; i < qps; i++) Create(send + receive);
  }
  unacked_.resize(cqs_.size());
}

CqSet::~CqSet() {
  for (size_t i = 0; i < unacked_.size(); i++)
    if (unacked_[i]) ibv_ack_cq_events(cqs_[i].get(), unacked_[i]);
}

ibv_cq* CqSet::Create(uint64_t entries) {
  const auto limit = static_cast<uint64_t>(device_.attr.max_cqe);
  if (entries > limit)
    throw SetupError(fmt::format("a CQ of {} entries is needed, {} allows {}: lower --qps or --depth, or "
                                 "use --cqs per-qp",
                                 entries, device_.name, limit));
  auto* context = reinterpret_cast<void*>(cqs_.size());
  ibv_cq* cq = ibv_create_cq(device_.context.get(), static_cast<int>(entries), context, channel_.get(), 0);
  if (!cq) throw SetupError(fmt::format("ibv_create_cq with {} entries: {}", entries, std::strerror(errno)));
  cqs_.emplace_back(cq);
  return cq;
}

ibv_cq* CqSet::SendCq(uint32_t qp) const { return cqs_[shape_ == "per-qp" ? qp : 0].get(); }
ibv_cq* CqSet::ReceiveCq(uint32_t qp) const {
  return cqs_[shape_ == "per-qp" ? qp : shape_ == "split" ? 1 : 0].get();
}

const std::vector<ibv_wc>& CqSet::Poll() {
  found_.clear();
  std::array<ibv_wc, kBatch> wc;
  for (const CqPtr& cq : cqs_) {
    const int n = ibv_poll_cq(cq.get(), kBatch, wc.data());
    if (n < 0) throw VerifyError(fmt::format("ibv_poll_cq returned {}", n));
    found_.insert(found_.end(), wc.begin(), wc.begin() + n);
  }
  if (timed_out_) {
    timed_out_ = false;
    if (!found_.empty()) ExpectEvent();
  }
  return found_;
}

// Completions were found after a sleep that no event ended: the event may be on its way, not lost.
void CqSet::ExpectEvent() {
  pollfd p{channel_->fd, POLLIN, 0};
  if (poll(&p, 1, kEventGraceMs) <= 0)
    throw VerifyError("completions came to an armed CQ, but no completion event: lost wake-up");
  ReadEvents();
}

void CqSet::Arm() {
  for (const CqPtr& cq : cqs_)
    if (const int rc = ibv_req_notify_cq(cq.get(), 0))
      throw VerifyError(fmt::format("ibv_req_notify_cq: {}", std::strerror(rc)));
  armed_ = true;
}

void CqSet::ReadEvents() {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (!ibv_get_cq_event(channel_.get(), &cq, &context)) {
    const auto index = reinterpret_cast<size_t>(context);
    if (index >= cqs_.size() || cqs_[index].get() != cq)
      throw VerifyError("a completion event names a CQ that is not ours");
    events_++;
    armed_ = false;
    if (++unacked_[index] == 1000) {
      ibv_ack_cq_events(cq, unacked_[index]);
      unacked_[index] = 0;
    }
  }
}

void CqSet::ReadAsync() {
  ibv_async_event e;
  while (!ibv_get_async_event(device_.context.get(), &e)) {
    const ibv_event_type type = e.event_type;
    ibv_ack_async_event(&e);
    switch (type) {
      case IBV_EVENT_CQ_ERR:
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
      case IBV_EVENT_DEVICE_FATAL:
        throw VerifyError(fmt::format("asynchronous event: {}", ibv_event_type_str(type)));
      case IBV_EVENT_COMM_EST:
        break;
      default:
        fmt::print(stderr, "note: asynchronous event: {}\n", ibv_event_type_str(type));
    }
  }
}

void CqSet::Wait(const Channel& channel, int timeout_ms) {
  if (channel_ && !armed_) {
    Arm();  // what came in between shows in the caller's next Poll()
    return;
  }
  if (!channel_ && idle_++ < kYields) {
    sched_yield();
    return;
  }
  pollfd p[3] = {{channel.fd(), static_cast<short>(POLLIN | (channel.WantsWrite() ? POLLOUT : 0)), 0},
                 {device_.context->async_fd, POLLIN, 0},
                 {channel_ ? channel_->fd : -1, POLLIN, 0}};
  const timespec nap = channel_ ? timespec{timeout_ms / 1000, timeout_ms % 1000 * 1000000L}
                                : timespec{0, 200000};
  const int n = ppoll(p, 3, &nap, nullptr);
  if (n == 0) timed_out_ = channel_ != nullptr;
  if (n <= 0) return;
  if (p[1].revents) ReadAsync();
  if (channel_ && p[2].revents) ReadEvents();
}

}  // namespace mroce::verify
