#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# run.sh [options] SCRIPT [argument...]: runs SCRIPT as root in User-Mode Linux with the
# driver, in virtual time: the clock stands still while code runs, and jumps when
# everything sleeps. Prints its output as it comes, returns its exit status. The guest
# sees this machine's file system read-only; it may write to $LAB_OUT and $TMPDIR.
#
#   --mem MB            memory (2048)
#   --timeout S         seconds of real time until the guest is ended, status 124 (600)
#   --out DIR           keep the guest's $LAB_OUT, and kernel.log, in DIR
#   --real-time         the clock runs as it does outside
#   --kunit             the driver has its KUnit suites in it, which run when it is loaded
#
# A program in the guest that waits without sleeping (perftest's polling) stops virtual
# time for ever. Any splat in the kernel's log makes the status non-zero.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
here=$ROOT/selftests/lab/vt

say() { printf '# vt: %s\n' "$*" >&2; }
usage() { sed -n '4,18s/^# \?//p' "$0" >&2; exit 2; }

mem=2048 limit=600 keep='' travel=time-travel=inf-cpu kunit=''
while [ $# -gt 0 ]; do
	case $1 in
	--mem) mem=$2; shift 2 ;;
	--timeout) limit=$2; shift 2 ;;
	--out) keep=$2; shift 2 ;;
	--real-time) travel=; shift ;;
	--kunit) kunit=--kunit; shift ;;
	--) shift; break ;;
	-*) usage ;;
	*) break ;;
	esac
done
[ $# -ge 1 ] || usage
script=$(readlink -e "$1") || { say "no such script: $1"; exit 2; }
shift

kernel=$(readlink -f "$("$here/kernel.sh")")
ARCH=um "$ROOT/selftests/lab/build-module.sh" $kunit "$kernel" >&2
module=$BUILD/module/$(basename "$kernel")${kunit:+-kunit}/drivers/infiniband/sw/metaroce/metaroce.ko

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/out"
{
	printf 'LAB_ROOT=%q\nLAB_BUILD=%q\nLAB_KERNEL=%q\n' "$ROOT" "$BUILD" um
	printf 'LAB_MODULE=%q\nLAB_DIR=%q\n' "$module" "$ROOT/selftests/lab"
} >"$work/out/env"
{
	printf 'exec bash'
	printf ' %q' "$script" "$@"
	echo
} >"$work/out/job"

# the guest's memory is a file: in memory, where there is room
mapped=${TMPDIR:-/tmp}
free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -1) || free=0
[ "${free:-0}" -lt $((mem * 1024)) ] || mapped=/dev/shm
rc=0
TMPDIR=$mapped timeout --foreground -k 5 "$limit" "$kernel/linux" mem="${mem}M" umid="vt$$" \
	root=/dev/root rootfstype=hostfs rootflags=/ ro con=null con0=null,fd:1 ssl=null \
	quiet loglevel=1 log_buf_len=4M panic=-1 init="$here/init.sh" vt.out="$work/out" $travel \
	</dev/null 2>"$work/err" | tr -d '\r' || rc=${PIPESTATUS[0]}

[ ! -e "$work/out/dmesg" ] || mv "$work/out/dmesg" "$work/kernel.log"
[ -e "$work/kernel.log" ] || cp "$work/err" "$work/kernel.log"
if [ -n "$keep" ]; then
	mkdir -p "$keep"
	cp -r "$work/out/." "$work/kernel.log" "$keep/"
fi
if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
	say "ended after $limit seconds of real time"
	rc=124
elif [ -s "$work/out/rc" ]; then
	rc=$(cat "$work/out/rc")
else
	say "the guest stopped before its script ended (status $rc):"
	tail -20 "$work/err" | sed 's/^/# /' >&2
	rc=125
fi
if grep -aEn -A12 -f "$ROOT/selftests/lab/splats" "$work/kernel.log" >"$work/splats"; then
	say "splat in the kernel's log:"
	head -60 "$work/splats" | sed 's/^/# /' >&2
	[ "$rc" != 0 ] || rc=126
fi
exit "$rc"
