#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: own-boot=yes timeout=240 check=6.12
#
# RDMA namespaces in exclusive mode, which must be chosen before there is any
# namespace: a device belongs to one namespace and others do not see it.
#
#   a eth0 (ma) ======== eth0 (mb) b
#
# Up to Linux 7.1 `rdma link add` makes the device in the guest's own namespace,
# whatever namespace it is called in; `rdma dev set` moves it.
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
need ibv_rc_pingpong rping
mroce_load || skip_all "no module was built for $LAB_KERNEL"
check "exclusive mode" rdma system set netns exclusive
host_add a b
link_add a eth0 b eth0
for h in a b; do
	check "rdma link add on $h" mroce_link $h m$h eth0
	rdma dev show m$h >/dev/null 2>&1 && # not where link add knows namespaces
		check "rdma dev set m$h netns $h" rdma dev set m$h netns $h
	check "$h sees its device" on $h rdma dev show m$h
	check_fails "the guest's namespace does not see it" rdma dev show m$h
done
mknodes
check_fails "a does not see b's device" on a rdma dev show mb
check "a's programs see one device" sh -c \
	'ip netns exec a ibv_devices | grep -c "m[ab]" | grep -qx 1'
check "GIDs came along" gids_ready a ma 10.0.1.1
gids_ready b mb 10.0.1.2

a4=$(gid_index a ma 10.0.1.1) b4=$(gid_index b mb 10.0.1.2)
check_pair "ibv_rc_pingpong" b a \
	ibv_rc_pingpong -d mb -g "$b4" -p @PORT -n 50 -c -- \
	ibv_rc_pingpong -d ma -g "$a4" -p @PORT -n 50 -c 10.0.1.2
check_pair "ibv_ud_pingpong" b a \
	ibv_ud_pingpong -d mb -g "$b4" -p @PORT -n 50 -s 1024 -- \
	ibv_ud_pingpong -d ma -g "$a4" -p @PORT -n 50 -s 1024 10.0.1.2
check_pair "rping" b a \
	rping -s -V -C 20 -a 10.0.1.2 -p @PORT -- \
	rping -c -V -C 20 -a 10.0.1.2 -p @PORT
check_verify "contents" b a 10.0.1.2 --bytes 16M --both

# --- the ends
check "rdma link del in its namespace" on a rdma link del ma
check_fails "it is gone" on a rdma dev show ma
check "ip netns del with a device in it" timeout 5 ip netns del b
gone() { ! rdma dev 2>/dev/null | grep -q mb; }
check "its device goes too, and is not left to others" wait_for 5 gone
