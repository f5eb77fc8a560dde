// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "negative.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "negative_tests.h"
#include "oob.h"
#include "pattern.h"
#include "report.h"

namespace mroce::verify {

namespace {

constexpr uint32_t kLength = 3000;
constexpr uint32_t kBogus = 0x5a5a5a5a;

// The target of a refused request must not have changed.
void CheckUntouched(const End& e) {
  Check(!CheckPoison(e.memory->data(), e.memory->size()), "a refused request changed the target's memory");
}

// Posts one request whose failure shows at the requester, and checks the QP went to ERR.
void RequesterError(Pair& p, ibv_send_wr wr, std::initializer_list<ibv_wc_status> statuses) {
  Check(!PostOne(p.a.qp.get(), wr), "posting failed, a completion with error was expected");
  Expect(p.a.send_cq.get(), "requester", wr.wr_id, statuses);
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  if (!PostOne(p.a.qp.get(), Request(IBV_WR_SEND, 99, &s, 1)))
    Expect(p.a.send_cq.get(), "request after the error", 99, {IBV_WC_WR_FLUSH_ERR});
  ExpectNone(p.a.send_cq.get(), "requester, afterwards");
}

void RemoteError(NegativeEnv& env, ibv_wr_opcode op, uint64_t offset, uint32_t length, uint32_t key_change,
                 std::initializer_list<ibv_wc_status> statuses) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, 0, length);
  RequesterError(p, Request(op, 1, &s, 1, p.b.memory->address() + offset, p.b.memory->rkey() ^ key_change), statuses);
  if (op != IBV_WR_RDMA_READ) CheckUntouched(p.b);
}

void LocalKey(NegativeEnv& env, ibv_wr_opcode op) {
  Pair p(env.first, env.second);
  const ibv_sge into = Sge(*p.b.memory, 0, kLength);
  PostReceive(p.b.qp.get(), 7, &into, 1);
  ibv_sge s = Sge(*p.a.memory, 0, kLength);
  s.lkey ^= kBogus;
  RequesterError(p, Request(op, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey()), {IBV_WC_LOC_PROT_ERR});
  CheckUntouched(p.b);
}

void SendBadLkey(NegativeEnv& env) { LocalKey(env, IBV_WR_SEND); }
void WriteBadLkey(NegativeEnv& env) { LocalKey(env, IBV_WR_RDMA_WRITE); }
void ReadBadLkey(NegativeEnv& env) { LocalKey(env, IBV_WR_RDMA_READ); }

void LocalRange(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, kEndMemory - 8, 16);
  RequesterError(p, Request(IBV_WR_RDMA_WRITE, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey()),
                 {IBV_WC_LOC_PROT_ERR});
  CheckUntouched(p.b);
}

void ForeignPd(NegativeEnv& env, bool remote) {
  Pair p(env.first, env.second);
  Device* d = remote ? env.second : env.first;
  PdPtr other(ibv_alloc_pd(d->context.get()));
  Check(other != nullptr, "ibv_alloc_pd failed");
  Region& r = *(remote ? p.b.memory : p.a.memory);
  MrPtr mr(ibv_reg_mr(other.get(), r.data(), r.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  Check(mr != nullptr, "ibv_reg_mr failed");
  ibv_sge s = Sge(*p.a.memory, 0, kLength);
  if (!remote) s.lkey = mr->lkey;
  const uint32_t rkey = remote ? mr->rkey : p.b.memory->rkey();
  RequesterError(p, Request(IBV_WR_RDMA_WRITE, 1, &s, 1, p.b.memory->address(), rkey),
                 {remote ? IBV_WC_REM_ACCESS_ERR : IBV_WC_LOC_PROT_ERR});
  CheckUntouched(p.b);
}
void LkeyOfOtherPd(NegativeEnv& env) { ForeignPd(env, false); }
void RkeyOfOtherPd(NegativeEnv& env) { ForeignPd(env, true); }

void ReadIntoReadOnly(NegativeEnv& env) {
  Pair p(env.first, env.second);
  const Region readable(*env.first, 4096, 0);
  ibv_sge s = Sge(readable, 0, 64);
  RequesterError(p, Request(IBV_WR_RDMA_READ, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey()),
                 {IBV_WC_LOC_PROT_ERR});
}

// The fault is the responder's receive: it sees LOC_PROT_ERR, the requester REM_OP_ERR.
void BadReceive(NegativeEnv& env, ibv_sge (*spoil)(const Region&, const Region&)) {
  Pair p(env.first, env.second);
  const Region readable(*env.second, 4096, 0);
  const ibv_sge into = spoil(*p.b.memory, readable);
  Check(!PostReceive(p.b.qp.get(), 7, &into, 1), "ibv_post_recv failed, a completion with error was expected");
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_SEND, 1, &s, 1)), "posting failed");
  Expect(p.b.receive_cq.get(), "receiver", 7, {IBV_WC_LOC_PROT_ERR});
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_REM_OP_ERR});
  CheckUntouched(p.b);
}
void ReceiveBadLkey(NegativeEnv& env) {
  BadReceive(env, [](const Region& r, const Region&) {
    ibv_sge s = Sge(r, 0, kLength);
    s.lkey ^= kBogus;
    return s;
  });
}
void ReceiveReadOnly(NegativeEnv& env) {
  BadReceive(env, [](const Region&, const Region& readable) { return Sge(readable, 0, 64); });
}
void ReceiveBeyondMr(NegativeEnv& env) {
  BadReceive(env, [](const Region& r, const Region&) { return Sge(r, kEndMemory - 8, 64); });
}

void WriteBadRkey(NegativeEnv& e) { RemoteError(e, IBV_WR_RDMA_WRITE, 0, kLength, kBogus, {IBV_WC_REM_ACCESS_ERR}); }
void WriteImmBadRkey(NegativeEnv& env) {
  Pair p(env.first, env.second);
  PostReceive(p.b.qp.get(), 7, nullptr, 0);
  ibv_sge s = Sge(*p.a.memory, 0, kLength);
  RequesterError(p, Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey() ^ kBogus),
                 {IBV_WC_REM_ACCESS_ERR});
  CheckUntouched(p.b);
}
void ReadBadRkey(NegativeEnv& e) { RemoteError(e, IBV_WR_RDMA_READ, 0, kLength, kBogus, {IBV_WC_REM_ACCESS_ERR}); }
void WriteBeyondMr(NegativeEnv& e) {
  RemoteError(e, IBV_WR_RDMA_WRITE, kEndMemory - kLength + 1, kLength, 0, {IBV_WC_REM_ACCESS_ERR});
}
void WriteBeforeMr(NegativeEnv& e) {
  RemoteError(e, IBV_WR_RDMA_WRITE, uint64_t{0} - 1, kLength, 0, {IBV_WC_REM_ACCESS_ERR});
}
void ReadBeyondMr(NegativeEnv& e) {
  RemoteError(e, IBV_WR_RDMA_READ, kEndMemory - kLength + 1, kLength, 0, {IBV_WC_REM_ACCESS_ERR});
}
void WriteWrappingAddress(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, 0, kLength);
  RequesterError(p, Request(IBV_WR_RDMA_WRITE, 1, &s, 1, UINT64_MAX - 8, p.b.memory->rkey()), {IBV_WC_REM_ACCESS_ERR});
  CheckUntouched(p.b);
}
void WriteLongerThanMr(NegativeEnv& env) {
  Pair p(env.first, env.second);
  const Region small(*env.second, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ibv_sge s = Sge(*p.a.memory, 0, 8192);
  RequesterError(p, Request(IBV_WR_RDMA_WRITE, 1, &s, 1, small.address(), small.rkey()), {IBV_WC_REM_ACCESS_ERR});
}
void DeregisteredRkey(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  const uint32_t rkey = p.b.memory->rkey();
  p.b.memory->Deregister();
  RequesterError(p, Request(IBV_WR_RDMA_WRITE, 1, &s, 1, p.b.memory->address(), rkey), {IBV_WC_REM_ACCESS_ERR});
  CheckUntouched(p.b);
}
void DeregisteredLkey(NegativeEnv& env) {
  Pair p(env.first, env.second);
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  p.a.memory->Deregister();
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_RDMA_WRITE, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey())),
        "posting failed, a completion with error was expected");
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_LOC_PROT_ERR});
  CheckUntouched(p.b);
}

void MissingRight(NegativeEnv& env, ibv_wr_opcode op, int rights) {
  Pair p(env.first, env.second);
  const Region r(*env.second, 4096, rights);
  Poison(r.data(), 4096);
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  RequesterError(p, Request(op, 1, &s, 1, r.address(), r.rkey()), {IBV_WC_REM_ACCESS_ERR});
  Check(!CheckPoison(r.data(), 4096), "a refused request changed the target's memory");
}
void WriteWithoutRight(NegativeEnv& e) {
  MissingRight(e, IBV_WR_RDMA_WRITE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}
void ReadWithoutRight(NegativeEnv& e) {
  MissingRight(e, IBV_WR_RDMA_READ, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}
void RequireAtomics(const NegativeEnv& env) {
  if (env.first->attr.atomic_cap == IBV_ATOMIC_NONE || env.second->attr.atomic_cap == IBV_ATOMIC_NONE)
    throw NotApplicable{"the device has no atomics"};
}
void AtomicWithoutRight(NegativeEnv& e) {
  RequireAtomics(e);
  MissingRight(e, IBV_WR_ATOMIC_FETCH_AND_ADD,
               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
}
void AtomicBadRkey(NegativeEnv& e) {
  RequireAtomics(e);
  RemoteError(e, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, kBogus, {IBV_WC_REM_ACCESS_ERR});
}
void AtomicMisaligned(NegativeEnv& e) {
  RequireAtomics(e);
  Pair p(e.first, e.second);
  ibv_sge s = Sge(*p.a.memory, 0, 8);
  const auto wr = Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, &s, 1, p.b.memory->address() + 4, p.b.memory->rkey());
  // Some providers look at the address themselves.
  if (!PostOne(p.a.qp.get(), wr))
    Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR});
  CheckUntouched(p.b);
}
void QpWithoutWriteRight(NegativeEnv& env) {
  PairOptions o;
  o.b_access = IBV_ACCESS_LOCAL_WRITE;
  Pair p(env.first, env.second, o);
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  RequesterError(p, Request(IBV_WR_RDMA_WRITE, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey()),
                 {IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR});
  CheckUntouched(p.b);
}

void SendLongerThanReceive(NegativeEnv& env) {
  Pair p(env.first, env.second);
  const ibv_sge into = Sge(*p.b.memory, 0, 100);
  Check(!PostReceive(p.b.qp.get(), 7, &into, 1), "ibv_post_recv failed");
  ibv_sge s = Sge(*p.a.memory, 0, 10000);
  Pattern(1, 0, 0, 0).Fill(p.a.memory->data(), 0, 10000);
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_SEND, 1, &s, 1)), "posting failed");
  Expect(p.b.receive_cq.get(), "receiver", 7, {IBV_WC_LOC_LEN_ERR});
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_REM_INV_REQ_ERR});
  Check(!CheckPoison(p.b.memory->data() + 100, kEndMemory - 100), "bytes behind the receive buffer were changed");
}

void RnrExhausted(NegativeEnv& env, uint32_t retries) {
  PairOptions o;
  o.attributes.rnr_retry = retries;
  o.attributes.min_rnr_timer = 1;
  Pair p(env.first, env.second, o);
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  RequesterError(p, Request(IBV_WR_SEND, 1, &s, 1), {IBV_WC_RNR_RETRY_EXC_ERR});
}
void RnrRetry0(NegativeEnv& e) { RnrExhausted(e, 0); }
void RnrRetry1(NegativeEnv& e) { RnrExhausted(e, 1); }
void RnrRecovers(NegativeEnv& env) {
  Pair p(env.first, env.second);  // rnr_retry 7: for ever
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  Check(!PostOne(p.a.qp.get(), Request(IBV_WR_SEND, 1, &s, 1)), "posting failed");
  ExpectNone(p.a.send_cq.get(), "requester, before the receive is there", 100);
  const ibv_sge into = Sge(*p.b.memory, 0, 64);
  Check(!PostReceive(p.b.qp.get(), 7, &into, 1), "ibv_post_recv failed");
  Expect(p.b.receive_cq.get(), "receiver", 7, {IBV_WC_SUCCESS});
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_SUCCESS});
}

// One bad request amid good ones: those before succeed, it fails, all after it are flushed in order,
// unsignalled ones too; the receives of this end are flushed.
void FlushAfterError(NegativeEnv& env) {
  Pair p(env.first, env.second);
  const ibv_sge into = Sge(*p.a.memory, 4096, 64);
  for (uint64_t i = 0; i < 3; i++) Check(!PostReceive(p.a.qp.get(), 50 + i, &into, 1), "ibv_post_recv failed");
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  ibv_send_wr wr[6];
  for (uint64_t i = 0; i < 6; i++) {
    wr[i] = Request(IBV_WR_RDMA_WRITE, i, &s, 1, p.b.memory->address(), p.b.memory->rkey() ^ (i == 2 ? kBogus : 0));
    if (i) wr[i - 1].next = &wr[i];
  }
  wr[4].send_flags = 0;
  ibv_send_wr* bad = nullptr;
  Check(!ibv_post_send(p.a.qp.get(), wr, &bad), "posting a list failed");
  for (uint64_t i = 0; i < 6; i++)
    Expect(p.a.send_cq.get(), fmt::format("request {}", i), i,
           {i < 2 ? IBV_WC_SUCCESS : i == 2 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR});
  for (uint64_t i = 0; i < 3; i++)
    Expect(p.a.receive_cq.get(), fmt::format("receive {}", i), 50 + i, {IBV_WC_WR_FLUSH_ERR}, 5000);
  ibv_qp_attr attr;
  ibv_qp_init_attr init;
  Check(!ibv_query_qp(p.a.qp.get(), &attr, IBV_QP_STATE, &init), "ibv_query_qp failed");
  Check(attr.qp_state == IBV_QPS_ERR, fmt::format("the QP is in state {}, not ERR", static_cast<int>(attr.qp_state)));
}

void DeadPeer(NegativeEnv& env, uint32_t wrong_qpn) {
  PairOptions o;
  o.attributes.timeout = env.options.dead_peer_timeout;
  o.attributes.retry = 1;
  o.wrong_qpn = wrong_qpn;
  Pair p(env.first, env.second, o);
  if (!wrong_qpn) p.b.qp.reset();
  ibv_sge s = Sge(*p.a.memory, 0, 64);
  RequesterError(p, Request(IBV_WR_RDMA_WRITE, 1, &s, 1, p.b.memory->address(), p.b.memory->rkey()),
                 {IBV_WC_RETRY_EXC_ERR});
  CheckUntouched(p.b);
}
void PeerDestroyed(NegativeEnv& e) { DeadPeer(e, 0); }
void PeerNeverThere(NegativeEnv& e) { DeadPeer(e, 0x1000); }

void ZeroLength(NegativeEnv& env, ibv_wr_opcode op, bool keyed) {
  Pair p(env.first, env.second);
  const bool receives = op == IBV_WR_SEND || op == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (receives) Check(!PostReceive(p.b.qp.get(), 7, nullptr, 0), "a receive without SGEs was refused");
  const auto wr = Request(op, 1, nullptr, 0, keyed ? p.b.memory->address() : 0, keyed ? p.b.memory->rkey() : 0);
  Check(!PostOne(p.a.qp.get(), wr), "posting failed");
  Expect(p.a.send_cq.get(), "requester", 1, {IBV_WC_SUCCESS});
  if (receives) {
    const ibv_wc wc = Expect(p.b.receive_cq.get(), "receiver", 7, {IBV_WC_SUCCESS});
    Check(wc.byte_len == 0, fmt::format("byte_len {} for a message of none", wc.byte_len));
  }
  CheckUntouched(p.b);
}
void ZeroSend(NegativeEnv& e) { ZeroLength(e, IBV_WR_SEND, false); }
void ZeroWrite(NegativeEnv& e) { ZeroLength(e, IBV_WR_RDMA_WRITE, true); }
void ZeroWriteNoKey(NegativeEnv& e) { ZeroLength(e, IBV_WR_RDMA_WRITE, false); }
void ZeroWriteImmNoKey(NegativeEnv& e) { ZeroLength(e, IBV_WR_RDMA_WRITE_WITH_IMM, false); }
void ZeroRead(NegativeEnv& e) { ZeroLength(e, IBV_WR_RDMA_READ, true); }
void ZeroReadNoKey(NegativeEnv& e) { ZeroLength(e, IBV_WR_RDMA_READ, false); }

void StillWorking(NegativeEnv& env) { CleanTransfer(env.first, env.second); }

constexpr NegativeTest kWire[] = {
    {"send_bad_lkey", SendBadLkey},
    {"write_bad_lkey", WriteBadLkey},
    {"read_bad_lkey", ReadBadLkey},
    {"recv_bad_lkey", ReceiveBadLkey},
    {"recv_read_only_mr", ReceiveReadOnly},
    {"recv_beyond_mr", ReceiveBeyondMr},
    {"local_sge_beyond_mr", LocalRange},
    {"lkey_of_other_pd", LkeyOfOtherPd},
    {"lkey_deregistered", DeregisteredLkey},
    {"read_into_read_only_mr", ReadIntoReadOnly},
    {"write_bad_rkey", WriteBadRkey},
    {"write_imm_bad_rkey", WriteImmBadRkey},
    {"read_bad_rkey", ReadBadRkey},
    {"atomic_bad_rkey", AtomicBadRkey},
    {"rkey_of_other_pd", RkeyOfOtherPd},
    {"rkey_deregistered", DeregisteredRkey},
    {"write_beyond_mr", WriteBeyondMr},
    {"write_before_mr", WriteBeforeMr},
    {"write_wrapping_address", WriteWrappingAddress},
    {"write_longer_than_mr", WriteLongerThanMr},
    {"read_beyond_mr", ReadBeyondMr},
    {"write_without_right", WriteWithoutRight},
    {"read_without_right", ReadWithoutRight},
    {"atomic_without_right", AtomicWithoutRight},
    {"atomic_misaligned", AtomicMisaligned},
    {"qp_without_write_right", QpWithoutWriteRight},
    {"send_longer_than_receive", SendLongerThanReceive},
    {"rnr_retry_0", RnrRetry0},
    {"rnr_retry_1", RnrRetry1},
    {"rnr_recovers", RnrRecovers},
    {"flush_after_error", FlushAfterError},
    {"peer_destroyed", PeerDestroyed},
    {"peer_never_there", PeerNeverThere},
    {"zero_send", ZeroSend},
    {"zero_write", ZeroWrite},
    {"zero_write_without_rkey", ZeroWriteNoKey},
    {"zero_write_imm_without_rkey", ZeroWriteImmNoKey},
    {"zero_read", ZeroRead},
    {"zero_read_without_rkey", ZeroReadNoKey},
};
constexpr NegativeTest kLast[] = {{"still_working", StillWorking}};

bool Listed(const std::string& list, const std::string& name) {
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');)
    if (word == name) return true;
  return false;
}

}  // namespace

std::span<const NegativeTest> WireTests() { return kWire; }

int RunNegative(const Options& options) {
  std::vector<NegativeTest> tests;
  for (const auto& part : {WireTests(), PostTests(), QueueTests(), std::span<const NegativeTest>(kLast)})
    for (const NegativeTest& t : part)
      if (std::string(t.name).find(options.only) != std::string::npos) tests.push_back(t);
  if (options.list) {
    for (const NegativeTest& t : tests) fmt::print("{}\n", t.name);
    return 0;
  }
  if (tests.empty()) throw SetupError(fmt::format("no test has '{}' in its name: see --list", options.only));
  Device first = OpenDevice(options.device, options.ib_port, options.gid_index, options.ipv6);
  Device other;
  if (!options.device2.empty()) other = OpenDevice(options.device2, options.ib_port, options.gid_index, options.ipv6);
  NegativeEnv env{&first, options.device2.empty() ? &first : &other, options};
  Tap tap;
  tap.Plan(tests.size());
  for (const NegativeTest& t : tests) {
    if (Listed(options.skip, t.name)) {
      tap.Skip(t.name, "by --skip");
      continue;
    }
    try {
      t.run(env);
      tap.Result(t.name, "");
    } catch (const Problem& p) {
      tap.Result(t.name, p.text);
    } catch (const SetupError& e) {
      tap.Result(t.name, e.what());
    } catch (const NotApplicable& n) {
      tap.Skip(t.name, n.reason);
    }
  }
  return tap.AllPassed() ? 0 : 1;
}

}  // namespace mroce::verify
