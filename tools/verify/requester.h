// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The requesting end of one QP: posts the plan's messages, checks completions and what came back.
#pragma once

#include <deque>
#include <vector>

#include "plan.h"
#include "session.h"

namespace mroce::verify {

inline constexpr uint64_t kUnknown = UINT64_MAX;
inline constexpr uint64_t kReceiveTag = uint64_t{1} << 63;  // of wr_id

struct Counts {
  uint64_t messages = 0;
  uint64_t bytes = 0;
  uint64_t per_op[kOpCount] = {};
  void Add(const Message& m);
  void Add(const Counts& other);
};

class Requester {
 public:
  Requester(Session& session, uint32_t qp, uint64_t volume);
  // Posts what can be posted, in one chain; @stop: time is over, come to an end. Returns messages.
  uint32_t Post(bool stop);
  void OnCompletion(const ibv_wc& wc);
  void OnState(uint64_t peer_armed, uint64_t peer_released);

  uint64_t completed() const { return completed_; }
  uint64_t final() const { return final_; }  // number of messages, kUnknown while it runs
  bool Finished() const { return completed_ == final_ && peer_released_ == final_; }
  const Counts& counts() const { return counts_; }
  uint64_t signalled() const { return signalled_; }
  std::string Describe() const;

 private:
  struct Outstanding {
    Message message;
    bool is_signalled;
  };
  bool Fits(const Message& m) const;
  bool VolumeReached() const { return volume_ && posted_bytes_ >= volume_; }
  void Build(const Message& m, bool is_signalled);
  void BuildSges(const Message& m, uint32_t first, uint32_t count, ibv_send_wr* wr);
  void Flush();

  Session& session_;
  Connection& c_;
  const uint32_t qp_;
  const uint64_t volume_;
  const Identity id_;
  Plan plan_;
  Message next_;
  std::deque<Outstanding> out_;
  std::vector<ibv_send_wr> wrs_;
  std::vector<ibv_sge> sges_;
  std::vector<Layout> inlined_;
  uint32_t in_flight_ = 0;  // work requests
  uint32_t run_ = 0;        // unsignalled requests since the last signalled one
  uint64_t posted_bytes_ = 0;
  uint64_t completed_ = 0;
  uint64_t signalled_ = 0;
  uint64_t peer_armed_ = 0;
  uint64_t peer_released_ = 0;
  uint64_t final_ = kUnknown;
  Counts counts_;
};

// Where a slot lies in a ring.
inline uint64_t RingOffset(const Layout& l, uint64_t ring) { return l.position % ring; }

}  // namespace mroce::verify
