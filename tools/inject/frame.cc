// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "frame.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "oob.h"

namespace mroce::inject {

namespace {


constexpr size_t kEthernet = 14, kIp = 20, kUdp = 8;
constexpr size_t kLargest = 65536 + kEthernet;
constexpr uint8_t kUdpProtocol = 17;

void Put16(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 8);
  p[1] = static_cast<uint8_t>(v);
}
void Put32(uint8_t* p, uint32_t v) {
  Put16(p, v >> 16);
  Put16(p + 2, v);
}
uint16_t Get16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
uint32_t Get32(const uint8_t* p) { return uint32_t{Get16(p)} << 16 | Get16(p + 2); }

// RFC 1071, over a first sum.
uint16_t Sum(uint32_t sum, const uint8_t* p, size_t length) {
  for (; length > 1; p += 2, length -= 2) sum += Get16(p);
  if (length) sum += uint32_t{*p} << 8;
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

uint16_t UdpSum(const Route& r, const uint8_t* udp, size_t length) {
  const uint32_t pseudo = (r.source >> 16) + (r.source & 0xffff) + (r.destination >> 16) + (r.destination & 0xffff) +
                          kUdpProtocol + static_cast<uint32_t>(length);
  const uint16_t sum = Sum(pseudo, udp, length);
  return sum ? sum : 0xffff;
}

// In another network namespace while it lives; sockets made there stay there.
class Visit {
 public:
  explicit Visit(const std::string& netns) {
    if (netns.empty()) return;
    home_ = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC);
    const bool ok = home_ >= 0 && there >= 0 && !setns(there, CLONE_NEWNET);
    const int error = errno;
    if (there >= 0) close(there);
    if (!ok) throw SetupError(fmt::format("network namespace '{}': {}", netns, std::strerror(error)));
  }
  ~Visit() {
    if (home_ < 0) return;
    if (setns(home_, CLONE_NEWNET)) std::abort();  // nothing works in a strange place
    close(home_);
  }
  Visit(const Visit&) = delete;

 private:
  int home_ = -1;
};

}  // namespace

Bytes MakeFrame(const Route& route, std::span<const uint8_t> payload, Checksum checksum) {
  Bytes frame(kEthernet + kIp + kUdp + payload.size());
  std::copy(route.macs.begin(), route.macs.end(), frame.begin());
  Put16(&frame[12], ETHERTYPE_IP);
  uint8_t* ip = &frame[kEthernet];
  ip[0] = 0x45;
  Put16(ip + 2, static_cast<uint32_t>(kIp + kUdp + payload.size()));
  Put16(ip + 6, 0x4000);  // don't fragment
  ip[8] = 64;
  ip[9] = kUdpProtocol;
  Put32(ip + 12, route.source);
  Put32(ip + 16, route.destination);
  Put16(ip + 10, Sum(0, ip, kIp));
  uint8_t* udp = ip + kIp;
  Put16(udp, route.source_port);
  Put16(udp + 2, route.port);
  Put16(udp + 4, static_cast<uint32_t>(kUdp + payload.size()));
  std::copy(payload.begin(), payload.end(), udp + kUdp);
  if (checksum != Checksum::kNone) {
    const uint16_t sum = UdpSum(route, udp, kUdp + payload.size());
    Put16(udp + 6, checksum == Checksum::kGood ? sum : sum ^ 0x0101u);
  }
  return frame;
}

std::optional<Seen> ParseFrame(std::span<const uint8_t> f) {
  if (f.size() < kEthernet + kIp + kUdp || Get16(&f[12]) != ETHERTYPE_IP) return std::nullopt;
  const uint8_t* ip = &f[kEthernet];
  const size_t ip_length = (ip[0] & 15u) * 4;
  if (ip[9] != kUdpProtocol || f.size() < kEthernet + ip_length + kUdp) return std::nullopt;
  const uint8_t* udp = ip + ip_length;
  Seen s;
  std::copy_n(f.begin(), s.route.macs.size(), s.route.macs.begin());
  s.route.source = Get32(ip + 12);
  s.route.destination = Get32(ip + 16);
  s.route.source_port = Get16(udp);
  s.route.port = Get16(udp + 2);
  s.payload.assign(udp + kUdp, f.data() + f.size());
  return s;
}

Wire::Wire(const std::string& netns, const std::string& netdev) {
  const Visit visit(netns);
  sockaddr_ll a{};
  a.sll_family = AF_PACKET;
  a.sll_protocol = htons(ETH_P_ALL);
  a.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
  if (!a.sll_ifindex)
    throw SetupError(fmt::format("no network device '{}' in that namespace", netdev));
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
  if (fd_ < 0) throw SetupError(fmt::format("packet socket: {} (root is needed)", std::strerror(errno)));
  if (bind(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a)) {
    const int error = errno;
    close(fd_);
    throw SetupError(fmt::format("packet socket on {}: {}", netdev, std::strerror(error)));
  }
}

Wire::~Wire() { close(fd_); }

void Wire::Send(std::span<const uint8_t> frame) {
  // The interface's queue may be full for a moment.
  for (int tries = 0; send(fd_, frame.data(), frame.size(), 0) < 0; tries++) {
    if (errno != ENOBUFS || tries > 1000) throw SetupError(fmt::format("sending a frame: {}", std::strerror(errno)));
    usleep(1000);
  }
}

std::vector<Seen> Wire::Captured(uint16_t port) {
  std::vector<Seen> all;
  Bytes buffer(kLargest);
  for (;;) {
    sockaddr_ll from{};
    socklen_t from_length = sizeof from;
    const ssize_t n = recvfrom(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from),
                               &from_length);
    if (n < 0) return all;
    if (from.sll_pkttype != PACKET_OUTGOING) continue;
    auto seen = ParseFrame({buffer.data(), static_cast<size_t>(n)});
    if (seen && seen->route.port == port) all.push_back(std::move(*seen));
  }
}

}  // namespace mroce::inject
