#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# guest-suites.sh SUITE...: runs suites one after the other in this guest. Each
# has its own process and mount namespace, so that nothing it started or
# mounted outlives it; then the kernel's log must be clean, and the driver must
# come out.
. "$LAB_DIR/tap.sh"
dirty=0

for suite; do
	name=$(basename "$suite" .sh)
	echo "# suite $name on $LAB_KERNEL"
	start=$SECONDS
	mark=$(($(dmesg | wc -l) + 1))
	tap_run "$name" "$(suite_opt "$suite" timeout 300)" \
		unshare -m -p -f --kill-child --mount-proc bash "$suite"

	if [ -d /sys/module/metaroce ]; then
		# namespaces die in the background
		for _ in $(seq 100); do
			modprobe -q -r metaroce && break
			sleep 0.1
		done
		if [ -d /sys/module/metaroce ]; then
			echo "not ok - $name: the module comes out afterwards"
			rdma link 2>&1 | sed 's/^/# /'
			rdma resource 2>&1 | sed 's/^/# /'
		else
			echo "ok - $name: the module comes out afterwards"
		fi
	fi
	if dmesg | tail -n "+$mark" | grep -aE -A12 -f "$LAB_DIR/splats" >/tmp/splats; then
		echo "not ok - $name: the kernel's log is clean"
		head -40 /tmp/splats | sed 's/^/# /'
		dirty=1
	else
		echo "ok - $name: the kernel's log is clean"
	fi
	echo "# $name: $((SECONDS - start)) s"
done
exit $dirty
