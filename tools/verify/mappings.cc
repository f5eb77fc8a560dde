// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mappings.h"

#include <fstream>
#include <sstream>
#include <string>

namespace mroce::verify {

std::vector<Mapping> DeviceMappings() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("uverbs") == std::string::npos) continue;
    std::istringstream in(line);
    uintptr_t from = 0, to = 0;
    char dash = 0;
    std::string rights;
    in >> std::hex >> from >> dash >> to >> rights;
    found.push_back({reinterpret_cast<uint8_t*>(from), to - from, rights.find('w') == std::string::npos});
  }
  return found;
}

}  // namespace mroce::verify
