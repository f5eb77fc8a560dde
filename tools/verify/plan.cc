// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <sstream>
#include <stdexcept>

namespace mroce::verify {

namespace {

struct OpTraits {
  Op op;
  const char* name;
  bool receive, immediate, atomic;
};
constexpr OpTraits kOps[] = {
    {Op::kWrite, "write", false, false, false},
    {Op::kWriteImm, "write_imm", true, true, false},
    {Op::kSend, "send", true, false, false},
    {Op::kSendImm, "send_imm", true, true, false},
    {Op::kRead, "read", false, false, false},
    {Op::kFetchAdd, "fetch_add", false, false, true},
    {Op::kCmpSwap, "cmp_swap", false, false, true},
    {Op::kOverlap, "overlap", false, false, false},
};
static_assert(std::size(kOps) == kOpCount);
constexpr bool OpsInOrder() {
  for (size_t i = 0; i < kOpCount; i++)
    if (kOps[i].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(OpsInOrder());
const OpTraits& TraitsOf(Op op) { return kOps[static_cast<size_t>(op)]; }

// Payloads at which packets begin and end: verbs MTUs, and what common IP MTUs leave.
constexpr uint32_t kEdges[] = {128, 256, 512, 1024, 1280, 1408, 1500, 2048, 4096, 4200, 8192, 8832, 9000};
constexpr uint32_t kOverlapLimit = 64u << 10;

}  // namespace

const char* OpName(Op op) { return TraitsOf(op).name; }
bool ConsumesReceive(Op op) { return TraitsOf(op).receive; }
bool HasImmediate(Op op) { return TraitsOf(op).immediate; }
bool IsAtomic(Op op) { return TraitsOf(op).atomic; }

uint64_t Layout::Bytes() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += piece[i].length;
  return sum;
}

std::vector<Op> ParseOps(const std::string& text) {
  std::vector<Op> ops;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const auto* found = std::find_if(std::begin(kOps), std::end(kOps),
                                     [&](const OpTraits& t) { return word == t.name; });
    if (found == std::end(kOps))
      throw std::invalid_argument(fmt::format(
          "unknown operation '{}': use write, write_imm, send, send_imm, read, fetch_add, "
          "cmp_swap, overlap, separated by commas",
          word));
    ops.push_back(found->op);
  }
  if (ops.empty()) throw std::invalid_argument("no operation given: try write,send,read");
  return ops;
}

std::string OpsText(const std::vector<Op>& ops) {
  std::string text;
  for (Op op : ops) {
    if (!text.empty()) text += ',';
    text += OpName(op);
  }
  return text;
}

uint64_t ParseBytes(const std::string& text) {
  size_t used = 0;
  uint64_t value = 0;
  try {
    if (!text.empty() && text[0] >= '0' && text[0] <= '9') value = std::stoull(text, &used);
  } catch (const std::out_of_range&) {
    used = 0;
  }
  const std::string suffix = used ? text.substr(used) : "?";
  unsigned shift = 0;
  if (suffix == "K" || suffix == "k") shift = 10;
  else if (suffix == "M" || suffix == "m") shift = 20;
  else if (suffix == "G" || suffix == "g") shift = 30;
  else if (!suffix.empty())
    throw std::invalid_argument(
        fmt::format("'{}' is no size: give a number with K, M or G behind it if needed", text));
  if (value > UINT64_MAX >> shift)
    throw std::invalid_argument(fmt::format("size '{}' is too large", text));
  return value << shift;
}

SizeRange ParseSizes(const std::string& text) {
  if (text == "mixed") return {true, 0, 0};
  SizeRange r;
  const size_t colon = text.find(':');
  r.lo = ParseBytes(text.substr(0, colon));
  r.hi = colon == std::string::npos ? r.lo : ParseBytes(text.substr(colon + 1));
  if (r.lo > r.hi)
    throw std::invalid_argument(fmt::format("sizes '{}': the first must not exceed the second", text));
  if (r.hi > 1u << 30) throw std::invalid_argument("sizes above 1G are not supported");
  return r;
}

Plan::Plan(const PlanConfig& config, uint32_t flow, uint32_t qp)
    : config_(config),
      sizes_(ParseSizes(config.sizes)),
      rng_(Mix(config.seed) ^ Mix((uint64_t{flow} << 32) | qp)) {
  const uint64_t largest = sizes_.mixed ? config.max_size : sizes_.hi;
  // Two must fit, or the pipeline would drain for each message.
  if (config.ring % 4096 || largest + kMaxSlack + (kMaxPieces + 2) * 3 * kGuard > config.ring / 2)
    throw std::invalid_argument(
        fmt::format("messages of {} bytes do not fit a ring of {} bytes: give more --memory, fewer "
                    "--qps or smaller --sizes",
                    largest, config.ring));
  if (config.ops.empty() || !config.max_pieces || config.max_pieces > kMaxPieces)
    throw std::invalid_argument("a plan needs operations and 1 to 8 SGEs");
}

uint32_t Plan::PickMixedSize() {
  const uint64_t dice = rng_.Below(100);
  uint64_t size;
  if (dice < 4) size = 0;
  else if (dice < 8) size = 1;
  else if (dice < 16) size = rng_.Between(2, 16);
  else if (dice < 28) size = rng_.Between(0, 127) * 2 + 1;
  else if (dice < 50) {
    const uint64_t edge = kEdges[rng_.Below(std::size(kEdges))] * rng_.Between(1, 8);
    size = edge + rng_.Below(3) - 1;
  } else {
    // Log-uniform over a class, so that large ones do not eat the volume.
    const auto [from, to] = dice < 72   ? std::pair{8, 12}
                            : dice < 89 ? std::pair{12, 16}
                            : dice < 97 ? std::pair{16, 20}
                                        : std::pair{20, 23};
    const uint64_t bit = uint64_t{1} << rng_.Between(from, to - 1);
    size = bit + rng_.Below(bit + 1);
    if (rng_.OneIn(4)) size &= ~uint64_t{4095};
  }
  return static_cast<uint32_t>(std::min<uint64_t>(size, config_.max_size));
}

uint32_t Plan::PickSize() {
  if (sizes_.mixed) return PickMixedSize();
  return static_cast<uint32_t>(rng_.Between(sizes_.lo, sizes_.hi));
}

uint32_t Plan::Misalignment(uint32_t length) {
  const uint64_t dice = rng_.Below(4);
  if (dice == 0) return 0;
  if (dice == 1) return static_cast<uint32_t>(rng_.Below(8)) * 8;
  return static_cast<uint32_t>(rng_.Below(length < 4096 ? 64 : 128));
}

void Plan::Allocate(uint64_t* cursor, Layout* layout) {
  layout->size = (layout->size + kGuard + 63) / 64 * 64;
  const uint64_t at = *cursor % config_.ring;
  if (at + layout->size > config_.ring) *cursor += config_.ring - at;
  layout->position = *cursor;
  *cursor += layout->size;
}

Layout Plan::Place(uint64_t* cursor, uint32_t bytes, uint32_t pieces, bool aligned8) {
  Layout l;
  l.size = kGuard;
  l.count = std::min(pieces, bytes);
  uint32_t left = bytes;
  for (uint32_t i = 0; i < l.count; i++) {
    const uint32_t rest = l.count - 1 - i;  // the others need at least a byte each
    uint32_t length = left - rest;
    if (rest) length = static_cast<uint32_t>(rng_.Between(1, length));
    const uint32_t shift = Misalignment(length);
    l.size += aligned8 ? shift / 8 * 8 : shift;
    l.piece[i] = {l.size, length};
    l.size += length + kGuard;
    left -= length;
  }
  Allocate(cursor, &l);
  return l;
}

Layout Plan::PlaceParts(Message* m) {
  Layout l;
  l.size = kGuard;
  l.count = static_cast<uint32_t>(rng_.Between(2, 6));
  for (uint32_t i = 0; i < l.count; i++) {
    // The first covers everything, so that the result is fully known; the others lie in it.
    uint32_t length = m->length;
    if (i) length = static_cast<uint32_t>(rng_.Between(1, m->length));
    m->part_at[i] = static_cast<uint32_t>(rng_.Below(m->length - length + 1));
    l.size += Misalignment(length);
    l.piece[i] = {l.size, length};
    l.size += length + kGuard;
  }
  Allocate(&local_cursor_, &l);
  return l;
}

Message Plan::Next() {
  Message m;
  m.number = number_++;
  m.op = config_.ops[rng_.Below(config_.ops.size())];
  m.length = PickSize();
  m.imm = static_cast<uint32_t>(rng_.Next());
  m.operand = rng_.Next();
  m.swap_matches = !rng_.OneIn(3);
  m.try_inline = !rng_.OneIn(3);
  m.solicited = rng_.OneIn(4);
  const auto pieces = [&] {
    return rng_.OneIn(2) ? 1 : static_cast<uint32_t>(rng_.Between(1, config_.max_pieces));
  };
  if (IsAtomic(m.op)) m.length = 8;
  if (m.op == Op::kOverlap) {
    const uint64_t limit = std::min<uint64_t>(kOverlapLimit, config_.ring / 64);
    m.length = static_cast<uint32_t>(std::clamp<uint64_t>(m.length, 1, limit));
    m.local = PlaceParts(&m);
  } else {
    m.local = Place(&local_cursor_, m.length, IsAtomic(m.op) ? 1 : pieces(), false);
  }
  uint32_t capacity = m.length;
  uint32_t remote_pieces = 1;
  if (m.op == Op::kSend || m.op == Op::kSendImm) {
    if (rng_.OneIn(2)) capacity += static_cast<uint32_t>(rng_.Below(kMaxSlack + 1));
    remote_pieces = pieces();
  }
  m.remote = Place(&remote_cursor_, capacity, remote_pieces, IsAtomic(m.op));
  return m;
}

}  // namespace mroce::verify
