// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Latencies of messages.
#pragma once

#include <cstdint>
#include <vector>

namespace mroce::bench {

class Latencies {
 public:
  void Add(uint64_t ns);
  uint64_t count() const { return values_.size(); }
  // The smallest value that at least @fraction (0..1] of all values do not exceed, by the
  // nearest-rank method; 0 without values. Sorts what was added.
  uint64_t Quantile(double fraction);
  double Mean() const;  // 0 without values

 private:
  std::vector<uint64_t> values_;
  bool sorted_ = true;
};

}  // namespace mroce::bench
