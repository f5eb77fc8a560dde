#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# N hosts send to one: how soon each has its share of the receiver's line, and how even
# the shares are. 10 Gb/s, 20 us, MTU 1500, WRITEs of one packet.
#
#   h1 eth0 ---- eth1 r eth0 ---- eth0 b      10 Gb/s from hN to r and from r to b, where the
#   h2 eth0 ---- eth2 r                       queue is; 20 us from b to r
#   ...
#
# In a guest: incast.sh N QUEUE
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

senders="2 16"	# 64 takes too long for a table: some forty programs are started for each host
queues="ecn drop deep"
queue_name() {
	case $1 in
	ecn) echo "marks from 50 us on" ;;
	drop) echo "256 packets, no marks" ;;
	deep) echo "never full, no marks" ;;
	esac
}
prefix() { if [ "$2" = ecn ]; then echo "incast.$1"; else echo "incast.$1.$2"; fi; }

# ---- on the host
table_cells() {
	local n q
	for n in $senders; do
		for q in $queues; do cell_mem=4000 cell incast "$n" "$q"; done
	done
}

table_report() { # METRICS RESULTS
	local n q id
	cat <<-'END'

		## Incast

		N hosts on lines of 10 Gb/s, each with one RC QP and WRITEs of one packet (2,048 under way), begin together to send to one, also
		behind 10 Gb/s; MTU 1500, round trip 20 us. Fair: when the first 20 units begin in which each sender gets its share, but for 10 %; a
		unit is the larger of a round trip and N packets on the line; "-": not within 20 ms. Jain's index and the sum are of the
		second half of these.

		| N | queue | fair after, units | Jain | sum, of the line | dropped |
		|---|---|---|---|---|---|
	END
	for n in $senders; do
		for q in $queues; do
			id=$(prefix "$n" "$q")
			echo "| $n | $(queue_name "$q") | $(value "$id.rtts_to_fair" "$1") | $(value "$id.jain" "$1") |" \
				"$(value "$id.pct_of_line" "$1") % | $(value "$id.dropped_pct" "$1") % |"
		done
	done | sed 's/| 99999 |/| - |/'
}

# ---- in a guest
# marking_line HOST IF RATE SOJOURN: ecn_queue, but without the burst of 10 ms that htb grants by
# default, which 20 ms would not outlive
marking_line() {
	ecn_queue "$@" 2>/dev/null &&
	on "$1" tc class change dev "$2" parent 1: classid 1:1 htb rate "$3" burst 16k cburst 16k quantum 16000
}

fabric() { # N QUEUE
	local i
	host_add b && router_add r && link_add r eth0 b eth0 1500 || return
	for ((i = 1; i <= $1; i++)); do
		host_add h$i && link_add h$i eth0 r eth$i 1500 && segment_here h$i eth0 &&
		route h$i 10.0.1.0/24 "$(addr r eth$i)" && vt_neighbours h$i eth0 r eth$i &&
		netem h$i eth0 rate 10gbit || return
	done
	# the whole round trip on the way back, so that it needs no second router
	route b 10.0.0.0/16 10.0.1.1 && segment_here b eth0 && vt_neighbours r eth0 b eth0 &&
	netem b eth0 delay 20us limit 1000000 || return
	case $2 in
	ecn) marking_line r eth0 10gbit 50us ;;
	drop) netem r eth0 rate 10gbit limit 256 ;;
	deep) netem r eth0 rate 10gbit limit 4000000 ;;
	esac
}

measure() {
	local n=$1 queue=$2 id i ends=()
	id=$(prefix "$@")
	vt_load && fabric "$n" "$queue" && mroce_link b mb eth0 && wait_for 10 gid_index b mb 10.0.1.2 || exit
	for ((i = 1; i <= n; i++)); do
		mroce_link h$i m$i eth0 && wait_for 10 gid_index h$i m$i "$(addr h$i eth0)" || exit
		ends+=(b:mb:eth0 "h$i:m$i:eth0")
	done
	together 0.02 "$(jq -n "[20, $n * 1.2] | max")" "${ends[@]}" -- --size 1408 --depth 2048 --memory 4M || exit
	shares "$id" 20 || exit
	metric "$id.dropped_pct" "$(dropped_pct r eth0)"
}
! in_guest || measure "$@"
