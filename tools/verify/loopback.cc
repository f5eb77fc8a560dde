// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "loopback.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "oob.h"
#include "pattern.h"

namespace mroce::verify {

namespace {

constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

int RightsOf(const Device& d) {
  return kAllRights | (d.attr.atomic_cap != IBV_ATOMIC_NONE ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

void Make(End* e, Device* d, const PairOptions& o, ibv_qp_cap* granted) {
  e->device = d;
  e->send_cq.reset(ibv_create_cq(d->context.get(), 64, nullptr, nullptr, 0));
  e->receive_cq.reset(ibv_create_cq(d->context.get(), 64, nullptr, nullptr, 0));
  if (!e->send_cq || !e->receive_cq) throw SetupError(fmt::format("ibv_create_cq: {}", std::strerror(errno)));
  e->memory = std::make_unique<Region>(*d, kEndMemory, RightsOf(*d));
  Poison(e->memory->data(), kEndMemory);
  ibv_qp_init_attr a{};
  a.send_cq = e->send_cq.get();
  a.recv_cq = e->receive_cq.get();
  a.qp_type = IBV_QPT_RC;
  a.cap = o.cap;
  e->qp.reset(ibv_create_qp(d->pd.get(), &a));
  if (!e->qp) throw SetupError(fmt::format("ibv_create_qp: {}", std::strerror(errno)));
  if (granted) *granted = a.cap;
}

}  // namespace

void Check(bool ok, const std::string& problem) {
  if (!ok) throw Problem{problem};
}

Pair::Pair(Device* first, Device* second, const PairOptions& o) : attributes(o.attributes) {
  Make(&a, first, o, &cap);
  Make(&b, second, o, nullptr);
  attributes.mtu = std::min(first->port_attr.active_mtu, second->port_attr.active_mtu);
  attributes.access = RightsOf(*first);
  if (!o.connect) return;
  QpAttributes of_b = attributes;
  if (o.b_access >= 0) of_b.access = o.b_access;
  ToInit(a.qp.get(), *first, attributes);
  ToInit(b.qp.get(), *second, of_b);
  ToRtr(b.qp.get(), *second, of_b, {first->gid, a.qp->qp_num, 1});
  ToRtr(a.qp.get(), *first, attributes, {second->gid, b.qp->qp_num + o.wrong_qpn, 2});
  ToRts(b.qp.get(), of_b, 2);
  ToRts(a.qp.get(), attributes, 1);
}

void Reconnect(Pair* p) {
  for (End* e : {&p->a, &p->b}) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RESET;
    ToError(e->qp.get());
    Check(!ibv_modify_qp(e->qp.get(), &a, IBV_QP_STATE), "ERR to RESET failed");
    ToInit(e->qp.get(), *e->device, p->attributes);
  }
  ToRtr(p->b.qp.get(), *p->b.device, p->attributes, {p->a.device->gid, p->a.qp->qp_num, 100});
  ToRtr(p->a.qp.get(), *p->a.device, p->attributes, {p->b.device->gid, p->b.qp->qp_num, 200});
  ToRts(p->b.qp.get(), p->attributes, 200);
  ToRts(p->a.qp.get(), p->attributes, 100);
}

ibv_sge Sge(const Region& r, uint64_t offset, uint32_t length) { return {r.address() + offset, length, r.lkey()}; }

int PostReceive(ibv_qp* qp, uint64_t id, const ibv_sge* sge, int count) {
  ibv_recv_wr wr{id, nullptr, const_cast<ibv_sge*>(sge), count};
  ibv_recv_wr* bad = nullptr;
  const int rc = ibv_post_recv(qp, &wr, &bad);
  Check(!rc || bad == &wr, "ibv_post_recv failed and did not set bad_wr");
  return rc;
}

ibv_send_wr Request(ibv_wr_opcode op, uint64_t id, ibv_sge* sge, int count, uint64_t remote, uint32_t rkey) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.opcode = op;
  wr.sg_list = sge;
  wr.num_sge = count;
  wr.send_flags = IBV_SEND_SIGNALED;
  if (op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP) {
    wr.wr.atomic.remote_addr = remote;
    wr.wr.atomic.rkey = rkey;
  } else {
    wr.wr.rdma.remote_addr = remote;
    wr.wr.rdma.rkey = rkey;
  }
  return wr;
}

int PostOne(ibv_qp* qp, ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  const int rc = ibv_post_send(qp, &wr, &bad);
  Check(!rc || bad == &wr, "ibv_post_send failed and did not set bad_wr");
  return rc;
}

std::optional<ibv_wc> NextCompletion(ibv_cq* cq, uint32_t timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    Check(n >= 0, fmt::format("ibv_poll_cq returned {}", n));
    if (n) return wc;
    if (std::chrono::steady_clock::now() >= until) return std::nullopt;
    usleep(200);
  }
}

ibv_wc Expect(ibv_cq* cq, const std::string& who, uint64_t id, std::initializer_list<ibv_wc_status> statuses,
              uint32_t timeout_ms) {
  std::string wanted;
  for (const ibv_wc_status s : statuses) wanted += (wanted.empty() ? "" : " or ") + std::string(ibv_wc_status_str(s));
  const auto wc = NextCompletion(cq, timeout_ms);
  Check(wc.has_value(), fmt::format("{}: no completion within {} ms, expected {}", who, timeout_ms, wanted));
  Check(wc->wr_id == id, fmt::format("{}: completion of wr_id {}, expected {}", who, wc->wr_id, id));
  Check(std::find(statuses.begin(), statuses.end(), wc->status) != statuses.end(),
        fmt::format("{}: status {} ({}), expected {}", who, static_cast<int>(wc->status),
                    ibv_wc_status_str(wc->status), wanted));
  return *wc;
}

void ExpectNone(ibv_cq* cq, const std::string& who, uint32_t wait_ms) {
  const auto wc = NextCompletion(cq, wait_ms);
  Check(!wc, fmt::format("{}: a completion that should not be: wr_id {}, {}", who, wc ? wc->wr_id : 0,
                         wc ? ibv_wc_status_str(wc->status) : ""));
}

void CleanTransfer(Device* first, Device* second) {
  constexpr uint32_t kLength = 20000;
  Pair p(first, second);
  const Pattern sent(1, 0, 0, 1), kept(1, 0, 0, 2);
  uint8_t* a = p.a.memory->data();
  uint8_t* b = p.b.memory->data();
  sent.Fill(a, 0, kLength);
  const ibv_sge into = Sge(*p.b.memory, 0, kLength);
  Check(!PostReceive(p.b.qp.get(), 1, &into, 1), "ibv_post_recv failed");
  ibv_sge from = Sge(*p.a.memory, 0, kLength);
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_SEND, 2, &from, 1)), "posting a SEND failed");
  Expect(p.b.receive_cq.get(), "receive", 1, {IBV_WC_SUCCESS});
  Expect(p.a.send_cq.get(), "SEND", 2, {IBV_WC_SUCCESS});
  Check(!sent.Check(b, 0, kLength), "a SEND arrived with wrong content");
  Poison(b, kLength);
  const uint32_t rkey = p.b.memory->rkey();
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_RDMA_WRITE, 3, &from, 1, p.b.memory->address() + 7, rkey)),
        "posting a WRITE failed");
  Expect(p.a.send_cq.get(), "WRITE", 3, {IBV_WC_SUCCESS});
  Check(!sent.Check(b + 7, 0, kLength), "a WRITE arrived with wrong content");
  kept.Fill(b, 0, kLength);
  ibv_sge back = Sge(*p.a.memory, 30000, kLength);
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_RDMA_READ, 4, &back, 1, p.b.memory->address(), rkey)),
        "posting a READ failed");
  Expect(p.a.send_cq.get(), "READ", 4, {IBV_WC_SUCCESS});
  Check(!kept.Check(a + 30000, 0, kLength), "a READ returned wrong content");
}

}  // namespace mroce::verify
