// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The content of a message: 64-bit words computed from (seed, flow, QP, message number).
//
// word(i) = base + i * step, with base a hash of the identity. One addition per eight bytes (a
// cryptographic hash would be the bottleneck on an emulated CPU); any shift by a word, and any
// byte of another message, shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mroce::verify {

// What untouched memory holds.
inline constexpr uint8_t kPoison = 0xa5;

struct Mismatch {
  uint64_t offset = 0;  // of the first wrong byte, in the message (or range)
  uint64_t wrong = 0;   // number of wrong bytes
  uint8_t want = 0;
  uint8_t got = 0;
  bool all_poison = false;  // every wrong byte still holds kPoison: it was never written
  std::string ToString() const;
};

class Pattern {
 public:
  Pattern(uint64_t seed, uint32_t flow, uint32_t qp, uint64_t message, uint32_t part = 0);

  uint64_t Word(uint64_t index) const { return base_ + index * kStep; }
  uint8_t Byte(uint64_t offset) const {
    return static_cast<uint8_t>(Word(offset / 8) >> (offset % 8 * 8));
  }
  // Writes bytes [from, from + length) of the message to @to.
  void Fill(uint8_t* to, uint64_t from, size_t length) const;
  // Compares @at with bytes [from, from + length) of the message.
  std::optional<Mismatch> Check(const uint8_t* at, uint64_t from, size_t length) const;

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  uint64_t base_;
};

void Poison(uint8_t* to, size_t length);
std::optional<Mismatch> CheckPoison(const uint8_t* at, size_t length);

}  // namespace mroce::verify
