#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Goodput of 1,024 QPs between two hosts, which share one connection, beside that of one:
# 64 KiB WRITEs, 10 Gb/s, 20 us, MTU 1500.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- on the host
table_cells() { cell_mem=4000 cell qps; }

table_report() { # METRICS RESULTS
	cat <<-END

		## Many QPs

		64 KiB WRITEs, 10 Gb/s, MTU 1500, round trip 20 us: 1,024 RC QPs with one under way on each bring $(value qps1024.pct_of_1qp "$1") % of the
		goodput of one QP with 256; connections between the two hosts: $(value qps1024.connections "$1").
	END
}

# ---- in a guest
measure() {
	local one many
	vt_load && vt_fabric 10gbit 20 1500 && vt_links || exit
	one=$(goodput --size 64K --warmup 0.05 --seconds 0.25 --depth 256) || exit
	many=$(goodput --size 64K --warmup 0.05 --seconds 0.25 --qps 1024 --depth 1 --memory 256M) || exit
	metric qps1024.pct_of_1qp "$(percent "$many" "$one")"
	metric qps1024.connections $(($(cat /sys/class/infiniband/ma/ports/1/hw_counters/conn_up)))  %d
}
! in_guest || measure
