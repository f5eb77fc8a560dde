// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The memory of one message: filled, poisoned, compared. No verbs here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pattern.h"
#include "plan.h"

namespace mroce::verify {

struct Identity {
  uint64_t seed;
  uint32_t flow;
  uint32_t qp;
};

// Poison: guards always, pieces as far as old content could be taken for new.
void PoisonSlot(uint8_t* slot, const Layout& layout);
// Fills the pieces with the first @length bytes of the message.
void FillPieces(uint8_t* slot, const Layout& layout, const Pattern& pattern, uint32_t length);
// The pieces hold the first @length bytes, everything else in the slot is poison. Returns what is
// wrong.
std::optional<std::string> CheckSlot(const uint8_t* slot, const Layout& layout,
                                     const Pattern& pattern, uint32_t length);
// The whole slot is as PoisonSlot() left it.
std::optional<std::string> CheckUntouched(const uint8_t* slot, const Layout& layout);

// Requester: what lies in the local slot before posting.
void PrepareLocal(uint8_t* slot, const Message& m, const Identity& id);
// Requester, after the completion: data that came back (READ, atomics) and the guards.
std::optional<std::string> CheckLocal(const uint8_t* slot, const Message& m, const Identity& id);
// Responder: what lies in the remote slot before the message may come.
void PrepareRemote(uint8_t* slot, const Message& m, const Identity& id);
// Responder: the effect of the message.
std::optional<std::string> CheckRemote(const uint8_t* slot, const Message& m, const Identity& id);

// Value of an atomic's target before the operation.
uint64_t AtomicBefore(const Message& m, const Identity& id);
uint64_t AtomicAfter(const Message& m, const Identity& id);

}  // namespace mroce::verify
