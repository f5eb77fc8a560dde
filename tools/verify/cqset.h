// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The completion queues of a run and the two ways of waiting on them.
#pragma once

#include <cstdint>
#include <vector>

#include "device.h"
#include "oob.h"
#include "options.h"

namespace mroce::verify {

class CqSet {
 public:
  // @send and @receive: work requests per QP.
  CqSet(const Device& device, const Options& o, uint32_t qps, uint32_t send, uint32_t receive);
  ~CqSet();
  CqSet(const CqSet&) = delete;

  ibv_cq* SendCq(uint32_t qp) const;
  ibv_cq* ReceiveCq(uint32_t qp) const;
  // Up to a batch of completions of each CQ. Throws VerifyError when a completion turned up
  // without the event that was armed for it.
  const std::vector<ibv_wc>& Poll();
  // Called when there is nothing to do: yields, then sleeps until completions, TCP or asynchronous
  // events come, or for a bounded time.
  void Wait(const Channel& channel, int timeout_ms);
  void Busy() { idle_ = 0; }
  uint64_t events() const { return events_; }

 private:
  ibv_cq* Create(uint64_t entries);
  void Arm();
  void ReadEvents();
  void ReadAsync();
  void ExpectEvent();

  const Device& device_;
  const std::string shape_;
  CompChannelPtr channel_;  // outlives the CQs
  std::vector<CqPtr> cqs_;
  std::vector<ibv_wc> found_;
  std::vector<uint32_t> unacked_;
  bool armed_ = false;
  bool timed_out_ = false;
  uint32_t idle_ = 0;
  uint64_t events_ = 0;
};

// Sets O_NONBLOCK.
void SetNonBlocking(int fd);

}  // namespace mroce::verify
