// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The responding end of one QP: arms memory and receives ahead of the peer, verifies what landed.
#pragma once

#include <chrono>
#include <deque>
#include <vector>

#include "requester.h"

namespace mroce::verify {

class Responder {
 public:
  Responder(Session& session, uint32_t qp);
  // Arms further messages, posts their receives. Returns how many messages.
  uint32_t Arm();
  void OnCompletion(const ibv_wc& wc);
  // @done: messages the peer has seen completed; @final: its total.
  void OnState(uint64_t done, uint64_t final);

  uint64_t armed() const { return armed_; }
  uint64_t released() const { return released_; }
  bool Finished() const { return released_ == final_; }
  const Counts& counts() const { return counts_; }
  // After the end: armed memory that was not used is untouched.
  void CheckUnused() const;
  // Numbers of the posted receives that were not consumed, in order.
  const std::deque<uint64_t>& unused_receives() const { return receives_; }
  void PostAllReceives() { PostReceives(true); }
  std::string Describe() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Armed {
    Message message;
    bool verified;
    bool receive_seen;
  };
  struct Pending {
    Message message;
    Clock::time_point due;
  };
  void PostReceives(bool all);
  void VerifyUpTo(uint64_t number, bool reads_too);
  void Release();
  uint8_t* Slot(const Message& m) const;

  Session& session_;
  Connection& c_;
  const uint32_t qp_;
  const Identity id_;
  Plan plan_;
  Message next_;
  std::deque<Armed> armed_messages_;
  std::deque<Pending> pending_;    // armed, receive not yet posted (--late-recv)
  std::deque<uint64_t> receives_;  // receive-consuming messages, posted
  uint64_t verified_ = 0;          // everything below except READs is verified
  uint64_t armed_ = 0;
  uint64_t released_ = 0;
  uint64_t done_ = 0;  // what the peer says it has completed
  uint64_t final_ = kUnknown;
  uint32_t receives_held_ = 0;  // armed receives that did not complete
  Counts counts_;
};

}  // namespace mroce::verify
