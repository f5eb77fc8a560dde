#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=7200 mem=8192 long=yes
#
# Every combination of the flags of perftest's programs; 20-perftest.sh runs a
# pairwise cover of them. -a with 64 QPs moves 1 GiB a turn and direction: it has as few
# turns as perftest takes (5), and where a third flag joins these two, 4 QPs.
#
#   a eth0 (ma) ======== eth0 (mb) b
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
. "$LAB_DIR/../lib-perftest.sh"
need ib_write_bw ib_read_lat
mroce_load || skip_all "no module was built for $LAB_KERNEL"
pair_limit=900
perftest_all_q=64
perftest_all_n=5
perftest_all_q_more=4
two_hosts 9000 || { nok "two hosts"; exit 1; }

# product FLAG...: every subset, a line each
product() {
	local sub
	if [ $# = 0 ]; then echo; return; fi
	product "${@:2}" | while IFS= read -r sub; do
		echo "$sub"
		echo "$1 $sub"
	done
}
for test in "${perftest_bw[@]}"; do
	while IFS= read -r row; do perftest_run "$test" "$row"; done \
		< <(product -a -e -R -q -b)
done
for test in "${perftest_lat[@]}"; do
	while IFS= read -r row; do perftest_run "$test" "$row"; done \
		< <(product -a -e -R)
done
