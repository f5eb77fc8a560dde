// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "pattern.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "rng.h"

namespace mroce::verify {

static_assert(std::endian::native == std::endian::little,
              "Byte() and Fill() agree on little-endian words only");

Pattern::Pattern(uint64_t seed, uint32_t flow, uint32_t qp, uint64_t message, uint32_t part)
    : base_(Mix(Mix(seed + message) ^ Mix((uint64_t{flow} << 56) | (uint64_t{part} << 32) | qp))) {}

void Pattern::Fill(uint8_t* to, uint64_t from, size_t length) const {
  while (length && from % 8) {
    *to++ = Byte(from++);
    length--;
  }
  uint64_t word = Word(from / 8);
  const size_t words = length / 8;
  for (size_t i = 0; i < words; i++, word += kStep) std::memcpy(to + i * 8, &word, 8);
  for (size_t i = words * 8; i < length; i++) to[i] = Byte(from + i);
}

namespace {

// True when whole words differ; says only that something is wrong, the slow path says what.
bool WordsDiffer(const uint8_t* at, uint64_t word, uint64_t step, size_t words) {
  uint64_t difference = 0;
  for (size_t i = 0; i < words; i++, word += step) {
    uint64_t got;
    std::memcpy(&got, at + i * 8, 8);
    difference |= got ^ word;
  }
  return difference != 0;
}

template <typename Want>
Mismatch Describe(const uint8_t* at, size_t length, uint64_t from, Want want) {
  Mismatch m;
  m.all_poison = true;
  for (size_t i = 0; i < length; i++) {
    const uint8_t expected = want(i);
    if (at[i] == expected) continue;
    if (!m.wrong++) {
      m.offset = from + i;
      m.want = expected;
      m.got = at[i];
    }
    m.all_poison = m.all_poison && at[i] == kPoison;
  }
  return m;
}

}  // namespace

std::optional<Mismatch> Pattern::Check(const uint8_t* at, uint64_t from, size_t length) const {
  bool wrong = false;
  size_t head = 0;
  while (head < length && (from + head) % 8) {
    wrong |= at[head] != Byte(from + head);
    head++;
  }
  const size_t words = (length - head) / 8;
  wrong |= WordsDiffer(at + head, Word((from + head) / 8), kStep, words);
  for (size_t i = head + words * 8; i < length; i++) wrong |= at[i] != Byte(from + i);
  if (!wrong) return std::nullopt;
  return Describe(at, length, from, [&](size_t i) { return Byte(from + i); });
}

void Poison(uint8_t* to, size_t length) { std::memset(to, kPoison, length); }

std::optional<Mismatch> CheckPoison(const uint8_t* at, size_t length) {
  bool wrong = false;
  const size_t words = length / 8;
  wrong = WordsDiffer(at, 0x0101010101010101u * kPoison, 0, words);
  for (size_t i = words * 8; i < length; i++) wrong |= at[i] != kPoison;
  if (!wrong) return std::nullopt;
  return Describe(at, length, 0, [](size_t) { return kPoison; });
}

std::string Mismatch::ToString() const {
  return fmt::format("{} wrong byte(s), the first at offset {}: expected {:#04x}, found {:#04x}{}",
                     wrong, offset, want, got,
                     all_poison && want != kPoison ? " (never written)" : "");
}

}  // namespace mroce::verify
