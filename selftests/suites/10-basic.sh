#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=600
#
# What a user does first: links, devices, the little programs of rdma-core and
# librdmacm, over IPv4, IPv6 and link-local addresses, three MTUs, loopback, two
# devices on a host. RDMA namespaces are in shared mode, the kernel's default.
#
#   a eth0 (ma) ======== eth0 (mb) b        10.0.1.0/24, fd00:0:0:1::/64
#   a eth1 (ma2) ======= eth1 (mb2) b       10.0.2.0/24
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
need ibv_rc_pingpong ibv_devinfo rping ib_write_bw
mroce_load || skip_all "no module was built for $LAB_KERNEL"

# --- links
modprobe -r metaroce
host_add a b
link_add a eth0 b eth0
check "rdma link add loads the module" mroce_link a ma eth0
check "a link on the other host" mroce_link b mb eth0
check "rdma link shows it" sh -c 'ip netns exec a rdma link show ma/1 |
	grep "state ACTIVE" | grep -q "netdev eth0"'
check "a GID of the IPv4 address" gids_ready a ma 10.0.1.1
check "a GID of the IPv6 address" gids_ready a ma fd00:0:0:1::1
gids_ready b mb 10.0.1.2
gids_ready b mb fd00:0:0:1::2
devinfo() { on a ibv_devinfo -v -d ma >"$scratch/info" && grep -q "$1" "$scratch/info"; }
check "ibv_devinfo: port is active" devinfo 'PORT_ACTIVE'
check "ibv_devinfo: Ethernet" devinfo 'link_layer:.*Ethernet'
check "ibv_devinfo: the GID is RoCE v2" devinfo '10.0.1.1, RoCE v2'
check "ibv_devices lists both" sh -c 'ibv_devices | grep -cw "m[ab]" | grep -qx 2'

# --- the little programs
# pingpong NAME PROGRAM GID_OF_A GID_OF_B [argument...]
pingpong() {
	local name=$1 prog=$2 ga=$3 gb=$4
	shift 4
	check_pair "$name" b a \
		"$prog" -d mb -g "$gb" -p @PORT -n 50 "$@" -- \
		"$prog" -d ma -g "$ga" -p @PORT -n 50 "$@" 10.0.1.2
}
lla() { _ip "$1" -6 -o addr show dev "$2" scope link | awk '{ sub(/\/.*/, "", $4); print $4 }'; }
llb() { lla b eth0; }
a4=$(gid_index a ma 10.0.1.1) b4=$(gid_index b mb 10.0.1.2)
a6=$(gid_index a ma fd00:0:0:1::1) b6=$(gid_index b mb fd00:0:0:1::2)
al=$(gid_index a ma "$(lla a eth0)") bl=$(gid_index b mb "$(llb)")
check "GIDs of the link-local addresses" test -n "$al" -a -n "$bl"

pingpong "ibv_rc_pingpong, IPv4" ibv_rc_pingpong "$a4" "$b4" -c
pingpong "ibv_rc_pingpong, IPv6" ibv_rc_pingpong "$a6" "$b6" -c
pingpong "ibv_rc_pingpong, link-local" ibv_rc_pingpong "$al" "$bl" -c
pingpong "ibv_rc_pingpong, events" ibv_rc_pingpong "$a4" "$b4" -e
pingpong "ibv_rc_pingpong, 1 MB" ibv_rc_pingpong "$a4" "$b4" -c -s 1000000
pingpong "ibv_ud_pingpong, IPv4" ibv_ud_pingpong "$a4" "$b4" -s 1024
pingpong "ibv_ud_pingpong, IPv6" ibv_ud_pingpong "$a6" "$b6" -s 1024
pingpong "ibv_ud_pingpong, link-local" ibv_ud_pingpong "$al" "$bl" -s 1024
pingpong "ibv_ud_pingpong, events" ibv_ud_pingpong "$a4" "$b4" -s 1024 -e

for to in 10.0.1.2 fd00:0:0:1::2 "$(llb)%eth0"; do
	any=0.0.0.0
	case $to in *:*) any=:: ;; esac
	check_pair "rping to $to" b a \
		rping -s -V -C 20 -S 4000 -a $any -p @PORT -- \
		rping -c -v -V -C 20 -S 4000 -a "$to" -p @PORT
	check_pair "ucmatose to $to" b a \
		ucmatose -b $any -p @PORT -c 4 -C 20 -- \
		ucmatose -s "$to" -p @PORT -c 4 -C 20
	check_pair "rstream to $to" b a \
		rstream -b $any -p @PORT -S 65536 -C 20 -T v -- \
		rstream -s "$to" -p @PORT -S 65536 -C 20 -T v
	listen_port=7174 check_pair "udaddy to $to" b a \
		udaddy -b $any -c 2 -C 20 -- \
		udaddy -s "$to" -c 2 -C 20
done

# --- perftest and our verifier, by address family
check_perftest "ib_write_bw, IPv4" b a 10.0.1.2 ib_write_bw -n 100
check_pair "ib_send_bw, IPv6" b a \
	ib_send_bw -d mb -x "$b6" -F -p @PORT -n 100 -- \
	ib_send_bw -d ma -x "$a6" -F -p @PORT -n 100 10.0.1.2
check_pair "ib_read_bw, link-local" b a \
	ib_read_bw -d mb -x "$bl" -F -p @PORT -n 100 -- \
	ib_read_bw -d ma -x "$al" -F -p @PORT -n 100 10.0.1.2
check_verify "contents, RC, IPv4" b a 10.0.1.2 --bytes 16M
check_verify "contents, RC, both ways, events, ibv_wr_*" b a 10.0.1.2 \
	--bytes 8M --both --events --extended --signal-every 8
check_verify "contents, overlapping writes" b a 10.0.1.2 --bytes 8M --ops overlap,write
check_verify "contents, receives posted late" b a 10.0.1.2 --bytes 2M --late-recv 2000
check_verify "contents, datagrams" b a 10.0.1.2 --bytes 2M --ud
check_pair "contents, RC, IPv6" b a \
	metaroce-verify -d mb --listen -p @PORT --ipv6 -- \
	metaroce-verify -d ma -p @PORT --ipv6 --bytes 8M 10.0.1.2
check_verify "contents, atomics" b a 10.0.1.2 --bytes 64K \
	--ops fetch_add,cmp_swap,write

# --- MTU
for mtu in 4200 9000; do
	ip -n a link set eth0 mtu $mtu
	ip -n b link set eth0 mtu $mtu
	pingpong "ibv_rc_pingpong, MTU $mtu" ibv_rc_pingpong "$a4" "$b4" -c -s 100000
	check_verify "contents, MTU $mtu" b a 10.0.1.2 --bytes 16M
	check_verify "contents, datagrams, MTU $mtu" b a 10.0.1.2 --bytes 2M --ud
done
ip -n a link set eth0 mtu 1500
ip -n b link set eth0 mtu 1500
check_verify "contents, back at MTU 1500" b a 10.0.1.2 --bytes 8M

# --- to itself
check_pair "loopback: ibv_rc_pingpong" a a \
	ibv_rc_pingpong -d ma -g "$a4" -p @PORT -n 50 -c -- \
	ibv_rc_pingpong -d ma -g "$a4" -p @PORT -n 50 -c 10.0.1.1
check_pair "loopback: ibv_ud_pingpong" a a \
	ibv_ud_pingpong -d ma -g "$a4" -p @PORT -n 50 -s 1024 -- \
	ibv_ud_pingpong -d ma -g "$a4" -p @PORT -n 50 -s 1024 10.0.1.1
check_pair "loopback: rping" a a \
	rping -s -V -C 20 -a 10.0.1.1 -p @PORT -- \
	rping -c -V -C 20 -a 10.0.1.1 -p @PORT
check_perftest "loopback: ib_write_bw" a a 10.0.1.1 ib_write_bw -n 100
check_verify "loopback: contents" a a 10.0.1.1 --bytes 16M --both

# --- two devices on a host
link_add a eth1 b eth1
check "a second device on a host" mroce_link a ma2 eth1
check "and on the other" mroce_link b mb2 eth1
gids_ready a ma2 10.0.2.1 && gids_ready b mb2 10.0.2.2
check_pair "contents between the second devices" b a \
	metaroce-verify -d mb2 --listen -p @PORT -- \
	metaroce-verify -d ma2 -p @PORT --bytes 8M 10.0.2.2
check_verify "contents between the first ones" b a 10.0.1.2 --bytes 8M

check "rdma statistic shows the counters" sh -c '
	rdma statistic show link ma/1 | grep -q "tx_pkts [1-9]"'
check "rdma resource shows what a queue waits for" sh -c '
	rdma -d -d resource show cq dev ma | grep -q "drv_armed next" &&
	rdma -d -d resource show qp link ma/1 | grep -q "drv_rq-posted [1-9]"'

# --- the end
nothing_held() {
	! rdma resource show qp 2>/dev/null | grep 'link m' | grep -qv 'type GSI' &&
	! rdma resource show mr 2>/dev/null | grep -q 'dev m'
}
check "nothing is left of the programs" wait_for 10 nothing_held
rdma resource | sed 's/^/# /'
for d in ma2 mb2 ma; do
	check "rdma link del $d" rdma link del $d
done
check_fails "it is gone" rdma link show ma/1
check "rdma link add once more" mroce_link a ma eth0
gids_ready a ma 10.0.1.1
a4=$(gid_index a ma 10.0.1.1)
pingpong "ibv_rc_pingpong with the new device" ibv_rc_pingpong "$a4" "$b4" -c
rdma link del ma
rdma link del mb
no_socket() { ! on a ss -Huln | grep -q ':6762\b' && ! on b ss -Huln | grep -q ':6762\b'; }
check "no socket listens after the last link" wait_for 5 no_socket
check_eq "the module's reference count" "$(mroce_refcnt)" 0
