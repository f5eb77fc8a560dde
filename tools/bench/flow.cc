// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "flow.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mroce::bench {

namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr int kBatch = 64;

[[noreturn]] void Fail(const char* what, int error) {
  throw SetupError(fmt::format("{}: {}", what, std::strerror(error)));
}

}  // namespace

Flow::Flow(const Options& o, Channel c)
    : channel(std::move(c)), o_(o), device_(OpenDevice(o.device, o.ib_port, o.gid_index, o.ipv6)) {
  slots_ = std::clamp<uint64_t>(o_.memory / o_.size, 1, uint64_t{o_.qps} * o_.depth);
  region_ = std::make_unique<Region>(device_, slots_ * o_.size, kAccess);
  std::memset(region_->data(), 0x5a, region_->size());
  CreateQps();
  channel.Send(FrameType::kEndpoint, Endpoint());
  Connect(channel.Expect(FrameType::kEndpoint, o_.connect_timeout).body);
  if (o_.listen && o_.op == Op::kSend)
    for (uint32_t i = 0; i < o_.qps; i++)
      for (uint32_t n = 0; n < o_.depth; n++) PostReceive(i);
  Arm();
  channel.Send(FrameType::kReady, {});
  channel.Expect(FrameType::kReady, o_.connect_timeout);
}

void Flow::CreateQps() {
  events_.reset(ibv_create_comp_channel(device_.context.get()));
  if (!events_) Fail("ibv_create_comp_channel", errno);
  fcntl(events_->fd, F_SETFL, fcntl(events_->fd, F_GETFL) | O_NONBLOCK);
  const uint64_t entries = uint64_t{o_.qps} * o_.depth + 1;
  if (entries > static_cast<uint64_t>(device_.attr.max_cqe))
    throw SetupError(fmt::format("{} QPs of depth {} need a CQ of {} entries, {} has at most {}", o_.qps, o_.depth,
                                 entries, device_.name, device_.attr.max_cqe));
  cq_.reset(ibv_create_cq(device_.context.get(), static_cast<int>(entries), nullptr, events_.get(), 0));
  if (!cq_) Fail("ibv_create_cq", errno);
  for (uint32_t i = 0; i < o_.qps; i++) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.qp_type = IBV_QPT_RC;
    init.cap = {.max_send_wr = o_.depth, .max_recv_wr = o_.depth, .max_send_sge = 1, .max_recv_sge = 1,
                .max_inline_data = 0};
    init.sq_sig_all = 1;
    qps_.emplace_back(ibv_create_qp(device_.pd.get(), &init));
    if (!qps_.back()) Fail("ibv_create_qp", errno);
    QpAttributes a;
    ToInit(qps_.back().get(), device_, a);
  }
}

std::vector<uint8_t> Flow::Endpoint() const {
  Writer w;
  w.Raw(device_.gid.raw, sizeof device_.gid.raw);
  w.U64(device_.port_attr.active_mtu);
  w.U64(region_->address());
  w.U64(region_->rkey());
  for (const QpPtr& qp : qps_) w.U64(qp->qp_num);
  return w.body;
}

void Flow::Connect(const std::vector<uint8_t>& peer) {
  Reader r(peer);
  Remote remote;
  r.Raw(remote.gid.raw, sizeof remote.gid.raw);
  QpAttributes a;
  a.mtu = std::min(device_.port_attr.active_mtu, static_cast<ibv_mtu>(r.U64()));
  a.timeout = o_.timeout;
  a.tclass = o_.tclass;
  a.rd_atomic = static_cast<uint32_t>(std::clamp(device_.attr.max_qp_rd_atom, 1, 16));
  a.access = kAccess;
  remote_address_ = r.U64();
  remote_key_ = static_cast<uint32_t>(r.U64());
  for (const QpPtr& qp : qps_) {
    remote.qpn = static_cast<uint32_t>(r.U64());
    ToRtr(qp.get(), device_, a, remote);
    ToRts(qp.get(), a, 0);
  }
}

void Flow::Post(uint32_t qp) {
  const uint64_t offset = posted_++ % slots_ * o_.size;
  ibv_sge sge{.addr = region_->address() + offset, .length = o_.size, .lkey = region_->lkey()};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = qp;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = o_.op == Op::kWrite ? IBV_WR_RDMA_WRITE : o_.op == Op::kRead ? IBV_WR_RDMA_READ : IBV_WR_SEND;
  wr.wr.rdma.remote_addr = remote_address_ + offset;
  wr.wr.rdma.rkey = remote_key_;
  if (const int rc = ibv_post_send(qps_[qp].get(), &wr, &bad)) Fail("ibv_post_send", rc);
}

void Flow::PostReceive(uint32_t qp) {
  ibv_sge sge{.addr = region_->address(), .length = o_.size, .lkey = region_->lkey()};
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = qp;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  if (const int rc = ibv_post_recv(qps_[qp].get(), &wr, &bad)) Fail("ibv_post_recv", rc);
}

const std::vector<ibv_wc>& Flow::Poll() {
  std::array<ibv_wc, kBatch> wc;
  int n;
  found_.clear();
  do {
    n = ibv_poll_cq(cq_.get(), kBatch, wc.data());
    if (n < 0) throw VerifyError("ibv_poll_cq failed");
    found_.insert(found_.end(), wc.begin(), wc.begin() + n);
  } while (n == kBatch);
  for (const ibv_wc& w : found_)
    if (w.status != IBV_WC_SUCCESS)
      throw VerifyError(fmt::format("a request failed: {}", ibv_wc_status_str(w.status)));
  return found_;
}

void Flow::Arm() {
  if (const int rc = ibv_req_notify_cq(cq_.get(), 0)) Fail("ibv_req_notify_cq", rc);
}

void Flow::Wait(int deadline_ms) {
  pollfd p[2] = {{events_->fd, POLLIN, 0}, {channel.fd(), POLLIN, 0}};
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  poll(p, 2, deadline_ms);
  if (!(p[0].revents & POLLIN) || ibv_get_cq_event(events_.get(), &cq, &context)) return;
  ibv_ack_cq_events(cq, 1);
  Arm();
}

}  // namespace mroce::bench
