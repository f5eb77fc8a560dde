#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=5400 long=yes
#
# As 50-lifetime.sh, 50 rounds of each kind.
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
. "$LAB_DIR/../lib-lifetime.sh"
lifetime 50 5000
