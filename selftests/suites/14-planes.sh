#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=400 check=6.1
#
# Planes (MR-12.*): a device of several netdevs uses them all, and one that dies, comes back or is
# taken away is noticed by no program; what is refused says why.
#
#   a eth0 (ma) ======== eth0 (mb) b        10.0.1.0/24
#     eth1 ------------- eth1               10.0.2.0/24
#     eth2 ------------- eth2               10.0.3.0/24
#     talk ------------- talk               10.0.4.0/24: metaroce-verify's TCP, which no plane may stop
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
need metaroce metaroce-verify
mroce_load || skip_all "no module was built for $LAB_KERNEL"
two_hosts || skip_all "no two hosts"
link_add a eth1 b eth1 && link_add a eth2 b eth2 && link_add a talk b talk || skip_all "no more links"

planes() { # HOST: how many
	on "$1" metaroce -j plane show dev "m$1" | jq length
}
up() { on a metaroce -j path show dev ma | jq "[.[] | select(.plane == $1 and .state == \"ACTIVE\")] | length >= 1" | grep -q true; }
not_up() { ! up "$1"; }
sent() { on a metaroce -j path show dev ma | jq "[.[] | select(.plane == $1) | .tx_packets] | add // 0"; }
# used PLANE: packets leave by it
used() {
	local before
	before=$(sent "$1")
	nap 0.5
	[ "$(sent "$1")" -gt "$before" ]
}

check_eq "a link is one plane" "$(planes a)" 1
check "a second one" on a metaroce plane add ma netdev eth1
check "and on the other host" on b metaroce plane add mb netdev eth1
check_eq "then there are two" "$(planes a)" 2

# says TEXT COMMAND...: fails, with these words
says() {
	local text=$1
	shift
	! "$@" >"$scratch/says" 2>&1 && grep -qF "$text" "$scratch/says"
}
check "refused: the same netdev again" says "a link or a plane already" on a metaroce plane add ma netdev eth1
check "refused: that of the link" says "a link or a plane already" on a metaroce plane add ma netdev eth0
check "refused: no such netdev" says "no such netdev" on a metaroce plane add ma netdev eth9
check "refused: loopback" says "no plane" on a metaroce plane add ma netdev lo
check "refused: no such device" says "no such metaroce device" on a metaroce plane add mx netdev eth2
check "refused: a device of another namespace" says "no such metaroce device" on a metaroce plane add mb netdev eth2
ip -n a link set eth2 mtu 1400
check "refused: a smaller MTU" says "MTU is smaller" on a metaroce plane add ma netdev eth2
ip -n a link set eth2 mtu 1500
check "refused: taking the first away" says "rdma link del" on a metaroce plane del ma netdev eth0
check "refused: taking away what is none" says "no plane of this device" on a metaroce plane del ma netdev eth2

check_verify "contents over two planes" b a 10.0.1.2 --bytes 16M --both

# traffic that goes on
_pair_port=$((_pair_port + 1))
spawn b metaroce-verify -d mb --listen -p $_pair_port >"$scratch/server" 2>&1 </dev/null
server=$pid
wait_for 20 listens b $_pair_port "$server"
spawn a metaroce-verify -d ma -p $_pair_port --bytes 100G --events "$(addr b talk)" >"$scratch/client" 2>&1 </dev/null
client=$pid
goes_on() { kill -0 $client && kill -0 $server; }
check "paths of both planes are active" wait_for 20 up 1
check "packets leave by the second" wait_for 10 used 1

ip -n a link set eth1 down
check "its netdev goes down: its paths are not used" wait_for 10 not_up 1
check "packets leave by the first" wait_for 10 used 0
check "the port is active" sh -c 'rdma link show ma/1 | grep -q "state ACTIVE"'
ip -n a link set eth1 up
check "it comes back" wait_for 20 up 1

netem a eth1 loss 100% && netem b eth1 loss 100%
check "it falls silent: its paths are not used" wait_for 20 not_up 1
check "packets still leave by the first" wait_for 10 used 0
unqueue a eth1; unqueue b eth1
check "it is heard again" wait_for 20 up 1

netem a eth0 loss 100% && netem b eth0 loss 100%
check "the first falls silent" wait_for 20 not_up 0
check "packets leave by the second alone" wait_for 10 used 1
unqueue a eth0; unqueue b eth0
check "the first is heard again" wait_for 20 up 0

ip -n b link set eth0 down
check "the peer's first goes down" wait_for 20 not_up 0
check "the port of the peer is active" sh -c 'rdma link show mb/1 | grep -q "state ACTIVE"'
ip -n b link set eth0 up
check "and comes back" wait_for 20 up 0

check "a third plane, under traffic" on a metaroce plane add ma netdev eth2
check "the peer's third" on b metaroce plane add mb netdev eth2
check "is used" wait_for 20 up 2
check "a plane is taken away" on a metaroce plane del ma netdev eth1
check "and not used any more" wait_for 10 not_up 1
check "a plane's netdev is deleted" ip -n b link del eth2
check "its paths are not used" wait_for 20 not_up 2
check_eq "the peer has two planes left" "$(planes b)" 2
check "no program has noticed" goes_on
goes_on || { show_ends client "$scratch/client"; show_ends server "$scratch/server"; }
kill $client $server 2>/dev/null
wait $client $server 2>/dev/null
for c in plane_up plane_down; do diag "ma $c $(counter ma $c)"; done
check "contents afterwards" run_pair b a \
	metaroce-verify -d mb --listen -p @PORT -- \
	metaroce-verify -d ma -p @PORT --bytes 4M "$(addr b talk)"

# one side has one plane, the other two
check "the peer's second is taken away" on b metaroce plane del mb netdev eth1
on a metaroce plane add ma netdev eth1 2>/dev/null
check_verify "contents, two planes to one" b a 10.0.1.2 --bytes 8M --both

check "rdma link del with planes" rdma link del ma
check "rdma link del of the peer" rdma link del mb
