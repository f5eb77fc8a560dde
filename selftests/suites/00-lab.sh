#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: where=host timeout=600 check=6.1
#
# Tests the lab itself, from outside: that it returns what a script returns,
# and that it notices scripts that fail, hang, or upset the kernel. A test bench
# that cannot fail proves nothing. With one kernel it is tested as well as with two.
set -u
lab=$(cd "$(dirname "$0")/../lab" && pwd)
. "$lab/env.sh"
. "$lab/tap.sh"
kernel=${1:-${KERNELS%% *}}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
result() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - 00-lab: $2"; return; fi
	echo "not ok $n - 00-lab: $2"
	sed 's/^/# | /' "$dir/log"
}
# guest SECONDS: runs standard input as a script in a guest; sets rc
guest() {
	cat >"$dir/script"
	rc=0
	"$lab/run.sh" --kernel "$kernel" --smp 1 --mem 1024 --timeout "$1" \
		--out "$dir/out" "$dir/script" 'two words' >"$dir/log" 2>&1 || rc=$?
}
check() { # NAME COMMAND...
	local name=$1
	shift
	"$@"
	result $? "$name"
}

# --- TAP: what counts as a failure
printf 'ok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP why\n1..3\n' >"$dir/log"
check "results are counted" test "$(tap_count "$dir/log")" = "1 1 1"
printf '1..0 # SKIP nothing here\n' >"$dir/log"
check "a skipped suite is counted" test "$(tap_count "$dir/log")" = "0 0 1"
says() { tap_run x 2 bash -c "$1" >"$dir/log"; tail -1 "$dir/log"; }
check "a suite that dies fails" \
	test "$(says 'echo ok 1; exit 3')" = "not ok - x: exit status 3"
check "a suite that loses tests fails" \
	test "$(says 'echo 1..2; echo ok 1')" = "not ok - x: planned 2 tests, ran 1, status 0"
check "a suite without tests fails" \
	test "$(says true)" = "not ok - x: no test in it"
check "a suite that hangs fails" \
	test "$(says 'echo ok 1; sleep 9')" = "not ok - x: ended after 2 s"
check "a good suite says nothing more" test "$(says 'echo ok 1')" = "ok 1"
# --- KUnit's results in a kernel's log: LAST LINES... is what the suite of two cases ends with
ktap() {
	{
		printf '[    0.1%d] %s\n' 1 'KTAP version 1' 2 '1..1' 3 '    KTAP version 1' \
			4 '    # Subtest: s' 5 '    1..2' 6 '    ok 1 a' 7 '    # b: EXPECTATION FAILED'
		printf '[    0.2] %s\n' "$@"
	} >"$dir/ktap"
	ktap_results "$dir/ktap" >"$dir/log"
	tap_count "$dir/log"
}
check "KUnit: a case that passes" test "$(ktap '    ok 2 b' 'ok 1 s')" = "2 0 0"
check "KUnit: a case that fails" test "$(ktap '    not ok 2 b' 'not ok 1 s')" = "1 1 0"
check "KUnit: and what it says" grep -q '^# | .*EXPECTATION FAILED' "$dir/log"
check "KUnit: a case that is skipped" test "$(ktap '    ok 2 b # SKIP x' 'ok 1 s')" = "1 0 1"
check "KUnit: a case that is missing" test "$(ktap 'ok 1 s')" = "1 1 0"
check "KUnit: a suite that stops" test "$(ktap '    ok 2 b')" = "2 1 0"
check "KUnit: a suite that fails outside of its cases" test "$(ktap '    ok 2 b' 'not ok 1 s')" = "2 1 0"
: >"$dir/empty"
ktap_results "$dir/empty" >"$dir/log"
check "KUnit: no suite" test "$(tap_count "$dir/log")" = "0 1 0"


# --- one boot with everything that does not end it
guest 300 <<-'EOS'
	echo "argument=$1 kernel=$(uname -r)"
	echo text >/usr/lab-was-here && cat /usr/lab-was-here
	echo kept >"$LAB_OUT/kept"
	modprobe -a ib_uverbs rdma_ucm sch_netem && echo modules-load
	. "$LAB_DIR/guest.sh"
	gid_of 10.0.1.2; gid_of fd00::1:2; gid_of fe80:1:2:3:4:5:6:7
	host_add a b && router_add r
	link_add a eth0 r eth0 && link_add r eth1 b eth0 9000
	route a 10.0.2.0/24 10.0.1.2 && route b 10.0.1.0/24 10.0.2.1
	route a fd00:0:0:2::/64 fd00:0:0:1::2 && route b fd00:0:0:1::/64 fd00:0:0:2::1
	check "v4 through a router" on a ping -c1 -W5 "$(addr b eth0)"
	check "v6 through a router" on a ping -c1 -W5 "$(addr b eth0 6)"
	netem r eth1 loss 100%
	check_fails "all is lost" on a ping -c1 -W1 "$(addr b eth0)"
	unqueue r eth1
	ecn_queue r eth1 1gbit && segment_here a eth0
	check "v4 again" on a ping -c1 -W5 "$(addr b eth0)"
	ecn_mark r eth1 100%
	check "a mark is no loss" on a ping -Q 2 -c1 -W5 "$(addr b eth0)"
	check_fails "but for ECN-capable packets only" \
		on a ping -c1 -W1 "$(addr b eth0)"
	splat_check "clean so far"
	echo "WARNING: made by the lab's own test" >/dev/kmsg
	splat_check "dirty now" >"$LAB_OUT/dirty"
	_tap_failed=0
EOS
has() { grep -q -- "$1" "${2:-$dir/log}"; }
release=$(cat "$CACHE/kernels/$kernel/release")
check "arguments arrive" has "^argument=two words kernel=$release\$"
check "the root file system takes writes" has '^text$'
check "and this machine's is untouched" test ! -e /usr/lab-was-here
check "files below LAB_OUT come back" has kept "$dir/out/kept"
check "modules load" has '^modules-load$'
check "GID of a v4 address" has '^0000:0000:0000:0000:0000:ffff:0a00:0102$'
check "GID of a v6 address" has '^fd00:0000:0000:0000:0000:0000:0001:0002$'
check "GID of a full v6 address" has '^fe80:0001:0002:0003:0004:0005:0006:0007$'
for what in "v4 through a router" "v6 through a router" "all is lost" \
	    "v4 again" "a mark is no loss" "but for ECN-capable packets only" \
	    "clean so far"; do
	check "guest: $what" has "^ok .*: $what\$"
done
check "a splat is seen in the guest" has '^not ok .*: dirty now' "$dir/out/dirty"
check "a splat is seen from outside" test $rc = 126
check "and shown" has 'made by the lab'

# --- failure, panic, hang
guest 300 <<<'exit 3'
check "the exit status is returned" test $rc = 3
guest 300 <<<'echo c >/proc/sysrq-trigger; sleep 200'
check "a panic ends the run" test $rc = 125
check "and is shown" has 'Kernel panic'
guest 20 <<<'sleep 250'
check "a guest that hangs is ended" test $rc = 124
echo "1..$n"
