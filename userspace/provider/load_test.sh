#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Does libibverbs load the plug-in, with every symbol bound, and take its
# registration?   load_test.sh IBV_DEVICES LIBMETAROCE-RDMAVnn.so
set -eu
ibv_devices=$1
plugin=$2

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# IBV_DRIVERS takes the path without "-rdmavNN.so". Without RDMA in this kernel
# ibv_devices fails after it has loaded all drivers, which is enough here.
IBV_DRIVERS="${plugin%-rdmav*}" LD_BIND_NOW=1 LD_DEBUG=bindings \
	"$ibv_devices" >"$log" 2>&1 || true

if grep -E "couldn't load driver .*metaroce|symbol lookup error" "$log"; then
	echo "not ok - libibverbs refuses $plugin"
	exit 1
fi
# The constructor's call went to the installed library, at its private version.
grep -F "$plugin" "$log" |
	grep -q 'verbs_register_driver_[0-9]*.*\[IBVERBS_PRIVATE_' || {
	echo "not ok - $plugin was not loaded or did not register"
	exit 1
}
echo "ok - $plugin loaded and registered"
