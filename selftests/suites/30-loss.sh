#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=1200 check=6.12
#
# 2 GiB in messages of all kinds and sizes through a network that loses 1 % of
# the packets, duplicates 1 % and reorders 5 %, in both directions: nothing is
# lost, doubled, or wrong (every byte and every completion is checked).
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
. "$LAB_DIR/../lib-loss.sh"
loss_volume 1G:1500
