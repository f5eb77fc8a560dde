#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Goodput when losses come in bursts, beside uniform losses of the same average: one RC QP,
# 1 MiB WRITEs, 10 Gb/s, 20 us, MTU 1500.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# average, and netem's model of it: a Gilbert-Elliott chain that loses everything in its bad
# state, which it leaves after five packets on average and enters with 20 % * l / (1 - l)
averages="1 5"
model() { case $1 in 1) echo 0.202% 20% ;; 5) echo 1.0526% 20% ;; esac; }

# ---- on the host
table_cells() { cell burstloss; }

table_report() { # METRICS RESULTS
	local l
	cat <<-'END'

		## Losses in bursts

		As above at 20 us, of the goodput without loss. Bursts: netem's Gilbert-Elliott chain; the bad state loses every packet
		and lasts for five on average.

		| lost on average | uniform | in bursts |
		|---|---|---|
	END
	for l in $averages; do
		echo "| $l % | $(value "uniformloss.$l.rtt20us.pct_of_clean" "$1") % | $(value "burstloss.$l.rtt20us.pct_of_clean" "$1") % |"
	done
}

# ---- in a guest
measure() {
	local clean bps l
	bench() { goodput --warmup 0.05 --seconds 0.25 --depth 256 --memory 256M; }
	vt_load && vt_fabric 10gbit 20 1500 && vt_links && clean=$(bench) || exit
	for l in $averages; do
		vt_loss loss "$l%" && bps=$(bench) || exit
		metric "uniformloss.$l.rtt20us.pct_of_clean" "$(percent "$bps" "$clean")"
		# shellcheck disable=SC2046
		vt_loss loss gemodel $(model "$l") && bps=$(bench) || exit
		metric "burstloss.$l.rtt20us.pct_of_clean" "$(percent "$bps" "$clean")"
	done
}
! in_guest || measure
