# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# What the tables share. Sourced by each: on the host for its report, in a guest to measure.

# ---- on the host
# value ID METRICS: what a cell has measured
value() { awk -v id="$1" '$2 == id { print $3 }' "$2"; }

# ---- in a guest
# metric ID VALUE [FORMAT]; fails without a value
metric() { [ -n "$2" ] && printf "metric %s ${3:-%.2f}\n" "$1" "$2"; }

# percent PART WHOLE
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.4f\n", 100 * a / b }'; }

# goodput ARGUMENT...: of metaroce-bench from a to b, in bit/s. 20: a QP gives up after some
# seconds, not before a long queue has drained.
goodput() {
	local out
	out=$(vt_bench ma mb --timeout 20 "$@") && jq -e .goodput_bps <<<"$out"
}

# together SECONDS UNIT_US SERVER:DEVICE:IF CLIENT:DEVICE:IF ... -- ARGUMENT...: pairs of
# metaroce-bench that begin at the same time, so that their intervals of UNIT_US are the same;
# the JSON of the n-th in $scratch/flow.n
together() {
	local seconds=$1 unit_us=$2 at n=0 ends=() sh sd si ch cd ci pids=()
	shift 2
	while [ "$1" != -- ]; do ends+=("$1"); shift; done
	shift
	at=$(awk '{ print int($1) + 3 }' /proc/uptime)
	while [ $((2 * n)) -lt ${#ends[@]} ]; do
		IFS=: read -r sh sd si <<<"${ends[2 * n]}"
		IFS=: read -r ch cd ci <<<"${ends[2 * n + 1]}"
		n=$((n + 1))
		spawn "$sh" metaroce-bench -d "$sd" --listen -p $((18000 + n)) --gid-index "$(gid_index "$sh" "$sd" "$(addr "$sh" "$si")")"
		spawn "$ch" metaroce-bench -d "$cd" -p $((18000 + n)) --gid-index "$(gid_index "$ch" "$cd" "$(addr "$ch" "$ci")")" \
			-j --at "$at" --warmup 0 --seconds "$seconds" --interval "$(jq -n "$unit_us / 1e6")" --timeout 20 \
			"$@" "$(addr "$sh" "$si")" >"$scratch/flow.$n"
		pids+=("$pid")
	done
	for n in "${pids[@]}"; do wait "$n" || return; done
}

# shares ID WINDOW: of what together() measured: the flows' sum and Jain's index, in the second half
# of the time, and when the first WINDOW intervals begin in which each flow has its share, but for
# 10 % (99999: never)
shares() {
	jq -r -s --arg id "$1" --argjson w "$2" '
		(.[0].seconds / .[0].interval + 0.5 | floor) as $k |
		map([range($k) as $i | .bytes_per_interval[$i] // 0]) as $flows |
		($flows | map(.[$k / 2 | floor:] | add)) as $half |
		($half | add * 8) as $bits |
		([first(range($k - $w) | select(. as $t | $flows | map(.[$t:$t + $w] | add) |
			(add / length) as $fair | $fair > 0 and all(.[]; (. - $fair | fabs) <= $fair / 10)))] | .[0] // 99999) as $when |
		"metric \($id).pct_of_line \($bits / (($k - ($k / 2 | floor)) * .[0].interval) / 1e6 | round | . / 100)",
		"metric \($id).jain \(($half | add * add) / (($half | map(. * .) | add) * length) * 1e4 | round | . / 1e4)",
		"metric \($id).rtts_to_fair \($when)"' "$scratch"/flow.*
}

# dropped_pct HOST IF: by the queue there, of what it was given
dropped_pct() {
	on "$1" tc -s -j qdisc show dev "$2" |
		jq '.[] | select(.root) | 100 * .drops / ([.packets + .drops, 1] | max)'
}

in_guest() { [ -n "${LAB_VT:-}" ]; }
if in_guest; then
	. "$LAB_DIR/guest.sh"
	. "$LAB_DIR/vt/fabric.sh"
fi
