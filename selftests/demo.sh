#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# demo.sh: builds the driver, boots Debian's stock 6.1 kernel in a virtual
# machine on this one, and shows two hosts (network namespaces) at RDMA over it,
# next to rdma_rxe and TCP. Nothing is installed but Debian packages, nothing is
# loaded into the kernel that runs here. What the guest does: demo-guest.sh.
set -euo pipefail
. "$(dirname "$0")/lab/env.sh"
cd "$ROOT"
kernel=6.1
logs=$BUILD/demo
mkdir -p "$logs"

say() { printf '%3d s | %s\n' "$SECONDS" "$*"; }
# step NAME LOG COMMAND...: a dot every few seconds, the log if it fails
step() {
	local name=$1 log=$logs/$2 rc=0 pid
	shift 2
	say "$name"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	(while sleep 5; do printf '.' >&2; done) &
	local dots=$!
	wait $pid || rc=$?
	kill $dots
	wait $dots 2>/dev/null || :
	[ $rc = 0 ] && return
	echo
	say "failed: $name"
	tail -30 "$log" | sed 's/^/    | /'
	echo "      the whole log: $log"
	exit 1
}

# the network is busy with the kernel while the processors compile
fetch() { selftests/lab/kernels.sh $kernel; }

say "metaroce: two hosts, one command (logs: $logs)"
scripts/prereq.sh demo
say "fetching Debian's kernel $kernel into $CACHE, in the background"
fetch >"$logs/fetch.log" 2>&1 </dev/null &
fetching=$!
step "building the rdma-core provider and metaroce-verify" user.log \
	scripts/user.sh build metaroce metaroce-verify
wait_fetch() { while kill -0 $fetching 2>/dev/null; do sleep 0.2; done; }
step "waiting for the kernel to arrive" wait.log wait_fetch
wait $fetching || { tail -20 "$logs/fetch.log"; say "failed: fetching"; exit 1; }
step "building metaroce.ko for $(cat "$CACHE/kernels/$kernel/release")" module.log \
	selftests/lab/build-module.sh $kernel
say "booting it in QEMU"
rc=0
selftests/lab/run.sh --kernel $kernel --timeout 600 --out "$logs" \
	selftests/demo-guest.sh || rc=$?
echo
if [ $rc = 0 ]; then
	say "done: every line of metaroce worked, its contents were verified"
else
	say "FAILED (status $rc); kernel log: $logs/kernel.log"
fi
exit $rc
