// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mroce::bench {

void Latencies::Add(uint64_t ns) {
  values_.push_back(ns);
  sorted_ = false;
}

uint64_t Latencies::Quantile(double fraction) {
  if (values_.empty()) return 0;
  if (!sorted_) std::sort(values_.begin(), values_.end());
  sorted_ = true;
  const double rank = std::ceil(fraction * static_cast<double>(values_.size()));
  const size_t index = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  return values_[std::min(index, values_.size() - 1)];
}

double Latencies::Mean() const {
  if (values_.empty()) return 0;
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

}  // namespace mroce::bench
