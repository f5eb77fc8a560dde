// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A small seeded generator: both sides of a run derive the same plan from it.
#pragma once

#include <cstdint>

namespace mroce::verify {

constexpr uint64_t Mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(Mix(seed)) {}
  uint64_t Next() { return Mix(state_++); }
  // Uniform in [0, n); 0 for n == 0.
  uint64_t Below(uint64_t n) { return n ? Next() % n : 0; }
  // Uniform in [lo, hi].
  uint64_t Between(uint64_t lo, uint64_t hi) { return lo + Below(hi - lo + 1); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace mroce::verify
