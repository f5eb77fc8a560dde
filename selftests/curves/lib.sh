# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# What the tables share. Sourced by each: on the host for its report, in a guest to measure.

# ---- on the host
# value ID METRICS: what a cell has measured
value() { awk -v id="$1" '$2 == id { print $3 }' "$2"; }

# ---- in a guest
# metric ID VALUE [FORMAT]
metric() { printf "metric %s ${3:-%.2f}\n" "$1" "$2"; }

# percent PART WHOLE
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.4f\n", 100 * a / b }'; }

# goodput ARGUMENT...: of metaroce-bench from a to b, in bit/s. The QPs wait for ever-lasting
# queues, too: 4.096 us x 2^18 is a second.
goodput() { vt_bench ma mb --timeout 18 "$@" | jq -e .goodput_bps; }

in_guest() { [ -n "${LAB_VT:-}" ]; }
if in_guest; then
	. "$LAB_DIR/guest.sh"
	. "$LAB_DIR/vt/fabric.sh"
fi
