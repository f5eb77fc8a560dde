#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# How long a message takes when packets are lost: one 64 KiB WRITE at a time, 10 Gb/s, 20 us,
# MTU 1500.
#
# In a guest: tail.sh MESSAGES
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quantiles="p50 p90 p99 p999"

# ---- on the host
table_cells() { cell tail 10000; }

table_report() { # METRICS RESULTS
	local loss q row
	cat <<-'END'

		## Tail

		One RC QP, one WRITE of 64 KiB at a time (10,000 of them), from post to completion, in us. 10 Gb/s, MTU 1500, round trip 20 us.

		| loss | median | 90 % | 99 % | 99.9 % |
		|---|---|---|---|---|
	END
	for loss in 0 1; do
		row="| $loss % |"
		for q in $quantiles; do row+=" $(value "tail.loss$loss.${q}_us" "$1") |"; done
		echo "$row"
	done
	echo
	echo "Above the median without loss, in round trips: $(value tail.loss1.p99_extra_rtts "$1") in 99 %, $(value tail.loss1.p999_extra_rtts "$1") in 99.9 %."
}

# ---- in a guest
measure() {
	local messages=$1 base='' loss out q
	vt_load && vt_fabric 10gbit 20 1500 && vt_links || exit
	for loss in 0 1; do
		vt_loss loss "$loss%" || exit
		out=$(vt_bench ma mb --size 64K --depth 1 --warmup 0.01 --messages "$messages") || exit
		for q in $quantiles; do
			metric "tail.loss$loss.${q}_us" "$(jq -e ".latency_us.$q" <<<"$out")" %.1f
		done
		: "${base:=$(jq .latency_us.p50 <<<"$out")}"
	done
	for q in p99 p999; do
		metric "tail.loss1.${q}_extra_rtts" "$(jq --argjson base "$base" "(.latency_us.$q - \$base) / 20" <<<"$out")"
	done
}
! in_guest || measure "$@"
