#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=180 check=6.1
#
# The guest's verbs stack and its clients work, seen with the kernel's own
# rdma_rxe: a failure of our driver in later suites is our driver's.
#
#     guest (init_net; rdma_rxe knows no other up to 6.12)
#     veth0 10.0.0.1 ======== veth1 10.0.0.2      policy routing forces the wire
. "$LAB_DIR/guest.sh"
need ibv_rc_pingpong ib_write_bw

modprobe -a rdma_rxe crc32_generic ib_uverbs rdma_ucm ||
	skip_all "this kernel has no rdma_rxe"
for key in all default; do
	sysctl_set - net.ipv4.conf.$key.rp_filter 0
	sysctl_set - net.ipv4.conf.$key.accept_local 1
done
teardown() {
	rdma link del rxe0
	rdma link del rxe1
	ip link del veth0
	ip rule add pref 0 lookup local
	ip rule del pref 20
	ip rule del pref 10
	ip rule del pref 11
} 2>/dev/null
ip link add veth0 address 02:00:00:00:00:01 type veth \
	peer name veth1 address 02:00:00:00:00:02
for i in 0 1; do
	sysctl_set - net.ipv4.conf.veth$i.rp_filter 0
	sysctl_set - net.ipv4.conf.veth$i.accept_local 1
	ip link set veth$i up
	ip addr add 10.0.0.$((i + 1))/24 dev veth$i
	ip neigh replace 10.0.0.$((2 - i)) lladdr 02:00:00:00:00:0$((2 - i)) \
		dev veth$i nud permanent
	ip route add 10.0.0.0/24 dev veth$i src 10.0.0.$((i + 1)) table $((100 + i))
	ip rule add pref $((10 + i)) iif lo from 10.0.0.$((i + 1)) \
		to 10.0.0.$((2 - i)) lookup $((100 + i))
done
ip rule add pref 20 lookup local
ip rule del pref 0

check "rdma link add rxe0" rdma link add rxe0 type rxe netdev veth0
check "rdma link add rxe1" rdma link add rxe1 type rxe netdev veth1
mknodes
check "a device node each" test -c /dev/infiniband/uverbs1 -a -c /dev/infiniband/rdma_cm
g0=$(gid_index - rxe0 10.0.0.1) g1=$(gid_index - rxe1 10.0.0.2)
check "ibv_devinfo says ACTIVE" sh -c 'ibv_devinfo -d rxe0 | grep -q PORT_ACTIVE'

spawn - ibv_rc_pingpong -d rxe1 -g "$g1" -n 50 >"$scratch/server" 2>&1
server=$pid
wait_for 20 sh -c 'ss -ltn | grep -q :18515'
check "ibv_rc_pingpong" ibv_rc_pingpong -d rxe0 -g "$g0" -n 50 10.0.0.2
check "its server" reap $server 20

spawn - ib_write_bw -d rxe1 -x "$g1" -s 65536 -n 20 -t 16 -F >"$scratch/server" 2>&1
server=$pid
wait_for 20 sh -c 'ss -ltn | grep -q :18515'
check "ib_write_bw" ib_write_bw -d rxe0 -x "$g0" -s 65536 -n 20 -t 16 -F 10.0.0.2
check "its server ends too" reap $server 20
