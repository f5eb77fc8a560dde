#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=7200 long=yes
#
# As 30-loss.sh, with 20 GiB: 4 GiB in small packets, 16 GiB in large ones.
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
. "$LAB_DIR/../lib-loss.sh"
loss_volume 2G:1500 8G:9000
