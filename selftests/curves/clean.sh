#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Goodput without loss, of the line's rate: one RC QP, 1 MiB WRITEs, 20 us.
#
# In a guest: clean.sh MTU GBPS
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- on the host
table_cells() {
	cell clean 1500 10
	cell clean 9000 10
	cell clean 9000 100
}

table_report() { # METRICS RESULTS
	cat <<-END

		## No loss

		One RC QP, 1 MiB WRITEs (16 under way), one plane, round trip 20 us. The line's rate counts Ethernet headers.

		| MTU | line | payload, of the line |
		|---|---|---|
		| 1500 | 10 Gb/s | $(value clean.mtu1500.pct_of_line "$1") % |
		| 9000 | 10 Gb/s | $(value clean.mtu9000.pct_of_line "$1") % |
		| 9000 | 100 Gb/s | $(value clean.mtu9000.100g.pct_of_line "$1") % |
	END
}

# ---- in a guest
measure() {
	local mtu=$1 gbps=$2 id=clean.mtu$1 time=(--warmup 0.05 --seconds 0.25) bps
	[ "$gbps" = 10 ] || { id+=.${gbps}g; time=(--warmup 0.01 --seconds 0.05); }
	vt_load && vt_fabric "${gbps}gbit" 20 "$mtu" && vt_links && bps=$(goodput "${time[@]}") || exit
	metric "$id.pct_of_line" "$(percent "$bps" "${gbps}e9")"
}
! in_guest || measure "$@"
