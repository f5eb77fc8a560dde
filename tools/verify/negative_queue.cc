// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Queues that overflow, shrink below what they hold, are lied about, or are reset under use.
#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "mappings.h"
#include "negative_tests.h"

namespace mroce::verify {

namespace {

// The system call below ibv_post_send(), without anything put into the ring: 0 or an errno value.
int RingDoorbell(const ibv_qp* qp) {
  struct {
    ib_uverbs_cmd_hdr header;
    ib_uverbs_post_send command;
  } c{};
  ib_uverbs_post_send_resp response{};
  c.header.command = IB_USER_VERBS_CMD_POST_SEND;
  c.header.in_words = sizeof(c) / 4;
  c.header.out_words = sizeof(response) / 4;
  c.command.response = reinterpret_cast<uintptr_t>(&response);
  c.command.qp_handle = qp->handle;
  c.command.wqe_size = sizeof(ib_uverbs_send_wr);
  return write(qp->context->cmd_fd, &c, sizeof(c)) < 0 ? errno : 0;
}

volatile uint32_t& Word(const Mapping& m, size_t at) { return *reinterpret_cast<uint32_t*>(m.at + at); }

// Whose code polls the CQs? The device's name is the user's choice.
bool IsMetaroce(const Device& d) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(d.context->ops.poll_cq), &info) && info.dli_fname &&
         std::string(info.dli_fname).find("libmetaroce") != std::string::npos;
}

// Zero-length WRITEs, signalled; nobody polls. Stops at @count, or when the queue stays full.
void Complete(Pair& p, uint32_t count) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (uint32_t i = 0; i < count;) {
    ibv_send_wr wr = Request(IBV_WR_RDMA_WRITE, i, nullptr, 0, p.b.memory->address(), p.b.memory->rkey());
    if (!PostOne(p.a.qp.get(), wr)) {
      i++;
      continue;
    }
    Check(std::chrono::steady_clock::now() < until, fmt::format("request {} finds no room: nothing completes", i));
    usleep(200);
  }
}

// Waits for an asynchronous event of this kind and this CQ; others are taken, too.
bool SeesCqEvent(ibv_context* context, const ibv_cq* cq) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < until) {
    pollfd fd{context->async_fd, POLLIN, 0};
    if (poll(&fd, 1, 100) <= 0) continue;
    ibv_async_event event;
    if (ibv_get_async_event(context, &event)) return false;
    ibv_ack_async_event(&event);
    if (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq) return true;
  }
  return false;
}

void CqOverflow(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_cq* cq = p.a.send_cq.get();
  Complete(p, static_cast<uint32_t>(cq->cqe) + 1);
  Check(SeesCqEvent(env.first->context.get(), cq), "a CQ overflowed, and no IBV_EVENT_CQ_ERR came");
}

void CqResizeBelowContents(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_cq* cq = p.a.send_cq.get();
  constexpr uint32_t kHeld = 10;
  Complete(p, kHeld);
  // all have come: the last one is in the CQ
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int rc;
  while (!(rc = ibv_resize_cq(cq, kHeld / 2)) && std::chrono::steady_clock::now() < until) usleep(1000);
  if (rc == EOPNOTSUPP || rc == ENOSYS) throw NotApplicable{"CQs are not resized"};
  Check(rc == EINVAL, fmt::format("a CQ with {} completions resized to {}: {}", kHeld, kHeld / 2, rc));
  Check(!ibv_resize_cq(cq, 4 * cq->cqe), "a larger CQ was refused");
  for (uint32_t i = 0; i < kHeld; i++) Expect(cq, "after resizing", i, {IBV_WC_SUCCESS});
}

void SendIndexBack(NegativeEnv& env) {
  constexpr uint32_t kPosted = 5;
  Pair p(env.first, env.second);
  if (!IsMetaroce(*env.first)) throw NotApplicable{"rings of another driver"};
  // They wait for receives, so the kernel has them, and consumes none.
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  for (uint32_t i = 0; i < kPosted; i++)
    Check(!PostOne(p.a.qp.get(), Request(IBV_WR_SEND, i, &s, 1)), "posting failed");
  uint32_t moved = 0;
  for (const Mapping& m : DeviceMappings()) {
    volatile uint32_t& producer = Word(m, kRingProducer);
    if (producer != kPosted || Word(m, kRingConsumer) != 0) continue;
    moved++;
    for (const uint32_t back : {1u, kPosted, 0x80000000u}) {
      producer = kPosted - back;
      const int rc = RingDoorbell(p.a.qp.get());
      Check(rc == EINVAL, fmt::format("the index went back by {}: {} instead of EINVAL", back, rc));
    }
    producer = kPosted;
  }
  Check(moved > 0, "the send queue's ring was not found");
  Check(!RingDoorbell(p.a.qp.get()), "the index is right again, and still refused");
  const ibv_sge into = Sge(*p.b.memory, 0, 8);
  for (uint32_t i = 0; i < kPosted; i++) Check(!PostReceive(p.b.qp.get(), i, &into, 1), "ibv_post_recv failed");
  for (uint32_t i = 0; i < kPosted; i++) Expect(p.a.send_cq.get(), "requester", i, {IBV_WC_SUCCESS});
}

// Doorbells from another thread at every moment of a reset: a live QP's requests are not flushed.
void ResetUnderDoorbells(NegativeEnv& env) {
  constexpr uint32_t kRounds = 50;
  Pair p(env.first, env.second);
  std::atomic<bool> stop{false};
  std::thread ringer([&] {
    while (!stop) RingDoorbell(p.a.qp.get());
  });
  const auto join = [&] {
    stop = true;
    ringer.join();
  };
  try {
    for (uint32_t i = 0; i < kRounds; i++) {
      Reconnect(&p);
      for (uint32_t k = 0; k < 4; k++) {
        const auto wr = Request(IBV_WR_RDMA_WRITE, k, nullptr, 0, p.b.memory->address(), p.b.memory->rkey());
        Check(!PostOne(p.a.qp.get(), wr), "posting failed");
      }
      for (uint32_t k = 0; k < 4; k++) Expect(p.a.send_cq.get(), fmt::format("round {}", i), k, {IBV_WC_SUCCESS});
    }
  } catch (...) {
    join();
    throw;
  }
  join();
}

constexpr NegativeTest kQueue[] = {
    {"cq_overflow", CqOverflow},
    {"cq_resize_below_contents", CqResizeBelowContents},
    {"send_index_back", SendIndexBack},
    {"reset_under_doorbells", ResetUnderDoorbells},
};

}  // namespace

std::span<const NegativeTest> QueueTests() { return kQueue; }

}  // namespace mroce::verify
