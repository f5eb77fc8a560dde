// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The plan of a run: which message follows which, of what kind and size, and where it lies at both
// ends. It is a pure function of (PlanConfig, flow, QP); the two sides never tell each other what
// comes next, they compute it.
//
//   flow 0: client -> server, flow 1: server -> client (with --both)
//
// Each side of a flow has a ring of memory per QP. A message owns a slot in it: guard, pieces (the
// SGEs) with guards between them, guard. Slots follow one another in plan order; a virtual
// position (never wrapping) tells how far the ring has turned.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rng.h"

namespace mroce::verify {

enum class Op : uint8_t {
  kWrite,
  kWriteImm,
  kSend,
  kSendImm,
  kRead,
  kFetchAdd,
  kCmpSwap,
  kOverlap,  // several WRITEs onto overlapping ranges: the later one must win
};
inline constexpr size_t kOpCount = 8;
const char* OpName(Op op);
bool ConsumesReceive(Op op);
bool HasImmediate(Op op);
bool IsAtomic(Op op);

inline constexpr uint32_t kGuard = 64;     // bytes around every piece that must stay untouched
inline constexpr uint32_t kMaxPieces = 8;  // SGEs of one message
inline constexpr uint32_t kMaxSlack = 256; // a receive may be longer than the message

struct Piece {
  uint32_t offset = 0;  // in the slot
  uint32_t length = 0;
};

struct Layout {
  std::array<Piece, kMaxPieces> piece{};
  uint32_t count = 0;
  uint32_t size = 0;      // of the slot
  uint64_t position = 0;  // virtual position of the slot in the ring
  uint64_t Bytes() const;
};

struct Message {
  uint64_t number = 0;
  Op op = Op::kWrite;
  uint32_t length = 0;  // payload; of all parts for kOverlap
  uint32_t imm = 0;
  uint64_t operand = 0;     // atomics: what is added or swapped in
  bool swap_matches = true; // kCmpSwap: whether the comparison will succeed
  bool try_inline = false;
  bool solicited = false;
  Layout local;   // at the requester; for kOverlap one piece per part
  Layout remote;  // at the responder
  std::array<uint32_t, kMaxPieces> part_at{};  // kOverlap: offset of each part in the target

  uint32_t WorkRequests() const { return op == Op::kOverlap ? local.count : 1; }
};

struct PlanConfig {
  uint64_t seed = 1;
  std::vector<Op> ops;
  std::string sizes = "mixed";
  uint32_t max_size = 8u << 20;  // limit of "mixed"
  uint32_t max_pieces = 4;
  uint64_t ring = 32u << 20;     // bytes per QP, flow and side
};

// "write,send" -> ops. Throws std::invalid_argument with a helpful text.
std::vector<Op> ParseOps(const std::string& text);
std::string OpsText(const std::vector<Op>& ops);

// "mixed", "N" or "LO:HI", with suffixes K, M, G.
struct SizeRange {
  bool mixed = false;
  uint64_t lo = 0;
  uint64_t hi = 0;
};
SizeRange ParseSizes(const std::string& text);
uint64_t ParseBytes(const std::string& text);

class Plan {
 public:
  Plan(const PlanConfig& config, uint32_t flow, uint32_t qp);
  Message Next();

 private:
  uint32_t PickSize();
  uint32_t PickMixedSize();
  Layout Place(uint64_t* cursor, uint32_t bytes, uint32_t pieces, bool aligned8);
  Layout PlaceParts(Message* m);
  void Allocate(uint64_t* cursor, Layout* layout);
  uint32_t Misalignment(uint32_t length);

  PlanConfig config_;
  SizeRange sizes_;
  Rng rng_;
  uint64_t number_ = 0;
  uint64_t local_cursor_ = 0;
  uint64_t remote_cursor_ = 0;
};

}  // namespace mroce::verify
