#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=1500 mem=3072
#
# perftest's programs in a pairwise cover of their flags: whichever two flags a
# program has, some run has both, some run neither, and some run either alone.
# Each kernel takes one half of the runs, like the squares of a chessboard: every program and
# every row runs on both, every run of the cover on one. (21-perftest-long.sh runs them all.)
#
#   a eth0 (ma) ======== eth0 (mb) b
#
#   -a  sizes 2 B to 8 MiB      -e  completion events     -R  rdma_cm
#   -q  64 QPs (2 with -a, which moves 16 MiB a QP and turn)       -b  both directions
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
. "$LAB_DIR/../lib-perftest.sh"
need ib_write_bw ib_read_lat
mroce_load || skip_all "no module was built for $LAB_KERNEL"
two_hosts || { nok "two hosts"; exit 1; }

half=1
[ "$LAB_KERNEL" = 6.1 ] || half=0
diag "half $((2 - half)) of the cover; the other half is the other kernel's"
square=0
# row FLAGS PROGRAM...: the squares of that row that are this kernel's
row() {
	local row=$1 test
	for test in "${@:2}"; do
		square=$((square + 1))
		[ $((square % 2)) != $half ] || perftest_run "$test" "$row"
	done
	square=$((square + 1))
}

# One row has -q without -e and -a: only there it means 64 QPs to every program and perftest.
for flags in "" "-a -e" "-a -R -b" "-a -R -q" "-q -b" "-q -e -R -b"; do
	row "$flags" "${perftest_bw[@]}"
done
for flags in "" "-a -e" "-a -R" "-e -R"; do
	row "$flags" "${perftest_lat[@]}"
done
