#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A few short cells of the tables, compared with the golden file; TAP. Two minutes: for CI. The ids
# are smoke.*, since runs this short spread more.
#
#   smoke.sh [--update]     --update takes the figures as golden
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- on the host
host() {
	local root metrics
	root=$(cd "$(dirname "$0")/../.." && pwd)
	if ! metrics=$("$root/selftests/lab/vt/run.sh" --timeout 600 "$root/selftests/curves/smoke.sh"); then
		echo "$metrics"
		echo "not ok - curves: the guest ran to its end"
		return 1
	fi
	echo "ok - curves: the guest ran to its end"
	"$root/selftests/curves/compare.sh" "${1:---tap}" <<<"$metrics"
}

# ---- in a guest
measure() {
	local clean bps base out bulk=(--warmup 0.03 --seconds 0.1 --depth 256 --memory 256M)
	local single=(--size 64K --depth 1 --warmup 0.01 --messages 2000)
	vt_load && vt_fabric 10gbit 20 1500 && vt_links || exit

	clean=$(goodput "${bulk[@]}") && metric smoke.clean.mtu1500.pct_of_line "$(percent "$clean" 1e10)" || exit
	base=$(vt_bench ma mb "${single[@]}" | jq -e .latency_us.p50) && metric smoke.tail.loss0.p50_us "$base" || exit

	vt_loss loss 1% && bps=$(goodput "${bulk[@]}") &&
		metric smoke.loss.1.rtt20us.pct_of_clean "$(percent "$bps" "$clean")" || exit
	out=$(vt_bench ma mb "${single[@]}") &&
		metric smoke.tail.loss1.p99_extra_rtts "$(jq --argjson base "$base" '(.latency_us.p99 - $base) / 20' <<<"$out")" || exit

	vt_loss delay 10us 10us reorder 95% && bps=$(goodput "${bulk[@]}") &&
		metric smoke.reorder5.pct_of_line "$(percent "$bps" 1e10)" || exit
}
if in_guest; then measure; else host "$@"; fi
