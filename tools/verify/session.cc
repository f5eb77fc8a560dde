// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mroce::verify {

namespace {

constexpr uint64_t kPsnMask = 0xffffff;

int AccessFor(const PlanConfig& plan) {
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (std::any_of(plan.ops.begin(), plan.ops.end(), IsAtomic)) access |= IBV_ACCESS_REMOTE_ATOMIC;
  return access;
}

void CheckCapabilities(const Options& o, const Device& d) {
  const auto sge = static_cast<uint32_t>(d.attr.max_sge);
  if (o.plan.max_pieces > sge)
    throw SetupError(fmt::format("{} takes {} SGEs, --sge {} asks for more", d.name, sge, o.plan.max_pieces));
  if (AccessFor(o.plan) & IBV_ACCESS_REMOTE_ATOMIC && d.attr.atomic_cap == IBV_ATOMIC_NONE)
    throw SetupError(fmt::format("{} has no atomics: leave fetch_add and cmp_swap out of --ops", d.name));
  const SizeRange sizes = ParseSizes(o.plan.sizes);
  const uint64_t largest = sizes.mixed ? o.plan.max_size : sizes.hi;
  if (largest > d.port_attr.max_msg_sz)
    throw SetupError(fmt::format("{} sends at most {} bytes a message, --sizes asks for {}", d.name,
                                 d.port_attr.max_msg_sz, largest));
}

void SetSges(ibv_qp_ex* qp, const ibv_send_wr& wr) {
  if (!(wr.send_flags & IBV_SEND_INLINE)) {
    ibv_wr_set_sge_list(qp, static_cast<size_t>(wr.num_sge), wr.sg_list);
    return;
  }
  std::array<ibv_data_buf, kMaxPieces> buffers;
  for (int i = 0; i < wr.num_sge; i++) {
    const ibv_sge& s = wr.sg_list[i];
    buffers[static_cast<size_t>(i)] = {reinterpret_cast<void*>(s.addr), s.length};
  }
  if (wr.num_sge == 1) {
    ibv_wr_set_inline_data(qp, buffers[0].addr, buffers[0].length);
    return;
  }
  ibv_wr_set_inline_data_list(qp, static_cast<size_t>(wr.num_sge), buffers.data());
}

int PostExtended(ibv_qp_ex* qp, const ibv_send_wr* first) {
  ibv_wr_start(qp);
  for (const ibv_send_wr* wr = first; wr; wr = wr->next) {
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags;
    const auto& rdma = wr->wr.rdma;
    const auto& atomic = wr->wr.atomic;
    switch (wr->opcode) {
      case IBV_WR_SEND: ibv_wr_send(qp); break;
      case IBV_WR_SEND_WITH_IMM: ibv_wr_send_imm(qp, wr->imm_data); break;
      case IBV_WR_RDMA_WRITE: ibv_wr_rdma_write(qp, rdma.rkey, rdma.remote_addr); break;
      case IBV_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(qp, rdma.rkey, rdma.remote_addr, wr->imm_data);
        break;
      case IBV_WR_RDMA_READ: ibv_wr_rdma_read(qp, rdma.rkey, rdma.remote_addr); break;
      case IBV_WR_ATOMIC_FETCH_AND_ADD:
        ibv_wr_atomic_fetch_add(qp, atomic.rkey, atomic.remote_addr, atomic.compare_add);
        break;
      case IBV_WR_ATOMIC_CMP_AND_SWP:
        ibv_wr_atomic_cmp_swp(qp, atomic.rkey, atomic.remote_addr, atomic.compare_add, atomic.swap);
        break;
      default:
        ibv_wr_abort(qp);
        return EINVAL;
    }
    SetSges(qp, *wr);
  }
  return ibv_wr_complete(qp);
}

}  // namespace

int PostChain(Connection& c, ibv_send_wr* first) {
  if (c.extended) return PostExtended(c.extended, first);
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(c.qp.get(), first, &bad);
}

Channel Greet(Options* o) {
  constexpr uint32_t kAnswer = 20;
  if (!o->listen) {
    Channel c = Channel::Connect(o->host, o->port, o->connect_timeout);
    const std::string text = EncodeTraffic(*o);
    c.Send(FrameType::kTraffic, {text.begin(), text.end()});
    return c;
  }
  Channel c = Channel::Listen(o->port, o->connect_timeout);
  const Frame f = c.Expect(FrameType::kTraffic, kAnswer);
  try {
    DecodeTraffic({f.body.begin(), f.body.end()}, o);
  } catch (const std::exception& e) {
    throw SetupError(e.what());
  }
  return c;
}

Session::Session(const Options& o, Channel ch) : options(o), channel(std::move(ch)) {
  try {
    device = OpenDevice(o.device, o.ib_port, o.gid_index, o.ipv6);
    CheckCapabilities(o, device);
    attributes = {o.timeout, o.retry, o.rnr_retry, o.min_rnr_timer, o.tclass, o.sl,
                  device.port_attr.active_mtu, o.rd_atomic, AccessFor(o.plan)};
    if (o.mtu) attributes.mtu = std::min(attributes.mtu, MtuEnum(o.mtu));
    attributes.rd_atomic = std::min({o.rd_atomic, static_cast<uint32_t>(device.attr.max_qp_rd_atom),
                                     static_cast<uint32_t>(device.attr.max_qp_init_rd_atom), 255u});
    cqs = std::make_unique<CqSet>(device, o, o.qps, o.depth, o.depth);
    connections.resize(o.qps);
    for (uint32_t i = 0; i < o.qps; i++) CreateQp(i);
    channel.Send(FrameType::kEndpoint, Endpoint());
    Connect(channel.Expect(FrameType::kEndpoint, o.connect_timeout).body);
    channel.Send(FrameType::kReady, {});
    channel.Expect(FrameType::kReady, o.connect_timeout);
  } catch (const SetupError& e) {
    // Tell the other side why, it would wait in vain; it may be gone itself.
    const std::string text = e.what();
    try {
      channel.Send(FrameType::kError, {text.begin(), text.end()});
    } catch (const VerifyError&) {
    }
    throw;
  }
}

void Session::CreateQp(uint32_t index) {
  Connection& c = connections[index];
  uint32_t in = options.max_inline;
  for (;; in /= 2) {
    ibv_qp_init_attr_ex a{};
    a.send_cq = cqs->SendCq(index);
    a.recv_cq = cqs->ReceiveCq(index);
    a.qp_type = IBV_QPT_RC;
    a.cap = {options.depth, options.depth, std::max(options.plan.max_pieces, 6u), options.plan.max_pieces, in};
    a.comp_mask = IBV_QP_INIT_ATTR_PD;
    a.pd = device.pd.get();
    if (options.extended) {
      a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      a.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
                         IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
      if (attributes.access & IBV_ACCESS_REMOTE_ATOMIC)
        a.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    }
    c.qp.reset(ibv_create_qp_ex(device.context.get(), &a));
    if (c.qp) {
      c.max_inline = std::min(a.cap.max_inline_data, options.max_inline);
      break;
    }
    if (!in)
      throw SetupError(fmt::format("cannot create QP {} of {}: {}{}", index + 1, options.qps, std::strerror(errno),
                                   options.extended ? " (without --extended?)" : ""));
  }
  if (options.extended) c.extended = ibv_qp_to_qp_ex(c.qp.get());
  c.psn = static_cast<uint32_t>(Mix(options.plan.seed + c.qp->qp_num) & kPsnMask);
  if (Requests()) c.source = std::make_unique<Region>(device, options.plan.ring, IBV_ACCESS_LOCAL_WRITE);
  if (Responds()) c.target = std::make_unique<Region>(device, options.plan.ring, attributes.access);
}

std::vector<uint8_t> Session::Endpoint() const {
  Writer w;
  w.Raw(device.gid.raw, 16);
  w.U64(attributes.mtu);
  w.U64(attributes.rd_atomic);
  for (const Connection& c : connections) {
    w.U64(c.qp->qp_num);
    w.U64(c.psn);
    w.U64(c.target ? c.target->address() : 0);
    w.U64(c.target ? c.target->rkey() : 0);
  }
  return w.body;
}

void Session::Connect(const std::vector<uint8_t>& peer) {
  Reader r(peer);
  Remote remote;
  r.Raw(remote.gid.raw, 16);
  attributes.mtu = static_cast<ibv_mtu>(std::min<uint64_t>(attributes.mtu, r.U64()));
  attributes.rd_atomic = static_cast<uint32_t>(std::min<uint64_t>(attributes.rd_atomic, r.U64()));
  for (Connection& c : connections) {
    remote.qpn = static_cast<uint32_t>(r.U64());
    remote.psn = static_cast<uint32_t>(r.U64());
    c.peer_target.address = r.U64();
    c.peer_target.rkey = static_cast<uint32_t>(r.U64());
    if (c.target && !c.target->rkey())
      fmt::print(stderr, "note: rkey 0, which some clients take for invalid\n");
    ToInit(c.qp.get(), device, attributes);
    ToRtr(c.qp.get(), device, attributes, remote);
    ToRts(c.qp.get(), attributes, c.psn);
  }
}

uint32_t Session::IndexOf(uint32_t qp_num) const {
  for (uint32_t i = 0; i < connections.size(); i++)
    if (connections[i].qp->qp_num == qp_num) return i;
  throw VerifyError(fmt::format("a completion names QP {:#x}, which is none of ours", qp_num));
}

}  // namespace mroce::verify
