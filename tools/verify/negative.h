// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Provoked errors, each with the status that the verbs specification and other devices give.
#pragma once

#include "options.h"

namespace mroce::verify {

int RunNegative(const Options& options);

}  // namespace mroce::verify
