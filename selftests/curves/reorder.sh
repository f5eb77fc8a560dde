#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Goodput when packets overtake each other inside a path, without loss: one RC QP, 1 MiB WRITEs,
# 10 Gb/s, 20 us, MTU 1500.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- on the host
table_cells() { cell reorder; }

table_report() { # METRICS RESULTS
	cat <<-END

		## Reordering

		No loss; of all packets in both directions 5 % are late by 0 to 20 us, up to a round trip; after 50 ms. One RC QP, 1 MiB
		WRITEs (256 under way), 10 Gb/s, MTU 1500, round trip 20 us: $(value reorder5.pct_of_line "$1") % of the line; packets sent again
		although they had not been lost: $(value reorder5.spurious_pct "$1") %.
	END
}

# ---- in a guest
count() { echo $(("$(cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2")")); }

measure() {
	local bps
	vt_load && vt_fabric 10gbit 20 1500 && vt_links && vt_loss delay 10us 10us reorder 95% || exit
	bps=$(goodput --warmup 0.05 --seconds 0.25 --depth 256 --memory 256M) || exit
	metric reorder5.pct_of_line "$(percent "$bps" 1e10)"
	metric reorder5.spurious_pct "$(percent "$(count ma retx_spurious)" "$(count ma tx_pkts)")" %.3f
}
! in_guest || measure
