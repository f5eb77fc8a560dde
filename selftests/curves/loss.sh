#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Goodput under uniform random loss of packets, at three round-trip times: one RC QP, 1 MiB
# WRITEs, 10 Gb/s, MTU 1500. (iperf3 3.12 spins while it sends, which stops virtual time: TCP
# wants a load generator of ours before it can stand beside.)
#
# In a guest: loss.sh RTT_US
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

losses="0 0.1 1 2 5 10"
rtts="20 1000 10000"
rtt_name() { case $1 in 20) echo 20us ;; *) echo $(($1 / 1000))ms ;; esac; }

# ---- on the host
table_cells() {
	local rtt
	for rtt in $rtts; do cell loss "$rtt"; done
}

table_report() { # METRICS RESULTS
	local rtt loss head rule row
	cat <<-'END'

		## Loss

		One RC QP, 1 MiB WRITEs (256 under way), one plane of 10 Gb/s, MTU 1500. Gb/s of payload, and of the goodput without loss at
		that round-trip time. (The ideal is what arrives: 99.9, 99, 98, 95, 90 %.)

		![goodput under loss](curves-loss.svg)

	END
	head="| round trip | " rule="|---|"
	for loss in $losses; do head+="$loss % | " rule+="---|"; done
	echo "${head% }"
	echo "$rule"
	for rtt in $rtts; do
		row="| $(rtt_name "$rtt") |"
		for loss in $losses; do
			row+=" $(value "gbps.loss$loss.rtt$(rtt_name "$rtt")" "$1")"
			[ "$loss" = 0 ] || row+=" ($(value "loss.$loss.rtt$(rtt_name "$rtt").pct_of_clean" "$1") %)"
			row+=" |"
		done
		echo "$row"
	done
	plot "$1" "$2"
}

plot() {
	local rtt loss data
	data=$(mktemp -d)
	for rtt in $rtts; do
		for loss in $losses; do
			[ "$loss" = 0 ] || echo "$loss $(value "loss.$loss.rtt$(rtt_name "$rtt").pct_of_clean" "$1")"
		done >"$data/$rtt"
	done
	gnuplot <<-END
		set terminal svg size 800,480 background "white" font "sans,13"
		set output "$2/curves-loss.svg"
		set title "Goodput under random loss, of the goodput without (10 Gb/s, MTU 1500, 1 MiB writes)"
		set logscale x
		set xtics (0.1, 1, 2, 5, 10)
		set xrange [0.09:11]
		set yrange [80:101]
		set xlabel "packets lost, %"
		set ylabel "%"
		set grid
		set key bottom left
		plot 100 - x with lines dashtype 2 lc "gray" title "what arrives", \\
			"$data/20" with linespoints lw 2 title "20 us", \\
			"$data/1000" with linespoints lw 2 title "1 ms", \\
			"$data/10000" with linespoints lw 2 title "10 ms"
	END
	rm -r "$data"
}

# ---- in a guest
measure() {
	local rtt=$1 name warm=0.05 secs=0.25 clean='' loss bps
	name=rtt$(rtt_name "$rtt")
	case $rtt in 1000) warm=0.1 secs=0.3 ;; 10000) warm=0.6 secs=0.5 ;; esac
	vt_load && vt_fabric 10gbit "$rtt" 1500 || exit
	vt_links || exit
	for loss in $losses; do
		vt_loss loss "$loss%" || exit
		bps=$(goodput --warmup "$warm" --seconds "$secs" --depth 256 --memory 256M) ||
			{ echo "loss $loss: failed"; exit 1; }
		: "${clean:=$bps}"
		metric "gbps.loss$loss.$name" "$(jq -n "$bps / 1e9")" %.3f
		[ "$loss" = 0 ] || metric "loss.$loss.$name.pct_of_clean" "$(percent "$bps" "$clean")"
	done
}

! in_guest || measure "$@"
