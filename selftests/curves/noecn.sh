#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two flows over a core link whose queue is short and marks nothing: what they lose in it,
# and how they share it. 10 Gb/s everywhere, 20 us, MTU 1500.
#
#   h1 eth0 ---- eth1 r eth0 ---- eth0 s eth1 ---- eth0 b1      r -> s: 43 packets, 64 KiB
#   h2 eth0 ---- eth2 r                s eth2 ---- eth0 b2
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- on the host
table_cells() { cell noecn; }

table_report() { # METRICS RESULTS
	cat <<-END

		## A short queue without marks

		Two hosts send to two others, all on lines of 10 Gb/s, over one core link of 10 Gb/s whose queue takes 43 packets (64 KiB)
		and drops the rest. One RC QP each, 64 KiB WRITEs (64 under way), MTU 1500, round trip 20 us, the second half of 50 ms: the sum
		is $(value noecn.pct_of_line "$1") % of the line, Jain's index $(value noecn.jain "$1"); the core link drops $(value noecn.dropped_pct "$1") % of all packets.
	END
}

# ---- in a guest
fabric() {
	local i
	router_add r s && link_add r eth0 s eth0 && vt_neighbours r eth0 s eth0 || return
	for i in 1 2; do
		host_add h$i b$i && link_add h$i eth0 r eth$i && link_add s eth$i b$i eth0 &&
		vt_neighbours h$i eth0 r eth$i && vt_neighbours s eth$i b$i eth0 &&
		segment_here h$i eth0 && segment_here b$i eth0 && netem h$i eth0 rate 10gbit &&
		route h$i 10.0.0.0/16 "$(addr r eth$i)" && route b$i 10.0.0.0/16 "$(addr s eth$i)" || return
	done
	route r 10.0.0.0/16 10.0.1.2 && route s 10.0.0.0/16 10.0.1.1 &&
	# the whole round trip on the way back
	netem s eth0 delay 20us limit 1000000 && netem r eth0 rate 10gbit limit 43
}

measure() {
	local i
	vt_load && fabric || exit
	for i in 1 2; do
		mroce_link h$i m$i eth0 && mroce_link b$i n$i eth0 &&
		wait_for 10 gid_index h$i m$i "$(addr h$i eth0)" && wait_for 10 gid_index b$i n$i "$(addr b$i eth0)" || exit
	done
	together 0.05 200 b1:n1:eth0 h1:m1:eth0 b2:n2:eth0 h2:m2:eth0 -- --size 64K --depth 64 --memory 8M || exit
	shares noecn 20 || exit
	metric noecn.dropped_pct "$(dropped_pct r eth0)"
}
! in_guest || measure
