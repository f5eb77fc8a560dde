#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kunit.sh: builds the driver with its KUnit suites (drivers/.../kunit), loads it in the
# laboratory's User-Mode Linux kernel, and prints what the kernel's log says as TAP. Fails if
# a case fails, if a suite did not run, if the log has a splat, or the module does not come out.
# The log: $BUILD/kunit/kernel.log
set -uo pipefail
. "$(dirname "$0")/lab/env.sh"
. "$ROOT/selftests/lab/tap.sh"
out=$BUILD/kunit
suites=$ROOT/drivers/infiniband/sw/metaroce/kunit
rm -rf "$out"
mkdir -p "$out"

rc=0 missing=
"$ROOT/selftests/lab/vt/run.sh" --kunit --mem 512 --timeout 300 --out "$out" \
	"$ROOT/selftests/kunit-guest.sh" >"$out/run.log" 2>&1 || rc=$?
if [ -e "$out/kernel.log" ]; then ktap_results "$out/kernel.log"; fi >"$out/tap"
# one that fell out of the module would not be missed otherwise
sed -n 's/^\t\.name = "\(metaroce_.*\)",$/\1/p' "$suites"/*.c >"$out/suites"
while read -r name; do
	grep -qE "^(not )?ok - $name: " "$out/tap" || missing+="not ok - $name: ran"$'\n'
done <"$out/suites"
printf '%s' "$missing" >>"$out/tap"
if [ $rc = 0 ]; then
	echo "ok - kunit: the module comes out, the kernel's log is clean"
else
	tail -60 "$out/run.log" | sed 's/^/# | /'
	echo "not ok - kunit: the module comes out, the kernel's log is clean (status $rc)"
fi >>"$out/tap"
cat "$out/tap"
read -r passed failed skipped <<<"$(tap_count "$out/tap")"
echo "1..$((passed + failed + skipped))"
[ "$failed" = 0 ] && [ "$passed" -gt 1 ]
