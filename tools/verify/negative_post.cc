// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Errors that a call reports itself: creating, modifying, posting.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "negative_tests.h"
#include "pattern.h"

namespace mroce::verify {

namespace {

// Providers agree on failing, not on the number: EINVAL in some, ENOMEM in others.
void CheckRefused(int rc, const std::string& what) {
  Check(rc == EINVAL || rc == ENOMEM || rc == -EINVAL || rc == -ENOMEM,
        fmt::format("{}: returned {}, expected EINVAL or ENOMEM", what, rc));
}
void CheckNull(const void* object, const std::string& what, std::initializer_list<int> errors) {
  const int error = errno;
  Check(!object, what + " succeeded");
  for (const int e : errors)
    if (e == error) return;
  throw Problem{fmt::format("{}: errno {} ({})", what, error, std::strerror(error))};
}

void InlineMax(NegativeEnv& env) {
  Pair p(env.first, env.second);
  const uint32_t n = p.cap.max_inline_data;
  if (!n) throw NotApplicable{"no inline data"};
  std::vector<uint8_t> unregistered(n);
  const Pattern pattern(1, 0, 0, 0);
  pattern.Fill(unregistered.data(), 0, n);
  const ibv_sge into = Sge(*p.b.memory, 0, n);
  Check(!PostReceive(p.b.qp.get(), 7, &into, 1), "ibv_post_recv failed");
  ibv_sge s{reinterpret_cast<uintptr_t>(unregistered.data()), n, 0};
  ibv_send_wr wr = Request(IBV_WR_SEND, 1, &s, 1);
  wr.send_flags |= IBV_SEND_INLINE;
  Check(!PostOne(p.a.qp.get(), wr), fmt::format("{} inline bytes, as granted, were refused", n));
  Poison(unregistered.data(), n);
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_SUCCESS});
  Expect(p.b.receive_cq.get(), "receiver", 7, {IBV_WC_SUCCESS});
  Check(!pattern.Check(p.b.memory->data(), 0, n), "inline data arrived wrong");
}

void InlineTooLong(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, 0, p.cap.max_inline_data + 1);
  ibv_send_wr wr = Request(IBV_WR_SEND, 1, &s, 1);
  wr.send_flags |= IBV_SEND_INLINE;
  CheckRefused(PostOne(p.a.qp.get(), wr), fmt::format("{} bytes inline", p.cap.max_inline_data + 1));
  ExpectNone(p.a.send_cq.get(), "requester");
}

void SendTooManySges(NegativeEnv& env) {
  Pair p(env.first, env.second);
  std::vector<ibv_sge> s(p.cap.max_send_sge + 1, Sge(*p.a.memory, 0, 8));
  const auto wr = Request(IBV_WR_RDMA_WRITE, 1, s.data(), static_cast<int>(s.size()), p.b.memory->address(),
                          p.b.memory->rkey());
  CheckRefused(PostOne(p.a.qp.get(), wr), fmt::format("a request with {} SGEs", s.size()));
  ExpectNone(p.a.send_cq.get(), "requester");
}
void ReceiveTooManySges(NegativeEnv& env) {
  Pair p(env.first, env.second);
  std::vector<ibv_sge> s(p.cap.max_recv_sge + 1, Sge(*p.a.memory, 0, 8));
  CheckRefused(PostReceive(p.a.qp.get(), 1, s.data(), static_cast<int>(s.size())),
               fmt::format("a receive with {} SGEs", s.size()));
}

// The bad one is named by bad_wr, those before it are executed.
void BadInList(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  std::vector<ibv_sge> many(p.cap.max_send_sge + 1, s);
  ibv_send_wr wr[3];
  for (uint64_t i = 0; i < 3; i++) {
    wr[i] = Request(IBV_WR_RDMA_WRITE, i, &s, 1, p.b.memory->address(), p.b.memory->rkey());
    if (i) wr[i - 1].next = &wr[i];
  }
  wr[1].sg_list = many.data();
  wr[1].num_sge = static_cast<int>(many.size());
  ibv_send_wr* bad = nullptr;
  CheckRefused(ibv_post_send(p.a.qp.get(), wr, &bad), "a list with a bad request");
  Check(bad == &wr[1], "bad_wr does not point at the bad request");
  Expect(p.a.send_cq.get(), "the request before the bad one", 0, {IBV_WC_SUCCESS});
  ExpectNone(p.a.send_cq.get(), "requester");
}

void SendQueueFull(NegativeEnv& env) {
  PairOptions o;
  Pair p(env.first, env.second, o);
  // Nothing completes: there is no receive at the other end.
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  uint32_t n = 0;
  int rc = 0;
  while (n < 100000 && !(rc = PostOne(p.a.qp.get(), Request(IBV_WR_SEND, n, &s, 1)))) n++;
  CheckRefused(rc, fmt::format("request {} of a queue of {}", n + 1, p.cap.max_send_wr));
  Check(n >= o.cap.max_send_wr, fmt::format("only {} of {} requests were taken", n, o.cap.max_send_wr));
}
void ReceiveQueueFull(NegativeEnv& env) {
  PairOptions o;
  Pair p(env.first, env.second, o);
  const ibv_sge s = Sge(*p.a.memory, 0, 8);
  uint32_t n = 0;
  int rc = 0;
  while (n < 100000 && !(rc = PostReceive(p.a.qp.get(), n, &s, 1))) n++;
  CheckRefused(rc, fmt::format("receive {} of a queue of {}", n + 1, p.cap.max_recv_wr));
  Check(n >= o.cap.max_recv_wr, fmt::format("only {} of {} receives were taken", n, o.cap.max_recv_wr));
}

// Not every provider looks at the state; but nothing may be sent.
void SendInState(NegativeEnv& env, bool init) {
  PairOptions o;
  o.connect = false;
  Pair p(env.first, env.second, o);
  if (init) ToInit(p.a.qp.get(), *env.first, p.attributes);
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  ibv_send_wr wr = Request(IBV_WR_SEND, 1, &s, 1);
  ibv_send_wr* bad = nullptr;
  if (!ibv_post_send(p.a.qp.get(), &wr, &bad)) ExpectNone(p.a.send_cq.get(), "requester", 200);
}
void SendInReset(NegativeEnv& e) { SendInState(e, false); }
void SendInInit(NegativeEnv& e) { SendInState(e, true); }

void ReceiveInInit(NegativeEnv& env) {
  PairOptions o;
  o.connect = false;
  Pair p(env.first, env.second, o);
  ToInit(p.a.qp.get(), *env.first, p.attributes);
  const ibv_sge s = Sge(*p.a.memory, 0, 8);
  Check(!PostReceive(p.a.qp.get(), 1, &s, 1), "a receive was refused in INIT, where it is legal");
  ExpectNone(p.a.receive_cq.get(), "receiver");
}

void PostInError(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ToError(p.a.qp.get());
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  for (uint64_t i = 0; i < 3; i++) {
    Check(!PostOne(p.a.qp.get(), Request(IBV_WR_SEND, i, &s, 1)), "a request was refused in ERR, where it is flushed");
    Check(!PostReceive(p.a.qp.get(), 10 + i, &s, 1), "a receive was refused in ERR, where it is flushed");
  }
  for (uint64_t i = 0; i < 3; i++) {
    Expect(p.a.send_cq.get(), "request", i, {IBV_WC_WR_FLUSH_ERR}, 5000);
    Expect(p.a.receive_cq.get(), "receive", 10 + i, {IBV_WC_WR_FLUSH_ERR}, 5000);
  }
}

void ReceivesFlushed(NegativeEnv& env) {
  Pair p(env.first, env.second);
  const ibv_sge s = Sge(*p.a.memory, 0, 8);
  for (uint64_t i = 0; i < 5; i++) Check(!PostReceive(p.a.qp.get(), i, &s, 1), "ibv_post_recv failed");
  ToError(p.a.qp.get());
  for (uint64_t i = 0; i < 5; i++) Expect(p.a.receive_cq.get(), "receive", i, {IBV_WC_WR_FLUSH_ERR}, 5000);
  ExpectNone(p.a.receive_cq.get(), "afterwards");
}

// ERR -> RESET drops everything, and the QP can be connected anew.
void ResetAndReconnect(NegativeEnv& env) {
  Pair p(env.first, env.second);
  Reconnect(&p);
  ibv_sge s = Sge(*p.a.memory, 0, 5000);
  const Pattern pattern(1, 0, 0, 9);
  pattern.Fill(p.a.memory->data(), 0, 5000);
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_RDMA_WRITE, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey())),
        "posting failed");
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_SUCCESS});
  Check(!pattern.Check(p.b.memory->data(), 0, 5000), "wrong content after the reconnection");
}

void BadOpcode(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  if (PostOne(p.a.qp.get(), Request(static_cast<ibv_wr_opcode>(0x7f), 1, &s, 1))) return;
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_LOC_QP_OP_ERR, IBV_WC_GENERAL_ERR, IBV_WC_FATAL_ERR});
}

void MessageTooLong(NegativeEnv& env) {
  const uint64_t limit = env.first->port_attr.max_msg_sz;
  if (limit > 64u << 20) throw NotApplicable{fmt::format("max_msg_sz is {}", limit)};
  Pair p(env.first, env.second);
  const Region from(*env.first, limit + 1, IBV_ACCESS_LOCAL_WRITE);
  const Region to(*env.second, limit + 1, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ibv_sge s = Sge(from, 0, static_cast<uint32_t>(limit + 1));
  if (PostOne(p.a.qp.get(), Request(IBV_WR_RDMA_WRITE, 1, &s, 1, to.address(), to.rkey()))) return;
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR}, 60000);
}

void CqSizes(NegativeEnv& env) {
  const int max = env.first->attr.max_cqe;
  const auto make = [&](int n) { return CqPtr(ibv_create_cq(env.first->context.get(), n, nullptr, nullptr, 0)); };
  const CqPtr largest = make(max);
  Check(largest != nullptr, fmt::format("a CQ of max_cqe = {} was refused: {}", max, std::strerror(errno)));
  Check(largest->cqe >= max, fmt::format("a CQ of {} holds {}", max, largest->cqe));
  if (max < INT32_MAX) CheckNull(make(max + 1).get(), "a CQ of max_cqe + 1", {EINVAL, ENOMEM});
  const CqPtr one = make(1);
  Check(one && one->cqe >= 1, "a CQ of 1 was refused");
}
void CqBadVector(NegativeEnv& env) {
  ibv_context* c = env.first->context.get();
  const CqPtr cq(ibv_create_cq(c, 8, nullptr, nullptr, c->num_comp_vectors));
  CheckNull(cq.get(), "a CQ with a completion vector that is not there", {EINVAL});
}

void QpLimits(NegativeEnv& env) {
  const ibv_device_attr& d = env.first->attr;
  const CqPtr cq(ibv_create_cq(env.first->context.get(), 16, nullptr, nullptr, 0));
  Check(cq != nullptr, "ibv_create_cq failed");
  const auto refused = [&](const char* what, ibv_qp_cap cap) {
    ibv_qp_init_attr a{};
    a.send_cq = a.recv_cq = cq.get();
    a.qp_type = IBV_QPT_RC;
    a.cap = cap;
    const QpPtr qp(ibv_create_qp(env.first->pd.get(), &a));
    CheckNull(qp.get(), what, {EINVAL, ENOMEM});
  };
  const auto wr = static_cast<uint32_t>(d.max_qp_wr);
  const auto sge = static_cast<uint32_t>(d.max_sge);
  refused("a QP with max_qp_wr + 1 requests", {wr + 1, 1, 1, 1, 0});
  refused("a QP with max_qp_wr + 1 receives", {1, wr + 1, 1, 1, 0});
  refused("a QP with max_sge + 1 send SGEs", {1, 1, sge + 1, 1, 0});
  refused("a QP with max_sge + 1 receive SGEs", {1, 1, 1, sge + 1, 0});
  refused("a QP with 1 MiB inline", {1, 1, 1, 1, 1u << 20});
}

void SkippedStates(NegativeEnv& env) {
  PairOptions o;
  o.connect = false;
  Pair p(env.first, env.second, o);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  const int mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                   IBV_QP_MAX_QP_RD_ATOMIC;
  CheckRefused(ibv_modify_qp(p.a.qp.get(), &a, mask), "RESET to RTS");
  ToInit(p.a.qp.get(), *env.first, p.attributes);
  CheckRefused(ibv_modify_qp(p.a.qp.get(), &a, mask), "INIT to RTS");
  a.qp_state = IBV_QPS_RTR;
  CheckRefused(ibv_modify_qp(p.a.qp.get(), &a, IBV_QP_STATE), "INIT to RTR without attributes");
}

void MrBadRights(NegativeEnv& env) {
  std::vector<uint8_t> memory(8192);
  const MrPtr mr(ibv_reg_mr(env.first->pd.get(), memory.data(), memory.size(), IBV_ACCESS_REMOTE_WRITE));
  CheckNull(mr.get(), "remote write without local write", {EINVAL});
}
void MrUnmapped(NegativeEnv& env) {
  void* hole = mmap(nullptr, 1u << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(hole, 1u << 20);
  const MrPtr mr(ibv_reg_mr(env.first->pd.get(), hole, 8192, IBV_ACCESS_LOCAL_WRITE));
  CheckNull(mr.get(), "registering unmapped memory", {EFAULT, EINVAL, ENOMEM});
}
void MrWrapping(NegativeEnv& env) {
  auto* address = reinterpret_cast<void*>(UINTPTR_MAX - 4095);
  const MrPtr mr(ibv_reg_mr(env.first->pd.get(), address, 1u << 20, IBV_ACCESS_LOCAL_WRITE));
  CheckNull(mr.get(), "registering a range that wraps", {EFAULT, EINVAL, ENOMEM, EOVERFLOW});
}
void MrReadOnlyPages(NegativeEnv& env) {
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  {
    const MrPtr mr(ibv_reg_mr(env.first->pd.get(), page, 4096, IBV_ACCESS_LOCAL_WRITE));
    CheckNull(mr.get(), "write rights on read-only pages", {EFAULT, EINVAL, EPERM});
  }
  munmap(page, 4096);
}

void BusyObjects(NegativeEnv& env) {
  Pair p(env.first, env.second);
  Check(ibv_dealloc_pd(env.first->pd.get()) == EBUSY, "a PD in use could be freed, or failed otherwise than EBUSY");
  Check(ibv_destroy_cq(p.a.send_cq.get()) == EBUSY, "a CQ in use could be destroyed, or failed otherwise than EBUSY");
}

constexpr NegativeTest kPost[] = {
    {"inline_max", InlineMax},
    {"inline_too_long", InlineTooLong},
    {"send_too_many_sges", SendTooManySges},
    {"recv_too_many_sges", ReceiveTooManySges},
    {"bad_wr_in_list", BadInList},
    {"send_queue_full", SendQueueFull},
    {"recv_queue_full", ReceiveQueueFull},
    {"send_in_reset", SendInReset},
    {"send_in_init", SendInInit},
    {"recv_in_init", ReceiveInInit},
    {"post_in_err", PostInError},
    {"recvs_flushed_by_err", ReceivesFlushed},
    {"reset_and_reconnect", ResetAndReconnect},
    {"bad_opcode", BadOpcode},
    {"message_too_long", MessageTooLong},
    {"cq_sizes", CqSizes},
    {"cq_bad_vector", CqBadVector},
    {"qp_limits", QpLimits},
    {"qp_skipped_states", SkippedStates},
    {"mr_bad_rights", MrBadRights},
    {"mr_unmapped", MrUnmapped},
    {"mr_wrapping", MrWrapping},
    {"mr_read_only_pages", MrReadOnlyPages},
    {"busy_objects", BusyObjects},
};

}  // namespace

std::span<const NegativeTest> PostTests() { return kPost; }

}  // namespace mroce::verify
