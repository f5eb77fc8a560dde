// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Garbage in the queues shared with the kernel, while they are in use.
#pragma once

#include "options.h"

namespace mroce::verify {

int RunScribble(const Options& options);

}  // namespace mroce::verify
