// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Everything both sides agreed on: device, CQs, connected QPs, memory at both ends.
#pragma once

#include <memory>
#include <vector>

#include "cqset.h"
#include "device.h"
#include "oob.h"
#include "options.h"
#include "slot.h"

namespace mroce::verify {

// One end of a flow's ring: ours and, at the requester, where the peer's lies.
struct RemoteRegion {
  uint64_t address = 0;
  uint32_t rkey = 0;
};

struct Connection {
  QpPtr qp;
  ibv_qp_ex* extended = nullptr;
  uint32_t psn = 0;
  uint32_t max_inline = 0;
  std::unique_ptr<Region> source;  // as requester
  std::unique_ptr<Region> target;  // as responder
  RemoteRegion peer_target;
};

class Session {
 public:
  // Sets everything up with the other side; returns when both can be sent to.
  Session(const Options& o, Channel channel);

  bool Requests() const { return !options.listen || options.both; }
  bool Responds() const { return options.listen || options.both; }
  // The flow in which we request; the other one is the peer's.
  uint32_t OwnFlow() const { return options.listen ? 1 : 0; }
  uint32_t PeerFlow() const { return options.listen ? 0 : 1; }
  // Index of the QP with this number. Throws VerifyError if there is none.
  uint32_t IndexOf(uint32_t qp_num) const;

  Options options;
  Channel channel;
  Device device;
  std::unique_ptr<CqSet> cqs;
  std::vector<Connection> connections;  // destroyed before the CQs
  QpAttributes attributes;

 private:
  void CreateQp(uint32_t index);
  std::vector<uint8_t> Endpoint() const;
  void Connect(const std::vector<uint8_t>& peer);
};

// Receives or sends the client's options; a Session follows.
Channel Greet(Options* o);

// ibv_post_send(), or the same through ibv_wr_*.
int PostChain(Connection& c, ibv_send_wr* first);

}  // namespace mroce::verify
