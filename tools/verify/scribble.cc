// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A process may write what it likes into the queues it shares with the kernel. The kernel must
// live, and must still serve others. Each round is a child: it may crash in the provider, hang or
// be refused everything; the parent only counts.
#include "scribble.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "loopback.h"
#include "mappings.h"
#include "oob.h"
#include "rng.h"

namespace mroce::verify {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRound = std::chrono::milliseconds(1000);

// Shared with the parent, which reads it after the child's end, however that came.
struct Tally {
  std::atomic<uint64_t> mappings, pages, read_only, opened, words, posts, polls, completions;
};

// Those that can be written to, if need be after their protection was lifted.
std::vector<Mapping> Writable(Tally* tally) {
  std::vector<Mapping> found;
  for (const Mapping& m : DeviceMappings()) {
    if (m.was_read_only) {
      tally->read_only++;
      if (mprotect(m.at, m.length, PROT_READ | PROT_WRITE)) continue;
      tally->opened++;
    }
    found.push_back(m);
    tally->mappings++;
    tally->pages += m.length / 4096;
  }
  return found;
}

// What breaks parsers: small numbers, limits, single bits, noise.
uint64_t Garbage(Rng& rng) {
  switch (rng.Below(6)) {
    case 0: return rng.Below(64);
    case 1: return ~rng.Below(64);
    case 2: return uint64_t{1} << rng.Below(64);
    case 3: return rng.Next() & 0xffffffff;
    case 4: return (rng.Below(4096) << 32) | rng.Below(4096);
    default: return rng.Next();
  }
}

void WriteGarbage(const Mapping& m, Rng& rng, Tally* tally) {
  const auto word = [&](size_t at) { return reinterpret_cast<volatile uint64_t*>(m.at + at / 8 * 8); };
  const uint64_t dice = rng.Below(20);
  if (dice == 0) {  // a whole page
    const size_t page = rng.Below(m.length / 4096) * 4096;
    for (size_t i = 0; i < 4096; i += 8) *word(page + i) = Garbage(rng);
    tally->words += 512;
  } else if (dice < 7) {  // the head, where indices use to be
    *word(rng.Below(256)) = Garbage(rng);
    tally->words++;
  } else if (dice < 10) {  // a 32-bit field in the head
    *reinterpret_cast<volatile uint32_t*>(m.at + rng.Below(64) * 4) = static_cast<uint32_t>(Garbage(rng));
    tally->words++;
  } else if (dice < 13) {  // an index moves a little, and as often back over what is under way
    auto* index = reinterpret_cast<volatile uint32_t*>(m.at + (rng.OneIn(2) ? kRingProducer : kRingConsumer));
    *index = *index + static_cast<uint32_t>(rng.Below(65)) - 32;
    tally->words++;
  } else if (dice < 15) {  // flip a bit
    auto* p = word(rng.Below(m.length));
    *p = *p ^ (uint64_t{1} << rng.Below(64));
    tally->words++;
  } else {
    *word(rng.Below(m.length)) = Garbage(rng);
    tally->words++;
  }
}

void Post(Pair& p, Rng& rng, Tally* tally) {
  End& e = rng.OneIn(2) ? p.a : p.b;
  End& other = &e == &p.a ? p.b : p.a;
  const auto length = static_cast<uint32_t>(rng.Below(kEndMemory / 2));
  ibv_sge s = Sge(*e.memory, rng.Below(kEndMemory / 2), length);
  ibv_recv_wr receive{1, nullptr, &s, 1};
  ibv_recv_wr* bad_receive = nullptr;
  ibv_post_recv(e.qp.get(), &receive, &bad_receive);
  static constexpr ibv_wr_opcode kOps[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM};
  ibv_send_wr wr = Request(kOps[rng.Below(4)], 2, &s, 1, other.memory->address(), other.memory->rkey());
  ibv_send_wr* bad = nullptr;
  ibv_post_send(e.qp.get(), &wr, &bad);
  tally->posts += 2;
}

void Poll(Pair& p, Tally* tally) {
  ibv_wc wc[4];
  for (ibv_cq* cq : {p.a.send_cq.get(), p.a.receive_cq.get(), p.b.send_cq.get(), p.b.receive_cq.get()}) {
    const int n = ibv_poll_cq(cq, 4, wc);
    tally->polls++;
    if (n > 0) tally->completions += static_cast<uint64_t>(n);
    ibv_req_notify_cq(cq, 0);
  }
}

// One round, in a child. Never returns.
[[noreturn]] void Child(const Options& o, uint64_t seed, Tally* tally) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The provider's memory is about to be garbage: a crash is its right, a core file is not needed.
  prctl(PR_SET_DUMPABLE, 0);
  Device device = OpenDevice(o.device, o.ib_port, o.gid_index, o.ipv6);
  std::deque<Pair> pairs;
  for (int i = 0; i < 3; i++) pairs.emplace_back(&device, &device);
  const std::vector<Mapping> mappings = Writable(tally);
  if (mappings.empty()) _exit(3);
  const auto until = Clock::now() + kRound;  // setting up may take longer than that
  std::thread poster([&] {
    for (Rng rng(seed + 1); Clock::now() < until; usleep(20)) Post(pairs[rng.Below(pairs.size())], rng, tally);
  });
  std::thread poller([&] {
    for (Rng rng(seed + 2); Clock::now() < until; usleep(50)) Poll(pairs[rng.Below(pairs.size())], tally);
  });
  Rng rng(seed);
  const bool gentle = rng.OneIn(2);  // else everything is ruined before a request gets through
  while (Clock::now() < until) {
    const uint64_t count = gentle ? 1 : rng.Between(1, 200);
    for (uint64_t i = 0; i < count; i++) WriteGarbage(mappings[rng.Below(mappings.size())], rng, tally);
    usleep(gentle ? 500 : 100);
  }
  poster.join();
  poller.join();
  // Half of the rounds tear down through verbs, the others leave all to the kernel.
  if (rng.OneIn(2)) _exit(0);
  pairs.clear();
  _exit(0);
}

struct Ends {
  uint64_t rounds = 0, clean = 0, crashed = 0, hung = 0, refused = 0, blind = 0;
};

pid_t Fork() {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw SetupError(fmt::format("fork: {}", std::strerror(errno)));
  return pid;
}

// Waits for the child; kills it when it outlives its round. False if even that does not end it.
bool Await(pid_t pid, Clock::time_point until, int* status, bool* killed) {
  constexpr auto kGrace = std::chrono::seconds(10);
  constexpr auto kUnkillable = std::chrono::seconds(40);
  for (;;) {
    if (waitpid(pid, status, WNOHANG) == pid) return true;
    const auto now = Clock::now();
    if (!*killed && now > until + kGrace) {
      kill(pid, SIGKILL);
      *killed = true;
    }
    if (now > until + kUnkillable) return false;
    usleep(2000);
  }
}

void Round(const Options& o, uint64_t seed, Tally* tally, Ends* ends) {
  const auto until = Clock::now() + kRound;
  const pid_t pid = Fork();
  if (!pid) {
    try {
      Child(o, seed, tally);
    } catch (const std::exception& e) {
      fmt::print(stderr, "# round {}: {}\n", seed, e.what());
      _exit(4);
    }
  }
  int status = 0;
  bool killed = false;
  if (!Await(pid, until, &status, &killed))
    throw VerifyError(fmt::format("round {}: process {} hangs in the kernel, SIGKILL does not end it", seed, pid));
  ends->rounds++;
  if (killed) ends->hung++;
  else if (WIFSIGNALED(status)) ends->crashed++;
  else if (WEXITSTATUS(status) == 3) ends->blind++;
  else if (WEXITSTATUS(status) == 4) ends->refused++;
  else ends->clean++;
}

// A fresh process must be served as if nothing had happened.
std::string AfterMath(const Options& o) {
  Device d = OpenDevice(o.device, o.ib_port, o.gid_index, o.ipv6);
  try {
    CleanTransfer(&d, &d);
  } catch (const Problem& p) {
    return p.text;
  }
  return "";
}

}  // namespace

int RunScribble(const Options& o) {
  std::string before = AfterMath(o);
  if (!before.empty()) throw SetupError("the device does not work to begin with: " + before);
  void* shared = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw SetupError("no memory");
  auto* tally = new (shared) Tally{};
  Ends ends;
  const auto end = Clock::now() + std::chrono::duration<double>(o.scribble_seconds);
  for (uint64_t seed = o.plan.seed * 1000000; Clock::now() < end; seed += 3) {
    Round(o, seed, tally, &ends);
    if (o.progress)
      fmt::print(stderr, "# {} rounds, {} words written, {} crashed, {} hung\n", ends.rounds, tally->words.load(),
                 ends.crashed, ends.hung);
  }
  fmt::print("scribble: {} rounds: {} ended well, {} crashed, {} were killed, {} could not set up\n", ends.rounds,
             ends.clean, ends.crashed, ends.hung, ends.refused);
  fmt::print("scribble: {} mappings, {} pages; {} read-only, {} of them could be opened; {} words of garbage\n",
             tally->mappings.load(), tally->pages.load(), tally->read_only.load(), tally->opened.load(),
             tally->words.load());
  fmt::print("scribble: {} posts, {} polls, {} completions\n", tally->posts.load(), tally->polls.load(),
             tally->completions.load());
  if (ends.blind) throw VerifyError("no mapping of the device was found: nothing was tested");
  if (ends.refused == ends.rounds) throw VerifyError("no round could set up its QPs");
  const std::string after = AfterMath(o);
  if (!after.empty()) throw VerifyError("afterwards a fresh process is not served: " + after);
  fmt::print("scribble: OK, a fresh process is served afterwards\n");
  return 0;
}

}  // namespace mroce::verify
