// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "run.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

namespace mroce::bench {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int kLookMs = 50;

class Requester {
 public:
  Requester(const Options& o, Flow& flow) : o_(o), flow_(flow), posted_(o.qps) {}

  Result Run() {
    const auto at = Clock::time_point(std::chrono::duration_cast<Clock::duration>(Seconds(o_.at)));
    std::this_thread::sleep_until(at);
    begin_ = std::max(at, Clock::now()) + std::chrono::duration_cast<Clock::duration>(Seconds(o_.warmup));
    for (uint32_t i = 0; i < o_.qps; i++)
      for (uint32_t n = 0; n < o_.depth; n++) Post(i);
    while (!done_) {
      flow_.Wait(kLookMs);
      while (!done_ && Take()) {
      }
      Look(Clock::now());
    }
    Drain();
    return std::move(result_);
  }

 private:
  void Post(uint32_t qp) {
    posted_[qp].push_back(Clock::now());
    flow_.Post(qp);
    under_way_++;
  }

  // Return: whether there were completions.
  bool Take() {
    const std::vector<ibv_wc>& wcs = flow_.Poll();
    const auto now = Clock::now();
    for (const ibv_wc& wc : wcs) {
      const auto qp = static_cast<uint32_t>(wc.wr_id);
      const auto since = posted_[qp].front();
      posted_[qp].pop_front();
      under_way_--;
      Count(now, since);
      if (!done_) Post(qp);
    }
    return !wcs.empty();
  }

  void Count(Clock::time_point now, Clock::time_point posted) {
    if (done_ || now < begin_) return;
    Look(now);
    if (done_) return;
    result_.messages++;
    if (o_.interval > 0) {
      const auto slot = static_cast<size_t>(Seconds(now - begin_).count() / o_.interval);
      if (result_.rates.size() <= slot) result_.rates.resize(slot + 1);
      result_.rates[slot] += o_.size;
    }
    result_.latency.Add(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - posted).count()));
    if (o_.messages && result_.messages == o_.messages) Finish(now);
  }

  void Look(Clock::time_point now) {
    if (!done_ && !o_.messages && Seconds(now - begin_).count() >= o_.seconds) Finish(now);
  }

  void Finish(Clock::time_point now) {
    done_ = true;
    result_.seconds = Seconds(now - begin_).count();
  }

  void Drain() {
    while (under_way_) {
      if (!Take()) flow_.Wait(kLookMs);
    }
  }

  const Options& o_;
  Flow& flow_;
  std::vector<std::deque<Clock::time_point>> posted_;
  Clock::time_point begin_;
  uint64_t under_way_ = 0;
  bool done_ = false;
  Result result_;
};

}  // namespace

Result Request(const Options& o, Flow& flow) {
  Result r = Requester(o, flow).Run();
  flow.channel.Send(FrameType::kBye, {});
  return r;
}

void Answer(const Options& o, Flow& flow) {
  for (;;) {
    if (const auto frame = flow.channel.Receive(); frame && frame->type == FrameType::kBye) return;
    for (const ibv_wc& wc : flow.Poll())
      if (o.op == Op::kSend) flow.PostReceive(static_cast<uint32_t>(wc.wr_id));
    flow.Wait(-1);
  }
}

}  // namespace mroce::bench
