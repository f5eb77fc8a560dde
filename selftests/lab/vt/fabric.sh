# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced after guest.sh by scripts of the virtual-time laboratory: the driver, a fabric,
# and a measurement on it.
#
#   a eth0 ==== eth0 r eth1 ---- eth0 s eth1 ==== eth0 b
#
# Packets, not bursts: a and b cut what they send before it leaves. r (towards b) and s
# (towards a) have the line's rate and half of the round trip; the loss is one hop
# later (s towards b, r towards a), so that what is lost has used the line.

vt_load() {
	# veth hands packets over in this queue, which a host that is infinitely fast fills at once;
	# what is lost is to be lost where the fabric says
	echo 1000000 >/proc/sys/net/core/netdev_max_backlog
	insmod "$LAB_MODULE" "$@" && mknodes
}

# vt_fabric RATE RTT_US MTU: RATE as tc(8) takes it
vt_fabric() {
	local rate=$1 rtt=$2 mtu=$3
	host_add a b && router_add r s &&
	link_add a eth0 r eth0 "$mtu" && link_add r eth1 s eth0 "$mtu" && link_add s eth1 b eth0 "$mtu" &&
	route a 10.0.3.0/24 10.0.1.2 && route b 10.0.1.0/24 10.0.3.1 &&
	route r 10.0.3.0/24 10.0.2.2 && route s 10.0.1.0/24 10.0.2.1 &&
	segment_here a eth0 && segment_here b eth0 || return
	# resolved once: a lost ARP reply costs a second
	vt_neighbours a eth0 r eth0 && vt_neighbours r eth1 s eth0 && vt_neighbours s eth1 b eth0 &&
	netem r eth1 rate "$rate" delay "$((rtt / 2)).$((rtt % 2 * 5))us" limit 4000000 &&
	netem s eth0 rate "$rate" delay "$((rtt / 2)).$((rtt % 2 * 5))us" limit 4000000
}

vt_mac() { _ip "$1" -o link show "$2" | sed 's/.*ether \([0-9a-f:]*\).*/\1/'; }
vt_neighbours() { # HOST1 IF1 HOST2 IF2
	_ip "$1" neigh replace "$(addr "$3" "$4")" lladdr "$(vt_mac "$3" "$4")" dev "$2" nud permanent &&
	_ip "$3" neigh replace "$(addr "$1" "$2")" lladdr "$(vt_mac "$1" "$2")" dev "$4" nud permanent
}

# vt_loss ARGUMENT...: what tc-netem(8) takes for loss, reordering, duplication; both directions
vt_loss() {
	netem s eth1 "$@" && netem r eth0 "$@"
}

# vt_links: the devices ma and mb
vt_links() {
	mroce_link a ma eth0 && mroce_link b mb eth0 &&
	wait_for 10 gid_index a ma "$(addr a eth0)" && wait_for 10 gid_index b mb "$(addr b eth0)"
}

# vt_bench DEVICE_A DEVICE_B ARGUMENT...: metaroce-bench from a to b; prints its JSON
_vt_port=17800
vt_bench() {
	local da=$1 db=$2 server rc=0
	shift 2
	_vt_port=$((_vt_port + 1))
	spawn b metaroce-bench -d "$db" --listen -p $_vt_port --gid-index "$(gid_index b "$db" "$(addr b eth0)")"
	server=$pid
	on a metaroce-bench -d "$da" -p $_vt_port --gid-index "$(gid_index a "$da" "$(addr a eth0)")" \
		-j "$@" "$(addr b eth0)" || rc=$?
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	return $rc
}
