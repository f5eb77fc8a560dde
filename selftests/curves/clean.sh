#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Goodput without loss, of the line's rate: one RC QP, 1 MiB WRITEs, 10 Gb/s, 20 us.
#
# In a guest: clean.sh MTU

# ---- on the host
table_cells() {
	cell clean 1500
	cell clean 9000
}

table_report() { # METRICS RESULTS
	cat <<-'END'

		## No loss

		One RC QP, 1 MiB WRITEs (16 under way), one plane of 10 Gb/s, round trip 20 us. The line's rate counts Ethernet headers.

		| MTU | payload, of the line |
		|---|---|
	END
	sed -n 's/^metric clean\.mtu\([0-9]*\)\.pct_of_line \(.*\)/| \1 | \2 % |/p' "$1"
}

# ---- in a guest
if [ -n "${LAB_VT:-}" ]; then
	. "$LAB_DIR/guest.sh"
	. "$LAB_DIR/vt/fabric.sh"
	vt_load && vt_fabric 10gbit 20 "$1" && vt_links || exit
	bps=$(vt_bench ma mb --warmup 0.05 --seconds 0.25 | jq -e .goodput_bps) || exit
	awk -v mtu="$1" -v v="$bps" 'BEGIN { printf "metric clean.mtu%s.pct_of_line %.2f\n", mtu, v / 1e8 }'
fi
