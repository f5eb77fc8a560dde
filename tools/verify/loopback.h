// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two QPs connected to each other within this process, for tests that need both ends.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "device.h"

namespace mroce::verify {

// A test's finding; ends the test.
struct Problem {
  std::string text;
};
void Check(bool ok, const std::string& problem);

inline constexpr size_t kEndMemory = 64u << 10;

struct End {
  Device* device = nullptr;
  CqPtr send_cq, receive_cq;
  std::unique_ptr<Region> memory;  // poisoned; every right
  QpPtr qp;
};

struct PairOptions {
  ibv_qp_cap cap{16, 16, 2, 2, 64};
  QpAttributes attributes{};
  int b_access = -1;       // QP rights of the second end, -1: as the first
  uint32_t wrong_qpn = 0;  // added to the number the first end connects to
  bool connect = true;
};

struct Pair {
  Pair(Device* first, Device* second, const PairOptions& o = {});
  End a, b;
  ibv_qp_cap cap{};  // what was granted at the first end
  QpAttributes attributes;
};

// Both ends through ERR and RESET to RTS again. Throws Problem, SetupError.
void Reconnect(Pair* p);

ibv_sge Sge(const Region& r, uint64_t offset, uint32_t length);
int PostReceive(ibv_qp* qp, uint64_t id, const ibv_sge* sge, int count);
// RDMA opcodes take @rkey and @remote.
ibv_send_wr Request(ibv_wr_opcode op, uint64_t id, ibv_sge* sge, int count, uint64_t remote = 0, uint32_t rkey = 0);
int PostOne(ibv_qp* qp, ibv_send_wr wr);

std::optional<ibv_wc> NextCompletion(ibv_cq* cq, uint32_t timeout_ms);
// The next completion has this wr_id and one of these statuses; otherwise Problem.
ibv_wc Expect(ibv_cq* cq, const std::string& who, uint64_t id, std::initializer_list<ibv_wc_status> statuses,
              uint32_t timeout_ms = 20000);
void ExpectNone(ibv_cq* cq, const std::string& who, uint32_t wait_ms = 50);

// A SEND, a WRITE and a READ between two new QPs, contents checked. Throws Problem.
void CleanTransfer(Device* first, Device* second);

}  // namespace mroce::verify
