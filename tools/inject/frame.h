// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Ethernet frames with UDP over IPv4, read from and put on a network interface.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mroce::inject {

using Bytes = std::vector<uint8_t>;

// Where a frame comes from and goes to.
struct Route {
  std::array<uint8_t, 12> macs{};  // destination, source
  uint32_t source = 0;             // IPv4, host order
  uint32_t destination = 0;
  uint16_t source_port = 0;
  uint16_t port = 0;
};

enum class Checksum { kGood, kWrong, kNone };

Bytes MakeFrame(const Route& route, std::span<const uint8_t> payload, Checksum checksum = Checksum::kGood);

struct Seen {
  Route route;
  Bytes payload;
};
// Empty for anything but UDP over IPv4.
std::optional<Seen> ParseFrame(std::span<const uint8_t> frame);

// A network interface: what leaves by it can be seen, and frames can be sent.
class Wire {
 public:
  // @netns: name of the interface's network namespace (ip-netns(8)), empty: this one. Throws SetupError.
  Wire(const std::string& netns, const std::string& netdev);
  ~Wire();
  Wire(const Wire&) = delete;
  void Send(std::span<const uint8_t> frame);
  // What has left since the last call, addressed to this UDP port.
  std::vector<Seen> Captured(uint16_t port);

 private:
  int fd_ = -1;
};

}  // namespace mroce::inject
