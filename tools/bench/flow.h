// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The objects of both sides, connected: a CQ with its channel, QPs, one region.
#pragma once

#include <memory>
#include <vector>

#include "device.h"
#include "oob.h"
#include "options.h"

namespace mroce::bench {

class Flow {
 public:
  // Sets everything up with the other side. Throws SetupError.
  Flow(const Options& o, Channel channel);

  // One message of QP @qp; its wr_id is @qp. Messages that may be under way together use memory of
  // their own, as far as the region reaches. Throws SetupError.
  void Post(uint32_t qp);
  void PostReceive(uint32_t qp);
  // Takes completions that are there. Throws VerifyError for one that failed.
  const std::vector<ibv_wc>& Poll();
  // Sleeps until completions or a frame of the other side come, or @deadline_ms passed (-1: none).
  // Every completion that was there when it began has been polled.
  void Wait(int deadline_ms);

  Channel channel;
  const Device& device() const { return device_; }

 private:
  void CreateQps();
  std::vector<uint8_t> Endpoint() const;
  void Connect(const std::vector<uint8_t>& peer);
  void Arm();

  const Options o_;
  Device device_;
  std::unique_ptr<Region> region_;
  CompChannelPtr events_;
  CqPtr cq_;
  std::vector<QpPtr> qps_;  // destroyed before the CQ
  std::vector<ibv_wc> found_;
  uint64_t slots_ = 1;   // messages that the region holds
  uint64_t posted_ = 0;
  uint64_t remote_address_ = 0;
  uint32_t remote_key_ = 0;
};

}  // namespace mroce::bench
