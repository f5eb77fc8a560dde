# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced by suites that run in a guest of the lab: TAP output, hosts made of
# network namespaces and links between them, the driver, waiting, leaks.
# README.md beside this file is the cheat sheet. What a suite makes with these
# helpers is removed when it ends.

[ -n "${LAB_KERNEL:-}" ] || {
	echo "not in a guest: use selftests/lab/run.sh" >&2
	exit 2
}
LAB_DIR=${LAB_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
PATH=$LAB_BUILD/user/bin:$PATH
suite=$(basename "$0" .sh)
scratch=$(mktemp -d)

# ---------------------------------------------------------------- TAP
_tap_n=0 _tap_failed=0 _hosts=() _spawned=() _links=0 _splat_mark=0

plan() { _tap_plan=$1; echo "1..$1"; }
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }
ok()   { _tap_n=$((_tap_n + 1)); echo "ok $_tap_n - $suite: $*"; }
nok()  { _tap_n=$((_tap_n + 1)); _tap_failed=$((_tap_failed + 1))
	 echo "not ok $_tap_n - $suite: $*"; return 0; }
# skip NAME REASON
skip() { _tap_n=$((_tap_n + 1)); echo "ok $_tap_n - $suite: $1 # SKIP $2"; }
# skip_all REASON: the whole suite cannot run here
skip_all() { _tap_plan=0; echo "1..0 # SKIP $suite: $*"; exit 0; }

# check NAME COMMAND...: the command succeeds; its output is shown if not
check() {
	local name=$1 rc=0
	shift
	"$@" >"$scratch/check" 2>&1 </dev/null || rc=$?
	if [ $rc = 0 ]; then
		ok "$name"
		return 0
	fi
	nok "$name"
	diag "status $rc: $*"
	tail -40 "$scratch/check" | sed 's/^/# | /'
	return 0
}

# check_fails NAME COMMAND...: the command fails, and not by a signal
check_fails() {
	local name=$1 rc=0
	shift
	"$@" >"$scratch/check" 2>&1 </dev/null || rc=$?
	if [ $rc != 0 ] && [ $rc -lt 124 ]; then
		ok "$name"
		return 0
	fi
	nok "$name"
	diag "status $rc, expected a failure: $*"
	tail -40 "$scratch/check" | sed 's/^/# | /'
	return 0
}

# check_eq NAME GOT WANTED
check_eq() {
	if [ "$2" = "$3" ]; then ok "$1"; else
		nok "$1"
		diag "got '$2', wanted '$3'"
	fi
}

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -le $end ] || { diag "waited in vain for: $*"; return 1; }
		nap 0.05
	done
}

# nap SECONDS: sleep without a process, which costs an emulated processor a while
nap() { read -r -t "$1" -u "$_nap"; return 0; }
exec {_nap}<> <(:)

_suite_end() {
	local rc=$? h p
	trap - EXIT
	for p in "${_spawned[@]}"; do kill "$p" 2>/dev/null; done
	for p in "${_spawned[@]}"; do wait "$p" 2>/dev/null; done
	if declare -F teardown >/dev/null; then teardown; fi
	for h in "${_hosts[@]}"; do ip netns del "$h" 2>/dev/null; done
	rm -rf "$scratch"
	[ -n "${_tap_plan:-}" ] || echo "1..$_tap_n"
	if [ $rc = 0 ] && [ $_tap_failed != 0 ]; then rc=1; fi
	exit $rc
}
trap _suite_end EXIT
trap 'exit 143' TERM INT

# need COMMAND...: skips the suite if a command is not installed
need() {
	local c
	for c; do command -v "$c" >/dev/null || skip_all "no $c here"; done
}

# ---------------------------------------------------------------- hosts
# sysctl_set HOST KEY VALUE, without needing sysctl(8)
sysctl_set() { on "$1" sh -c "echo $3 >/proc/sys/${2//.//}"; }

# Everywhere below, the host `-` is the guest itself.
_ip() { # HOST ARGUMENT...
	local h=$1
	shift
	if [ "$h" = - ]; then ip "$@"; else ip -n "$h" "$@"; fi
}
_ns() { if [ "$1" = - ]; then echo 1; else echo "$1"; fi; }

# on HOST COMMAND...
on() {
	local h=$1
	shift
	if [ "$h" = - ]; then "$@"; else ip netns exec "$h" "$@"; fi
}

# spawn HOST COMMAND...: in the background, ended with the suite; sets $pid
spawn() {
	local h=$1
	shift
	# not through on(): $pid is to be the command, not a shell around it
	if [ "$h" = - ]; then "$@" & else ip netns exec "$h" "$@" & fi
	pid=$!
	_spawned+=("$pid")
}

# reap PID SECONDS: waits for a spawned command, returns its status
reap() {
	wait_for "$2" _gone "$1" || { kill "$1"; return 124; }
	wait "$1"
}
_gone() { ! kill -0 "$1"; }

# host_add NAME...
host_add() {
	local h
	for h; do
		ip netns add "$h" || return
		_hosts+=("$h")
		on "$h" sh -c 'ip link set lo up
			cd /proc/sys/net/ipv6/conf
			echo 0 >all/accept_dad
			echo 0 >default/accept_dad'
	done
}

# host_del NAME...
host_del() {
	local h i
	for h; do
		ip netns del "$h"
		for i in "${!_hosts[@]}"; do
			[ "${_hosts[i]}" != "$h" ] || unset "_hosts[i]"
		done
	done
}

# router_add NAME...: forwards, and spreads flows over equal routes by ports
router_add() {
	local h
	host_add "$@" || return
	for h; do
		sysctl_set "$h" net.ipv4.ip_forward 1
		sysctl_set "$h" net.ipv6.conf.all.forwarding 1
		sysctl_set "$h" net.ipv4.fib_multipath_hash_policy 1
		sysctl_set "$h" net.ipv6.fib_multipath_hash_policy 1
	done
}

# link_add HOST1 IF1 HOST2 IF2 [MTU]: a veth pair. The n-th link of a suite is
# 10.0.n.0/24 and fd00:0:0:n::/64; HOST1 gets .1 and ::1, HOST2 .2 and ::2.
link_add() {
	local h1=$1 i1=$2 h2=$3 i2=$4 mtu=${5:-1500}
	_links=$((_links + 1))
	ip link add name "$i1" mtu "$mtu" netns "$(_ns "$h1")" type veth \
		peer name "$i2" mtu "$mtu" netns "$(_ns "$h2")" || return
	_link_end "$h1" "$i1" 1
	_link_end "$h2" "$i2" 2
	wait_for 5 _carrier "$h1" "$i1" && wait_for 5 _carrier "$h2" "$i2"
}
_link_end() {
	_ip "$1" -batch - <<-END
		addr add 10.0.$_links.$3/24 dev $2
		addr add fd00:0:0:$_links::$3/64 dev $2 nodad
		link set $2 up
	END
}
_carrier() { _ip "$1" -o link show "$2" | grep -q LOWER_UP; }

# addr HOST IF [4|6]: prints the interface's first global address
addr() {
	_ip "$1" "-${3:-4}" -o addr show dev "$2" scope global |
		awk '{ sub(/\/.*/, "", $4); print $4; exit }'
}

# route HOST PREFIX GATEWAY...: with several gateways, equal-cost multipath
route() {
	local h=$1 prefix=$2 fam=-4 hops=() gw
	shift 2
	case $prefix in *:*) fam=-6 ;; esac
	if [ $# = 1 ]; then hops=(via "$1"); else
		for gw; do hops+=(nexthop via "$gw"); done
	fi
	_ip "$h" $fam route replace "$prefix" "${hops[@]}"
}

# netem HOST IF ARGUMENT...: what tc-netem(8) takes, on that interface's egress
netem() {
	local h=$1 dev=$2
	shift 2
	modprobe -q sch_netem
	on "$h" tc qdisc replace dev "$dev" root netem limit 100000 "$@"
}

# ecn_mark HOST IF PERCENT: marks packets (CE) at random instead of dropping
ecn_mark() { netem "$1" "$2" loss "$3" ecn; }

# ecn_queue HOST IF RATE [SOJOURN]: a bottleneck that marks every packet which
# queued for longer than SOJOURN (1ms)
ecn_queue() {
	modprobe -q -a sch_htb sch_fq_codel
	on "$1" tc qdisc replace dev "$2" root handle 1: htb default 1 &&
	on "$1" tc class replace dev "$2" parent 1: classid 1:1 htb rate "$3" &&
	on "$1" tc qdisc replace dev "$2" parent 1:1 handle 10: \
		fq_codel limit 100000 flows 1 ecn ce_threshold "${4:-1ms}"
}

# unqueue HOST IF: takes netem and the others away
unqueue() { on "$1" tc qdisc del dev "$2" root 2>/dev/null; return 0; }

# segment_here HOST IF: what leaves this interface is cut into packets, so that
# a later hop drops or marks packets, and not bursts of 44
segment_here() {
	on "$1" ethtool -K "$2" tso off tx-udp-segmentation off gso off >/dev/null
}

# ---------------------------------------------------------------- the driver
# mknodes: device nodes below /dev/infiniband, where /dev does not make them itself
# (the lab's does). No command runs in the loop: each costs an emulated processor
# tens of milliseconds.
mknodes() {
	local d n major minor fs="" dir type
	while read -r _ dir type _; do
		[ "$dir" != /dev ] || fs=$type
	done </proc/mounts
	[ "$fs" != devtmpfs ] || return 0
	mkdir -p /dev/infiniband
	for d in /sys/class/infiniband_verbs/uverbs* /sys/class/infiniband_mad/* \
		 /sys/class/misc/rdma_cm; do
		[ -f "$d/dev" ] || continue
		n=${d##*/}
		IFS=: read -r major minor <"$d/dev"
		rm -f "/dev/infiniband/$n" # numbers get reused
		mknod -m 666 "/dev/infiniband/$n" c "$major" "$minor"
	done
}

# mroce_built: whether there is a module for this kernel
mroce_built() { modinfo metaroce >/dev/null 2>&1; }

# mroce_provider: installs the rdma-core provider that was built
mroce_provider() {
	local so
	so=$(find "$LAB_BUILD/user/lib" -name 'libmetaroce-rdmav*.so' 2>/dev/null | head -1)
	[ -n "$so" ] || return 1
	install -D -m 644 "$so" -t "/usr/lib/$(gcc -print-multiarch)/libibverbs/" &&
	mkdir -p /etc/libibverbs.d &&
	echo 'driver metaroce' >/etc/libibverbs.d/metaroce.driver
}

# mroce_load [module parameter...]: the verbs stack, our module, our provider.
# A suite that needs them skips itself where they are not built:
#	mroce_load || skip_all "no module was built"
mroce_load() {
	mroce_built || return 1
	modprobe -a ib_uverbs ib_umad rdma_ucm && modprobe metaroce "$@" || return
	mroce_provider || diag "no provider was built: kernel side only"
	mknodes
}

# mroce_unload: fails, and says who, if somebody still holds the module
mroce_unload() {
	[ -d /sys/module/metaroce ] || return 0
	modprobe -r metaroce && return
	diag "metaroce is held: refcnt $(cat /sys/module/metaroce/refcnt)," \
	     "$(ls /sys/module/metaroce/holders)"
	rdma resource 2>&1 | sed 's/^/# /'
	return 1
}

# mroce_link HOST DEVICE NETDEV: rdma link add, and its device nodes
mroce_link() {
	on "$1" rdma link add "$2" type metaroce netdev "$3" && mknodes
}

# mroce_refcnt: the module's reference count
mroce_refcnt() { cat /sys/module/metaroce/refcnt; }

# resources DEVICE: its objects without their ids, to compare before and after
resources() { rdma resource show "$1" | sed 's/^[0-9]*: //'; }

# gid_index HOST DEVICE ADDRESS: the index of the RoCE v2 GID of an address
gid_index() {
	local gid
	gid=$(gid_of "$3")
	# RDMA's shared mode shows a device everywhere: no process is needed
	if [ -d "/sys/class/infiniband/$2" ]; then
		_gid_index "$2" "$gid"
	else
		on "$1" bash -c "$(declare -f _gid_index); _gid_index $2 $gid"
	fi
}
_gid_index() { # DEVICE GID
	local dir=/sys/class/infiniband/$1/ports/1 i gid type
	for i in "$dir"/gid_attrs/types/*; do
		i=${i##*/}
		read -r gid <"$dir/gids/$i" && [ "$gid" = "$2" ] || continue
		read -r type <"$dir/gid_attrs/types/$i" && [ "$type" = "RoCE v2" ] || continue
		echo "$i"
		return
	done 2>/dev/null
	return 1
}

# gid_of ADDRESS: the GID of an IPv4 or IPv6 address as sysfs prints it
gid_of() {
	local a=$1 head tail groups=() g out=
	if [[ $a != *:* ]]; then
		IFS=. read -ra g <<<"$a"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "${g[@]}"
		return
	fi
	head=${a%%::*} tail=
	[[ $a != *::* ]] || tail=${a#*::}
	IFS=: read -ra head <<<"$head"
	IFS=: read -ra tail <<<"$tail"
	groups=("${head[@]}")
	while [ $((${#groups[@]} + ${#tail[@]})) -lt 8 ]; do groups+=(0); done
	for g in "${groups[@]}" "${tail[@]}"; do
		printf -v g %04x "0x$g"
		out+=:$g
	done
	echo "${out#:}"
}

# ---------------------------------------------------------------- kernel log
# splat_mark: from here on splat_check looks
splat_mark() { _splat_mark=$(dmesg | wc -l); }

# splats: prints what the kernel complained about since splat_mark, if anything
splats() {
	dmesg | tail -n "+$((_splat_mark + 1))" | grep -aE -A8 -f "$LAB_DIR/splats"
}

# splat_check [NAME]
splat_check() {
	if splats >"$scratch/splats"; then
		nok "${1:-no splat in the kernel log}"
		head -40 "$scratch/splats" | sed 's/^/# | /'
	else
		ok "${1:-no splat in the kernel log}"
	fi
}

splat_mark
