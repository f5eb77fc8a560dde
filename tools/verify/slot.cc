// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "slot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace mroce::verify {

namespace {

// Up to here a whole piece is poisoned. In larger ones the old content is another message's, which
// the pattern tells apart, and only the end can stay unused (kMaxSlack).
constexpr uint32_t kPoisonAll = 64u << 10;
constexpr uint32_t kPoisonTail = 4096;
static_assert(kPoisonTail > kMaxSlack);

// Calls @range(offset, length) for everything in the slot outside the first @length bytes of the
// pieces; stops at the first that returns a text.
template <typename Range>
std::optional<std::string> Outside(const Layout& layout, uint64_t length, Range range) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < layout.count; i++) {
    const Piece& p = layout.piece[i];
    if (auto bad = range(at, p.offset - at)) return bad;
    const uint64_t used = std::min<uint64_t>(p.length, length);
    length -= used;
    at = p.offset + used;
  }
  return range(at, layout.size - at);
}

std::optional<std::string> CheckAround(const uint8_t* slot, const Layout& layout, uint64_t length) {
  return Outside(layout, length, [&](uint64_t at, uint64_t n) -> std::optional<std::string> {
    auto bad = CheckPoison(slot + at, n);
    if (!bad) return std::nullopt;
    bad->offset += at;
    return "bytes outside the message were changed: " + bad->ToString() + " of the slot";
  });
}

uint64_t Load64(const uint8_t* at) {
  uint64_t v;
  std::memcpy(&v, at, 8);
  return v;
}

std::optional<std::string> CheckOverlap(const uint8_t* slot, const Message& m, const Identity& id) {
  std::vector<uint8_t> want(m.length);
  for (uint32_t i = 0; i < m.local.count; i++)
    Pattern(id.seed, id.flow, id.qp, m.number, i)
        .Fill(want.data() + m.part_at[i], 0, m.local.piece[i].length);
  const uint8_t* got = slot + m.remote.piece[0].offset;
  for (uint32_t i = 0; i < m.length; i++)
    if (got[i] != want[i])
      return fmt::format(
          "overlapping WRITEs: byte {} of {} is {:#04x}, the last of {} writers wrote {:#04x}", i,
          m.length, got[i], m.local.count, want[i]);
  return CheckAround(slot, m.remote, m.length);
}

}  // namespace

void PoisonSlot(uint8_t* slot, const Layout& layout) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < layout.count; i++) {
    const Piece& p = layout.piece[i];
    if (p.length <= kPoisonAll) continue;
    Poison(slot + at, p.offset - at);
    at = p.offset + p.length - kPoisonTail;
  }
  Poison(slot + at, layout.size - at);
}

void FillPieces(uint8_t* slot, const Layout& layout, const Pattern& pattern, uint32_t length) {
  uint32_t done = 0;
  for (uint32_t i = 0; i < layout.count && done < length; i++) {
    const uint32_t n = std::min(layout.piece[i].length, length - done);
    pattern.Fill(slot + layout.piece[i].offset, done, n);
    done += n;
  }
}

std::optional<std::string> CheckSlot(const uint8_t* slot, const Layout& layout,
                                     const Pattern& pattern, uint32_t length) {
  uint32_t done = 0;
  for (uint32_t i = 0; i < layout.count && done < length; i++) {
    const uint32_t n = std::min(layout.piece[i].length, length - done);
    if (auto bad = pattern.Check(slot + layout.piece[i].offset, done, n))
      return fmt::format("content of piece {} of {}: {} of the message", i, layout.count,
                         bad->ToString());
    done += n;
  }
  return CheckAround(slot, layout, length);
}

std::optional<std::string> CheckUntouched(const uint8_t* slot, const Layout& layout) {
  uint32_t at = 0;
  for (uint32_t i = 0; i <= layout.count; i++) {
    const bool last = i == layout.count;
    const Piece p = last ? Piece{layout.size, 0} : layout.piece[i];
    if (!last && p.length <= kPoisonAll) continue;
    if (auto bad = CheckPoison(slot + at, p.offset - at))
      return "memory that no message addressed was changed: " + bad->ToString();
    at = p.offset + p.length - (last ? 0 : kPoisonTail);
  }
  return std::nullopt;
}

uint64_t AtomicBefore(const Message& m, const Identity& id) {
  return Pattern(id.seed, id.flow, id.qp, m.number).Word(0);
}

uint64_t AtomicAfter(const Message& m, const Identity& id) {
  const uint64_t before = AtomicBefore(m, id);
  if (m.op == Op::kFetchAdd) return before + m.operand;
  return m.swap_matches ? m.operand : before;
}

void PrepareLocal(uint8_t* slot, const Message& m, const Identity& id) {
  PoisonSlot(slot, m.local);
  if (m.op == Op::kRead || IsAtomic(m.op)) return;
  if (m.op != Op::kOverlap) {
    FillPieces(slot, m.local, Pattern(id.seed, id.flow, id.qp, m.number), m.length);
    return;
  }
  for (uint32_t i = 0; i < m.local.count; i++)
    Pattern(id.seed, id.flow, id.qp, m.number, i)
        .Fill(slot + m.local.piece[i].offset, 0, m.local.piece[i].length);
}

std::optional<std::string> CheckLocal(const uint8_t* slot, const Message& m, const Identity& id) {
  if (m.op == Op::kRead)
    return CheckSlot(slot, m.local, Pattern(id.seed, id.flow, id.qp, m.number), m.length);
  if (IsAtomic(m.op)) {
    const uint64_t got = Load64(slot + m.local.piece[0].offset);
    if (got != AtomicBefore(m, id))
      return fmt::format("{} returned {:#x}, the target held {:#x}", OpName(m.op), got,
                         AtomicBefore(m, id));
  }
  return CheckAround(slot, m.local, m.local.Bytes());
}

void PrepareRemote(uint8_t* slot, const Message& m, const Identity& id) {
  PoisonSlot(slot, m.remote);
  if (m.op == Op::kRead || IsAtomic(m.op))
    FillPieces(slot, m.remote, Pattern(id.seed, id.flow, id.qp, m.number), m.length);
}

std::optional<std::string> CheckRemote(const uint8_t* slot, const Message& m, const Identity& id) {
  if (m.op == Op::kOverlap) return CheckOverlap(slot, m, id);
  if (!IsAtomic(m.op))
    return CheckSlot(slot, m.remote, Pattern(id.seed, id.flow, id.qp, m.number), m.length);
  const uint64_t got = Load64(slot + m.remote.piece[0].offset);
  if (got != AtomicAfter(m, id))
    return fmt::format("{} left {:#x}, expected {:#x} (before: {:#x})", OpName(m.op), got,
                       AtomicAfter(m, id), AtomicBefore(m, id));
  return CheckAround(slot, m.remote, 8);
}

}  // namespace mroce::verify
