// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two devices with streams between them, and somebody on the wire who knows the connection's ids.
//
//   a (sender) ---- netdev ----> b (target)
//                     ^ forged frames
#pragma once

#include <metaroce/wire.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frame.h"
#include "loopback.h"

namespace mroce::inject {

struct Stream {
  std::unique_ptr<verify::Pair> pair;
  mroce_hdr header{};  // of its latest WRITE packet
  Bytes packet;        // that packet
  Bytes expected;      // what the target's memory must hold
};

class Bench {
 public:
  Bench(const std::string& sender, const std::string& target, const std::string& netns, const std::string& netdev,
        uint32_t streams);

  // Writes over every stream and checks that it arrived; learns its headers.
  void WriteAll();
  // Throws Problem when a byte of the target's memory is not as expected.
  void CheckMemory() const;
  // Of the target device. Throws SetupError when there is none of this name.
  uint64_t Counter(const std::string& name) const;

  Stream& first() { return streams_.front(); }
  // One that no case has spoilt. Throws SetupError when there is none left.
  Stream& Fresh();
  // The header of the next packet that the sender would send on this stream: from here on we are the sender.
  mroce_hdr Forge(const Stream& s, uint8_t op);

  void Send(std::span<const uint8_t> payload, Checksum checksum = Checksum::kGood);
  void SendFrom(uint32_t source, std::span<const uint8_t> payload);
  void SendData(mroce_hdr header, std::span<const uint8_t> payload = {});
  uint32_t sent() const { return sent_; }
  void ResetSent() { sent_ = 0; }

  const Route& route() const { return route_; }
  Device& target() { return target_; }

 private:
  void Learn();

  Device sender_, target_;
  Wire wire_;
  Route route_;
  std::vector<Stream> streams_;
  size_t fresh_ = 1;  // the first is for cases that do no harm
  std::map<uint16_t, uint32_t> path_sequences_;
  uint16_t path_ = 0;
  uint32_t cpn_ = 0;
  bool cpn_known_ = false;
  uint64_t round_ = 0;
  uint32_t sent_ = 0;
};

Bytes EncodeData(mroce_hdr header, std::span<const uint8_t> payload);

}  // namespace mroce::inject
