// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `metaroce top`.
#pragma once

#include "netlink.h"
#include "options.h"

namespace mroce::cli {

// Throws Failure.
void Top(Netlink& nl, const Options& o);

}  // namespace mroce::cli
