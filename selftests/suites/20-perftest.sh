#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=1500 mem=3072 check=6.1
#
# perftest's programs in a pairwise cover of their flags: whichever two flags a
# program has, some run has both, some run neither, and some run either alone.
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

# One row has -q without -e and -a: only there it means 64 QPs to every program and perftest.
for row in "" "-a -e" "-a -R -b" "-a -R -q" "-q -b" "-q -e -R -b"; do
	for test in "${perftest_bw[@]}"; do perftest_run "$test" "$row"; done
done
for row in "" "-a -e" "-a -R" "-e -R"; do
	for test in "${perftest_lat[@]}"; do perftest_run "$test" "$row"; done
done
