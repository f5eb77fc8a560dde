// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "oob.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace mroce {

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kHeader = 5;             // length (4), type (1)
constexpr uint32_t kMaxBody = 16u << 20;

struct AddrInfoFree {
  void operator()(addrinfo* a) const { freeaddrinfo(a); }
};

std::unique_ptr<addrinfo, AddrInfoFree> Resolve(const char* host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
  if (rc)
    throw SetupError(fmt::format("cannot resolve '{}': {}", host ? host : "(any)", gai_strerror(rc)));
  return std::unique_ptr<addrinfo, AddrInfoFree>(found);
}

int ListeningSocket(uint16_t port) {
  const int on = 1, off = 0;
  // Dual stack where there is IPv6, IPv4 alone elsewhere.
  for (const int family : {AF_INET6, AF_INET}) {
    const int s = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0) continue;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_storage a{};
    socklen_t length = sizeof(sockaddr_in);
    if (family == AF_INET6) {
      setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      auto* a6 = reinterpret_cast<sockaddr_in6*>(&a);
      a6->sin6_family = AF_INET6;
      a6->sin6_port = htons(port);
      length = sizeof(sockaddr_in6);
    } else {
      auto* a4 = reinterpret_cast<sockaddr_in*>(&a);
      a4->sin_family = AF_INET;
      a4->sin_port = htons(port);
    }
    if (!bind(s, reinterpret_cast<sockaddr*>(&a), length) && !listen(s, 1)) return s;
    close(s);
  }
  throw SetupError(fmt::format("cannot listen on TCP port {}: {}. Choose another with --port", port,
                               std::strerror(errno)));
}

}  // namespace

void Writer::U64(uint64_t v) {
  for (int i = 0; i < 8; i++) body.push_back(static_cast<uint8_t>(v >> i * 8));
}
void Writer::Raw(const void* data, size_t length) {
  const auto* p = static_cast<const uint8_t*>(data);
  body.insert(body.end(), p, p + length);
}
uint64_t Reader::U64() {
  uint8_t b[8];
  Raw(b, sizeof b);
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v |= uint64_t{b[i]} << i * 8;
  return v;
}
void Reader::Raw(void* data, size_t length) {
  if (body_.size() - at_ < length)
    throw SetupError("a frame of the peer is too short: use the same version on both hosts");
  std::memcpy(data, body_.data() + at_, length);
  at_ += length;
}

Channel::Channel(int fd) : fd_(fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
Channel::Channel(Channel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), in_(std::move(other.in_)), out_(std::move(other.out_)) {}
Channel::~Channel() {
  if (fd_ >= 0) close(fd_);
}

Channel Channel::Listen(uint16_t port, uint32_t timeout_s) {
  const int listener = ListeningSocket(port);
  pollfd p{listener, POLLIN, 0};
  const int rc = poll(&p, 1, timeout_s ? static_cast<int>(timeout_s * 1000) : -1);
  const int s = rc > 0 ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  close(listener);
  if (s < 0)
    throw SetupError(fmt::format("no client came within {} s (--connect-timeout)", timeout_s));
  return Channel(s);
}

Channel Channel::Connect(const std::string& host, uint16_t port, uint32_t timeout_s) {
  const auto found = Resolve(host.c_str(), port, 0);
  const auto deadline = Clock::now() + std::chrono::seconds(timeout_s);
  // The server may be starting: keep knocking.
  for (;;) {
    int error = 0;
    for (const addrinfo* a = found.get(); a; a = a->ai_next) {
      const int s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (s >= 0 && !connect(s, a->ai_addr, a->ai_addrlen)) return Channel(s);
      error = errno;
      if (s >= 0) close(s);
    }
    if (Clock::now() >= deadline)
      throw SetupError(fmt::format(
          "cannot reach {} port {}: {}. Start the server (--listen) there and check the firewall",
          host, port, std::strerror(error)));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void Channel::Send(FrameType type, const std::vector<uint8_t>& body) {
  const auto length = static_cast<uint32_t>(body.size());
  for (int i = 0; i < 4; i++) out_.push_back(static_cast<uint8_t>(length >> i * 8));
  out_.push_back(static_cast<uint8_t>(type));
  out_.insert(out_.end(), body.begin(), body.end());
  Flush();
}

void Channel::Flush() {
  while (out_at_ < out_.size()) {
    const ssize_t n =
        send(fd_, out_.data() + out_at_, out_.size() - out_at_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) throw VerifyError(fmt::format("the peer's TCP connection broke: {}", std::strerror(errno)));
    out_at_ += static_cast<size_t>(n);
  }
  out_.clear();
  out_at_ = 0;
}

std::optional<Frame> Channel::Parse() {
  if (in_.size() < kHeader) return std::nullopt;
  uint32_t length = 0;
  for (int i = 0; i < 4; i++) length |= uint32_t{in_[static_cast<size_t>(i)]} << i * 8;
  if (length > kMaxBody) throw SetupError("the TCP peer does not speak our language");
  if (in_.size() < kHeader + length) return std::nullopt;
  Frame f{static_cast<FrameType>(in_[4]), {}};
  f.body.assign(in_.begin() + kHeader, in_.begin() + kHeader + length);
  in_.erase(in_.begin(), in_.begin() + kHeader + length);
  if (f.type == FrameType::kError)
    throw VerifyError("the other side reports: " + std::string(f.body.begin(), f.body.end()));
  return f;
}

std::optional<Frame> Channel::Receive() {
  Flush();
  if (auto f = Parse()) return f;
  uint8_t buffer[16384];
  const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (n <= 0)
    throw VerifyError(fmt::format("the other side is gone ({})", n ? std::strerror(errno) : "connection closed"));
  in_.insert(in_.end(), buffer, buffer + n);
  return Parse();
}

Frame Channel::Expect(FrameType type, uint32_t timeout_s) {
  const auto deadline = Clock::now() + std::chrono::seconds(timeout_s);
  for (;;) {
    if (auto f = Receive()) {
      if (f->type == type) return *f;
      if (f->type == FrameType::kState) continue;  // overtaken by events
      throw SetupError("the other side is at a different step: use the same version on both hosts");
    }
    if (Clock::now() >= deadline)
      throw SetupError(fmt::format("the other side did not answer within {} s", timeout_s));
    pollfd p{fd_, static_cast<short>(POLLIN | (WantsWrite() ? POLLOUT : 0)), 0};
    poll(&p, 1, 100);
  }
}

}  // namespace mroce
