// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The RC run: both ends' loops, the end of the traffic, the final checks.
#pragma once

#include "report.h"
#include "session.h"

namespace mroce::verify {

// Fills @summary as far as it comes. Throws VerifyError.
void RunTransfer(Session& session, Summary* summary);

}  // namespace mroce::verify
