#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=1200 check=6.1
#
# Things end while traffic runs: 10 rounds of each kind. See lib-lifetime.sh. They should return
# within 5 s, and that is counted; but what shares its processors with others fails when it hangs.
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
. "$LAB_DIR/../lib-lifetime.sh"
lifetime 10 60000
