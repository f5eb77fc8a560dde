#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Goodput over long distances, and how fast it gets there: one RC QP, 1 MiB WRITEs, four
# bandwidth-delay products of them under way, 10 Gb/s, MTU 9000.
#
# In a guest: distance.sh RTT_MS LOSS
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rtts="10 50 100"
losses="0 0.1 1"
start=30	# round trips until it is measured
measured=12	# round trips

# ---- on the host
table_cells() {
	local rtt loss
	for rtt in $rtts; do
		for loss in $losses; do cell_mem=5000 cell distance "$rtt" "$loss"; done
	done
}

table_report() { # METRICS RESULTS
	local rtt loss id row
	cat <<-END

		## Distance

		One RC QP, 1 MiB WRITEs, four bandwidth-delay products of them under way, one plane of 10 Gb/s, MTU 9000: payload that
		arrives, of the line, from the ${start}th round trip on; in parentheses the first that brings 90 %. They are counted from the first
		that brings anything.

		![delivered in each round trip](curves-distance.svg)

		| round trip | 0 % lost | 0.1 % | 1 % |
		|---|---|---|---|
	END
	for rtt in $rtts; do
		row="| ${rtt}ms |"
		for loss in $losses; do
			id=distance.rtt${rtt}ms.loss$loss
			row+=" $(value "$id.pct_of_line" "$1") % ($(value "$id.start_rtts" "$1")) |"
		done
		echo "$row"
	done
	plot "$1" "$2"
}

plot() {
	local rtt data
	data=$(mktemp -d)
	for rtt in $rtts; do
		awk -v id="distance.rtt${rtt}ms.loss0" '$1 == "point" && $2 == id { print $3, $4 }' "$1" >"$data/$rtt"
	done
	gnuplot <<-END
		set terminal svg size 800,480 background "white" font "sans,13"
		set output "$2/curves-distance.svg"
		set title "Delivered in each round trip after the first (10 Gb/s, MTU 9000, no loss)"
		set logscale y
		set xrange [0:30]
		set yrange [0.1:12]
		set xlabel "round trips"
		set ylabel "Gb/s"
		set grid
		set key bottom right
		plot "$data/10" with linespoints lw 2 title "10 ms", \\
			"$data/50" with linespoints lw 2 title "50 ms", \\
			"$data/100" with linespoints lw 2 title "100 ms"
	END
	rm -r "$data"
}

# ---- in a guest
count() { # payload that has arrived at b for the first time
	local bytes copies
	read -r bytes </sys/class/infiniband/mb/ports/1/hw_counters/rx_bytes
	read -r copies </sys/class/infiniband/mb/ports/1/hw_counters/rx_dup_cpn
	echo $((bytes - copies * 8960))
}

# What arrives in each round trip, from the first on that brings something. Completions would not
# do: they come in the order of the messages, a second's worth at once where one was lost twice.
sample() { # SECONDS TIMES
	local i=0 last=0 now
	while [ $i -lt "$2" ]; do
		nap "$1"
		now=$(count)
		[ "$now" != 0 ] || continue
		echo $((++i)) $((now - last))
		last=$now
	done
}

measure() {
	local rtt=$1 loss=$2 id=distance.rtt$1ms.loss$2 secs bench
	vt_load && vt_fabric 10gbit $((rtt * 1000)) 9000 && vt_links && vt_loss loss "$loss%" || exit
	# or counters are read once in 10 ms
	echo 0 >/sys/class/infiniband/mb/ports/1/hw_counters/lifespan || exit
	secs=$(jq -n "$rtt / 1000")
	goodput --warmup 0 --seconds "$(jq -n "$secs * ($start + $measured + 2)")" --memory 1G \
		--depth $((rtt * 10000000 / 8 * 4 / 1048576 + 1)) >"$scratch/goodput" &
	bench=$!
	sample "$secs" $((start + measured)) >"$scratch/rates"
	wait $bench || exit
	awk -v id="$id" -v rtt="$secs" -v start=$start '
		{ gbps = $2 * 8 / rtt / 1e9; print "point", id, $1, gbps }
		!there && gbps >= 9 { there = $1 }
		$1 > start { sum += gbps; n++ }
		END {
			printf "metric %s.pct_of_line %.2f\n", id, 10 * sum / n
			print "metric", id ".start_rtts", there ? there : 999
		}' "$scratch/rates"
}
! in_guest || measure "$@"
