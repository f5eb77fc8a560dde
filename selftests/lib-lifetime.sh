# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced after lib-verbs.sh by the lifetime suites.
#
#   a eth0 (ma) ======== eth0 (mb) b     traffic in both directions
#
# Under that traffic, round after round: link del, ip link del, ip netns del,
# rmmod, kill -9 of the server, kill -9 of the client. Each call must return
# within 5 s, the programs must be killable, and nothing may be left: no device,
# QP, MR or CQ, no socket, no reference on the module, no growing slab.

# traffic ROUND KIND: two programs whose packets are seen to flow; $server, $client.
# A program inside a namespace would keep it alive: where that is to end they run
# outside, and use its devices, which RDMA's shared mode allows.
traffic() {
	local n=$1 kind=$2 port before words s c sh=b ch=a to=10.0.1.2
	_pair_port=$((_pair_port + 1))
	port=$_pair_port
	case $((n % 3)) in
	0) words=(metaroce-verify -p "$port") ;;
	1) words=(ib_write_bw -b -D 600 -q 4 -F -p "$port" -s 65536) ;;
	2) words=(ib_send_bw -b -D 600 -F -p "$port" -s 4096) ;;
	esac
	s=(-x "$(gid_index b mb 10.0.1.2)") c=(-x "$(gid_index a ma 10.0.1.1)")
	[ "${words[0]}" != metaroce-verify ] || { s=(--listen) c=(--seconds 600 --both --qps 4); }
	[ "$kind" != netns ] || sh=- ch=- to=127.0.0.1
	spawn $sh "${words[@]}" -d mb "${s[@]}" >"$scratch/server" 2>&1 </dev/null
	server=$pid
	wait_for 60 _up_or_gone $sh "$port" "$server" || return
	spawn $ch "${words[@]}" -d ma "${c[@]}" $to >"$scratch/client" 2>&1 </dev/null
	client=$pid
	before=$(counter mb rx_pkts)
	wait_for 60 flowing "$((before + 500))" "$server" "$client"
}
# flowing PACKETS PID PID: so many have come, and the programs live
flowing() { kill -0 "$2" && kill -0 "$3" && [ "$(counter mb rx_pkts)" -gt "$1" ]; }

# hosts: as at the start, whatever the last round has left
hosts() {
	[ -d /sys/module/metaroce ] || mroce_load || return
	if [ ! -e /sys/class/infiniband/ma ] || [ ! -e /sys/class/infiniband/mb ]; then
		if [ ! -e /run/netns/a ]; then host_add a || return; fi
		if [ ! -e /run/netns/b ]; then host_add b || return; fi
		if ! ip -n a link show eth0 >/dev/null 2>&1; then
			_links=0
			link_add a eth0 b eth0 || return
		fi
		[ -e /sys/class/infiniband/ma ] || mroce_link a ma eth0 || return
		[ -e /sys/class/infiniband/mb ] || mroce_link b mb eth0 || return
	fi
	gids_ready a ma 10.0.1.1 && gids_ready b mb 10.0.1.2
}
no_netdev() { ! ip -n "$1" link show eth0; }
no_device() { [ ! -e "/sys/class/infiniband/$1" ]; }

# The ends, until nothing is left of what ended. Each is timed, nothing else is.
end_link_del() { rdma link del mb; }
end_netdev() { ip -n b link del eth0 && wait_for 5 no_device mb && wait_for 5 no_device ma; }
end_netns() { host_del b && wait_for 5 no_device mb && wait_for 5 no_netdev a; }
end_rmmod() { modprobe -r metaroce; }
end_server() { kill -9 "$server" && wait_for 5 _gone "$server"; }
end_client() { kill -9 "$client" && wait_for 5 _gone "$client"; }

# warm: the programs of the ends are in memory, so that it is not the lab's file server,
# which gets little processor time under that traffic, whose time is measured
warm() {
	rdma link show
	ip -n b link show
	ip netns list
	modprobe -n -r metaroce
} >/dev/null 2>&1

# leftovers: what is left of the programs, when they are gone too: more than the PD, the CQ and
# the GSI QP that ib_core has on a device
leftovers() {
	rdma resource show 2>/dev/null | grep ': m[ab]: ' |
		grep -vE ': pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0( srq 0)? *$'
	return 0
}
clean() { [ -z "$(leftovers)" ]; }

# one_round KIND N: sets $problem, empty if all was well
one_round() {
	local kind=$1 n=$2 t rc=0 p
	problem=
	warm
	hosts || { problem="the hosts could not be made"; return; }
	traffic "$n" "$kind" || {
		problem="no traffic: $(tail -n 2 "$scratch/server" "$scratch/client" | tr '\n' ' ')"
		kill -9 "$server" "$client" 2>/dev/null
		return
	}
	t=${EPOCHREALTIME/./}
	"end_$kind" >"$scratch/end" 2>&1 || rc=$?
	t=$(((${EPOCHREALTIME/./} - t) / 1000))
	[ $t -le "$slowest" ] || slowest=$t
	[ $rc = 0 ] || problem="status $rc: $(head -3 "$scratch/end" | tr '\n' ' ')"
	[ $t -le 5000 ] || late=$((late + 1))
	[ $t -le "$limit" ] || problem+=" it took $t ms"
	for p in "$server" "$client"; do
		kill -9 "$p" 2>/dev/null
		wait_for 5 _gone "$p" || problem+=" process $p cannot be killed"
		wait "$p" 2>/dev/null
	done
	_spawned=()
	wait_for 5 clean || problem+=" left: $(leftovers | head -3 | tr '\n' ' ')"
}

# kernel_kb: what the kernel holds in slabs that it cannot give back, and in vmalloc
kernel_kb() { awk '/^(SUnreclaim|VmallocUsed):/ { n += $2 } END { print n }' /proc/meminfo; }
settle() { # RCU and delayed frees
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
}

# lifetime ROUNDS MS: an end that takes longer fails
lifetime() {
	local rounds=$1 limit=$2 late kind i failed before after
	need metaroce-verify ib_write_bw
	mroce_load || skip_all "no module was built for $LAB_KERNEL"
	declare -A what=(
		[link_del]="rdma link del" [netdev]="ip link del"
		[netns]="ip netns del" [rmmod]="rmmod"
		[server]="kill -9 of the server" [client]="kill -9 of the client")
	slowest=0 late=0
	one_round link_del 0 # caches fill
	check_eq "a first round" "$problem" ""
	for kind in server client link_del netdev netns rmmod; do
		failed=0 slowest=0 late=0
		settle
		before=$(kernel_kb)
		for i in $(seq "$rounds"); do
			one_round $kind "$i"
			[ -n "$problem" ] || continue
			failed=$((failed + 1))
			diag "${what[$kind]}, round $i: $problem"
			[ $failed -lt 3 ] || break
		done
		check_eq "${what[$kind]} under traffic, $rounds rounds" $failed 0
		diag "the slowest took $slowest ms, $late of them more than 5 s"
		splat_check "${what[$kind]}: no splat"
		settle
		after=$(kernel_kb)
		diag "the kernel holds: $before KiB before, $after KiB after"
		# a connection, ring or MR lost in each round is far more than this
		check "${what[$kind]}: memory comes back" test \
			$((after - before)) -lt $((4096 + rounds * 64))
	done
	hosts
	rdma link del ma
	rdma link del mb
	_quiet() { ! on a ss -Huln | grep -q ':6762\b' && ! on b ss -Huln | grep -q ':6762\b'; }
	check "no socket listens after the last link" wait_for 5 _quiet
	check_eq "the module's reference count" "$(mroce_refcnt)" 0
	check "rmmod" modprobe -r metaroce
	check_fails "and none of its memory caches is left" grep -q '^mroce' /proc/slabinfo
}
