// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "transfer.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <deque>

#include "responder.h"

namespace mroce::verify {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSleepMs = 100;
constexpr uint32_t kReportEvery = 8;  // busy rounds without telling the peer

class Transfer {
 public:
  Transfer(Session& session, Summary* summary) : s_(session), summary_(summary), progress_(session.options.progress) {
    const Options& o = s_.options;
    for (uint32_t i = 0; i < o.qps; i++) {
      // The volume is split so that the parts add up exactly.
      const uint64_t share = o.total ? (o.total + i) / o.qps : 0;
      if (s_.Requests()) requesters_.emplace_back(s_, i, o.total ? std::max<uint64_t>(share, 1) : 0);
      if (s_.Responds()) responders_.emplace_back(s_, i);
    }
  }

  void Run() {
    start_ = moved_ = Clock::now();
    try {
      while (!(Finished() && finished_sent_ && peer_finished_)) Round();
      summary_->seconds = std::chrono::duration<double>(moved_ - start_).count();
      Settle();
      for (const Responder& r : responders_) r.CheckUnused();
      if (s_.options.flush_check) CheckFlush();
      s_.channel.Send(FrameType::kBye, {});
      s_.channel.Expect(FrameType::kBye, kAnswer);
    } catch (...) {
      Collect();
      throw;
    }
    Collect();
  }

 private:
  static constexpr uint32_t kAnswer = 30;

  bool Finished() const {
    for (const Requester& r : requesters_)
      if (!r.Finished()) return false;
    for (const Responder& r : responders_)
      if (!r.Finished()) return false;
    return true;
  }

  void Round() {
    uint64_t work = Completions();
    for (Responder& r : responders_) work += r.Arm();
    const bool stop = s_.options.seconds > 0 &&
                      Clock::now() - start_ >= std::chrono::duration<double>(s_.options.seconds);
    for (Requester& r : requesters_) work += r.Post(stop);
    work += Frames();
    if (!work || ++rounds_ % kReportEvery == 0) Report();
    if (Finished() && !finished_sent_) {
      Report();
      s_.channel.Send(FrameType::kFinished, {});
      finished_sent_ = true;
      moved_ = Clock::now();
    }
    if (work) {
      moved_ = Clock::now();
      s_.cqs->Busy();
      ShowProgress();
    } else {
      CheckStall();
      const bool late = s_.options.late_receive > 0;
      s_.cqs->Wait(s_.channel, late ? 1 : kSleepMs);
    }
  }

  uint64_t Completions() {
    const std::vector<ibv_wc>& found = s_.cqs->Poll();
    for (const ibv_wc& wc : found) {
      const uint32_t qp = s_.IndexOf(wc.qp_num);
      const bool receive = wc.wr_id & kReceiveTag;
      if (receive ? responders_.empty() : requesters_.empty())
        throw VerifyError(fmt::format("QP {}: a completion for wr_id {:#x}, which was never posted", qp, wc.wr_id));
      if (receive) responders_[qp].OnCompletion(wc);
      else requesters_[qp].OnCompletion(wc);
    }
    return found.size();
  }

  uint64_t Frames() {
    uint64_t count = 0;
    while (auto f = s_.channel.Receive()) {
      count++;
      if (f->type == FrameType::kFinished) peer_finished_ = true;
      else if (f->type == FrameType::kState) OnState(f->body);
      else throw VerifyError("the other side left the traffic phase early");
      if (peer_finished_) break;  // what follows belongs to the next phase
    }
    return count;
  }

  void OnState(const std::vector<uint8_t>& body) {
    Reader r(body);
    for (uint32_t i = 0; i < s_.options.qps; i++) {
      const uint64_t armed = r.U64(), released = r.U64(), done = r.U64(), final = r.U64();
      if (!requesters_.empty()) requesters_[i].OnState(armed, released);
      if (!responders_.empty()) responders_[i].OnState(done, final);
    }
  }

  // Tells the peer our state, if it changed.
  void Report() {
    Writer w;
    for (uint32_t i = 0; i < s_.options.qps; i++) {
      w.U64(responders_.empty() ? 0 : responders_[i].armed());
      w.U64(responders_.empty() ? 0 : responders_[i].released());
      w.U64(requesters_.empty() ? 0 : requesters_[i].completed());
      w.U64(requesters_.empty() ? kUnknown : requesters_[i].final());
    }
    // While the last one is still queued, newer news can wait.
    if (w.body == reported_ || s_.channel.WantsWrite()) return;
    s_.channel.Send(FrameType::kState, w.body);
    reported_ = std::move(w.body);
  }

  void ShowProgress() {
    if (!s_.options.progress) return;
    Counts all;
    for (const Requester& r : requesters_) all.Add(r.counts());
    for (const Responder& r : responders_) all.Add(r.counts());
    progress_.Update(all.bytes, all.messages, s_.options.total * (s_.options.both ? 2 : 1));
  }

  void CheckStall() const {
    if (Clock::now() - moved_ < std::chrono::seconds(s_.options.stall)) return;
    std::string text = fmt::format("no progress for {} s", s_.options.stall);
    for (const Requester& r : requesters_)
      if (!r.Finished()) text += "\n  " + r.Describe();
    for (const Responder& r : responders_)
      if (!r.Finished()) text += "\n  " + r.Describe();
    throw VerifyError(text);
  }

  // Everything is accounted for: nothing more may turn up, at either side.
  void Settle() {
    for (Responder& r : responders_) r.PostAllReceives();
    const auto until = Clock::now() + std::chrono::milliseconds(s_.options.settle);
    do {
      ExpectSilence();
      pollfd none{};
      poll(&none, 0, 10);
    } while (Clock::now() < until);
    s_.channel.Send(FrameType::kBye, {});
    s_.channel.Expect(FrameType::kBye, kAnswer);
    ExpectSilence();
  }

  void ExpectSilence() {
    const auto& found = s_.cqs->Poll();
    if (!found.empty())
      throw VerifyError(fmt::format("{} surplus completion(s) after the end, the first: QP {:#x}, wr_id {:#x}, {}",
                                    found.size(), found[0].qp_num, found[0].wr_id, ibv_wc_status_str(found[0].status)));
  }

  // Receives that nobody consumed come back flushed, each once, in order.
  void CheckFlush() {
    std::vector<std::deque<uint64_t>> expected;
    uint64_t left = 0;
    for (const Responder& r : responders_) {
      expected.push_back(r.unused_receives());
      left += expected.back().size();
    }
    for (Connection& c : s_.connections) ToError(c.qp.get());
    const auto deadline = Clock::now() + std::chrono::seconds(kFlushSeconds);
    while (left) {
      for (const ibv_wc& wc : s_.cqs->Poll()) {
        auto& queue = expected[s_.IndexOf(wc.qp_num)];
        if (queue.empty() || wc.wr_id != (queue.front() | kReceiveTag) || wc.status != IBV_WC_WR_FLUSH_ERR)
          throw VerifyError(fmt::format("flush after ERR: unexpected completion wr_id {:#x}, status {}", wc.wr_id,
                                        ibv_wc_status_str(wc.status)));
        queue.pop_front();
        left--;
      }
      if (Clock::now() > deadline)
        throw VerifyError(fmt::format("{} posted receives were not flushed after the QPs went to ERR "
                                      "(--no-flush-check skips this)",
                                      left));
      pollfd none{};
      poll(&none, 0, left ? 1 : 0);
    }
    ExpectSilence();
  }
  static constexpr uint32_t kFlushSeconds = 10;

  void Collect() {
    for (const Requester& r : requesters_) {
      summary_->sent.Add(r.counts());
      summary_->signalled += r.signalled();
    }
    for (const Responder& r : responders_) summary_->received.Add(r.counts());
    summary_->events = s_.cqs->events();
  }

  Session& s_;
  Summary* summary_;
  Progress progress_;
  std::deque<Requester> requesters_;
  std::deque<Responder> responders_;
  std::vector<uint8_t> reported_;
  Clock::time_point start_;
  Clock::time_point moved_;
  uint64_t rounds_ = 0;
  bool finished_sent_ = false;
  bool peer_finished_ = false;
};

}  // namespace

void RunTransfer(Session& session, Summary* summary) { Transfer(session, summary).Run(); }

}  // namespace mroce::verify
