#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The kernel's memory for a QP and for a connection: differences of what /proc/meminfo
# shows while QPs are connected, with the verbs layer's own part in them.
#
#   a eth1 ---- eth1 b      MTU 1500
#     ...
#   a eth8 ---- eth8 b
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- on the host
table_cells() {
	cell memory
	path_bytes
}

# What the sender keeps for a path, and the receiver: the sizes of the structures.
path_bytes() {
	local program
	program=$(mktemp)
	gcc -I"$ROOT/include" -x c -o "$program" - <<-'END'
		#include <stdio.h>
		#include <metaroce/core.h>
		int main(void)
		{
			return printf("metric bytes.per_path %zu\nmetric bytes.per_rxpath %zu\n",
				      sizeof(struct mroce_path), sizeof(struct mroce_rxpath)) < 0;
		}
	END
	"$program"
	rm "$program"
}

table_report() { # METRICS RESULTS
	cat <<-END

		## Memory

		Bytes of kernel memory at each side, the verbs layer's part included, MTU 1500:

		| what | bytes |
		|---|---|
		| QP, without its rings | $(value bytes.per_qp "$1") |
		| rings of a QP of depth 1, in whole pages, and its part of the CQ | $(value bytes.per_qp_rings "$1") |
		| connection, with room for its first window and 16 paths to send on, for all to receive | $(value bytes.per_connection "$1") |
		| one more path: sender | $(value bytes.per_path "$1") |
		| one more path: receiver | $(value bytes.per_rxpath "$1") |
	END
}

# ---- in a guest
slab() { awk '$1 == "SUnreclaim:" { print 1024 * $2 }' /proc/meminfo; }
rings() { awk '$1 == "VmallocUsed:" { print 1024 * $2 }' /proc/meminfo; }

# held PAIRS QPS: bytes in slabs and in rings while 8 flows over so many pairs of devices, of so
# many QPs each, are connected and wait for the time at which they begin to send
held() {
	local pairs=$1 qps=$2 i d ends=() n
	for ((i = 0; i < 8; i++)); do
		d=$((i % pairs + 1))
		ends+=("b:n$d:eth$d" "a:m$d:eth$d")
	done
	together 0.01 1000 "${ends[@]}" -- --size 1K --qps "$qps" --depth 1 --memory 64K &
	n=$!
	nap 2
	slab
	rings
	wait $n
	# connections without QPs go after a while
	nap 30
}

measure() {
	local i one many apart
	vt_load && host_add a b || exit
	for i in 1 2 3 4 5 6 7 8; do
		link_add a eth$i b eth$i && netem a eth$i delay 1ms && vt_neighbours a eth$i b eth$i &&
		mroce_link a m$i eth$i && mroce_link b n$i eth$i &&
		wait_for 10 gid_index a m$i "$(addr a eth$i)" && wait_for 10 gid_index b n$i "$(addr b eth$i)" || exit
	done
	held 1 1 >/dev/null
	mapfile -t one < <(held 1 1)
	mapfile -t many < <(held 1 129)
	mapfile -t apart < <(held 8 1)
	echo "# ${one[*]} / ${many[*]} / ${apart[*]}"
	# 8 flows x 128 QPs x 2 sides; 7 connections x 2 sides
	metric bytes.per_qp $(((many[0] - one[0]) / 2048)) %d
	metric bytes.per_qp_rings $(((many[1] - one[1]) / 2048)) %d
	metric bytes.per_connection $(((apart[0] + apart[1] - one[0] - one[1]) / 14)) %d
}
! in_guest || measure
