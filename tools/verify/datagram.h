// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The UD run: datagrams both ways; loss is counted, corruption is a failure.
#pragma once

#include "report.h"

namespace mroce::verify {

void RunDatagrams(const Options& options, Channel channel, Summary* summary, std::string* device);

}  // namespace mroce::verify
