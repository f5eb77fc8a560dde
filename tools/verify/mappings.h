// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What RDMA devices have mapped into this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mroce::verify {

// Where a ring of metaroce has its indices: include/uapi/rdma/metaroce-abi.h.
inline constexpr size_t kRingProducer = 0, kRingConsumer = 128;

struct Mapping {
  uint8_t* at;
  size_t length;
  bool was_read_only;
};

std::vector<Mapping> DeviceMappings();

}  // namespace mroce::verify
