#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=900
#
# Bad input from every side: administrators (links), programs (verbs calls,
# scribbled rings), and the network (forged packets). Each gets the right status
# or moves a named counter; no memory changes that should not, and the kernel's
# log stays clean.
#
#   a eth0 (ma) ======== eth0 (mb) b
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
need metaroce-verify metaroce-inject
mroce_load || skip_all "no module was built for $LAB_KERNEL"

# tap NAME HOST COMMAND...: the command prints TAP; its tests become ours
tap() {
	local name=$1 line rc=0
	shift
	local h=$1
	shift
	on "$h" timeout 150 "$@" >"$scratch/tap" 2>"$scratch/tap.err" </dev/null || rc=$?
	while IFS= read -r line; do
		case $line in
		"ok "*"# SKIP "*) line=${line#* - } && skip "$name: ${line%% # SKIP*}" "${line#*# SKIP }" ;;
		"ok "*) ok "$name: ${line#* - }" ;;
		"not ok "*) nok "$name: ${line#* - }" ;;
		"# "*) echo "$line" ;;
		esac
	done <"$scratch/tap"
	# a program that dies says nothing of the tests it did not come to
	if [ $rc -gt 1 ] || ! grep -q '^1\.\.' "$scratch/tap"; then
		nok "$name: ran to its end (status $rc)"
		tail -5 "$scratch/tap.err" | sed 's/^/# | /'
	else
		ok "$name: ran to its end"
	fi
}

# --- links
add() { on a rdma link add "$1" type metaroce netdev "$2"; }
host_add a b
link_add a eth0 b eth0
check_fails "a netdev that does not exist" add m9 nosuchdev
check_fails "a netdev of another namespace" rdma link add m9 type metaroce netdev eth0
check_fails "no name" add "" eth0
check_fails "a name with a format character" add "m%d%s" eth0
check_fails "a name that is too long" add "$(printf 'm%.0s' $(seq 70))" eth0
ip -n a link add br0 type bridge && ip -n a link add dum0 type dummy &&
	ip -n a link set dum0 master br0
check_fails "a bridge's port" add m9 dum0
if modprobe -q vcan && ip -n a link add can0 type vcan; then
	check_fails "not Ethernet" add m9 can0
else
	skip "not Ethernet" "this kernel has no vcan"
fi
check_fails "and none of these left a device" sh -c 'rdma link | grep -q "link m"'
check "a good one" mroce_link a ma eth0
check_fails "a second link on the same netdev" add m9 eth0
check_fails "its name again" add ma br0
check "the first one lives" on a rdma link show ma/1
check_fails "deleting what does not exist" on a rdma link del m9
check_fails "the second one is not there" rdma link show m9/1

# --- netdevs that are down, or have no address
ip -n a link add dum1 type dummy
ip -n a link set dum1 addrgenmode none
check "a link on a netdev that is down" mroce_link a md dum1
check "its port is down" sh -c 'ip netns exec a rdma link show md/1 | grep -q "state DOWN"'
check_fails "traffic over it fails" on a metaroce-verify -d md negative --only still_working
ip -n a link set dum1 up
check "up: it is active" wait_for 5 sh -c \
	'ip netns exec a rdma link show md/1 | grep -q "state ACTIVE"'
check "without an address a program opens it" on a ibv_devinfo -d md
ip -n a addr add 10.9.9.1/24 dev dum1
check "an address: a GID" gids_ready a md 10.9.9.1
check "and it works" on a metaroce-verify -d md negative --only still_working
check_pair "and it talks to itself" a a \
	metaroce-verify -d md --listen -p @PORT -- \
	metaroce-verify -d md -p @PORT --bytes 1M 10.9.9.1
ip -n a addr del 10.9.9.1/24 dev dum1
check_fails "the address goes: so does the GID" gid_index a md 10.9.9.1
check "rdma link del" rdma link del md

# --- programs
check "the other host's link" mroce_link b mb eth0
gids_ready a ma 10.0.1.1
gids_ready b mb 10.0.1.2
tap "verbs" a metaroce-verify -d ma negative --device2 mb
tap "verbs, to itself" a metaroce-verify -d ma negative --only lkey
check "rings scribbled over" on a timeout 120 metaroce-verify -d ma scribble --seconds 3
check_verify "afterwards traffic is right" b a 10.0.1.2 --bytes 4M

# --- the network
tap "packets" - metaroce-inject -d ma -t mb -n eth0 --netns a
rdma statistic show link mb/1 | tr ' ' '\n' |
	awk '$1 ~ /^[0-9]+$/ && $1 > 0 && p ~ /^rx_|reject/ { print "# mb " p " " $1 } { p = $1 }'
for d in ma mb; do rdma link del $d; done
mroce_link a ma eth0 && mroce_link b mb eth0
gids_ready a ma 10.0.1.1
gids_ready b mb 10.0.1.2
check_verify "with new links traffic is right" b a 10.0.1.2 --bytes 4M
splat_check
