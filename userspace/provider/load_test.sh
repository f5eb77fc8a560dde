#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Does the plug-in load beside the installed libibverbs, with every symbol bound,
# and register with it?   load_test.sh IBV_DEVICES LIBMETAROCE-RDMAVnn.so
set -eu
ibv_devices=$1
plugin=$2

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# libibverbs loads plug-ins only once it has seen an RDMA device, and a test of
# the build can't count on one: so the loader brings it into the program.
LD_PRELOAD="$plugin" LD_BIND_NOW=1 LD_DEBUG=bindings \
	"$ibv_devices" >"$log" 2>&1 || true

if grep -E "metaroce.*cannot be preloaded|symbol lookup error" "$log"; then
	echo "not ok - $plugin does not load"
	exit 1
fi
# The constructor's call went to the installed library, at its private version.
grep -F "$plugin" "$log" |
	grep -q 'verbs_register_driver_[0-9]*.*\[IBVERBS_PRIVATE_' || {
	echo "not ok - $plugin was not loaded or did not register"
	exit 1
}
echo "ok - $plugin loaded and registered"
