// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The TCP connection beside the RDMA traffic: greeting, endpoints, credits, results.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace mroce {

// It could not be tried: bad environment, no peer. Exit status 2.
struct SetupError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// It was tried and something was wrong. Exit status 1.
struct VerifyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class FrameType : uint8_t {
  kTraffic = 1,  // client's options, text
  kEndpoint,
  kReady,
  kState,     // credits and progress
  kFinished,  // all flows are through
  kBye,
  kError,     // text; the sender gives up
  kUdRound,
  kUdReply,
};

struct Frame {
  FrameType type;
  std::vector<uint8_t> body;
};

// Little-endian writer and reader of frame bodies.
class Writer {
 public:
  void U64(uint64_t v);
  void Raw(const void* data, size_t length);
  std::vector<uint8_t> body;
};
class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& body) : body_(body) {}
  uint64_t U64();
  void Raw(void* data, size_t length);

 private:
  const std::vector<uint8_t>& body_;
  size_t at_ = 0;
};

class Channel {
 public:
  static Channel Listen(uint16_t port, uint32_t timeout_s);
  static Channel Connect(const std::string& host, uint16_t port, uint32_t timeout_s);
  Channel(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  ~Channel();

  int fd() const { return fd_; }
  bool WantsWrite() const { return out_at_ < out_.size(); }
  void Send(FrameType type, const std::vector<uint8_t>& body);  // queues, writes what goes now
  void Flush();                                                  // writes more, never blocks
  // A whole frame if one is there. Throws VerifyError when the peer reported an error or vanished.
  std::optional<Frame> Receive();
  // Blocks for a frame of this type.
  Frame Expect(FrameType type, uint32_t timeout_s);

 private:
  explicit Channel(int fd);
  std::optional<Frame> Parse();
  int fd_ = -1;
  std::vector<uint8_t> in_;
  std::vector<uint8_t> out_;
  size_t out_at_ = 0;
};

}  // namespace mroce
