#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The demo, inside the virtual machine. Exits 0 only if everything that metaroce
# did worked; rivals may fail.
#
#   a eth0 (ma) =================== eth0 (mb) b      programs, speed
#   a eth1 (la) --- eth0 r eth1 --- eth1 (lb) b      loss at r
#   x0 (rxe0) ===================== x1 (rxe1)        rdma_rxe: the same two networks,
#   x2 (rxe2) --- eth2 r eth3 ----- x3 (rxe3)        but in the guest's own namespace,
#                                                    the only one it knows up to 6.12
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
trap - EXIT # this is no suite, and the guest ends with it
seconds=2	# of each measurement
failed=0
pair_limit=60

title() { printf '\n======== %s\n' "$*"; }
bad() { failed=1; printf '!!!!!!!! FAILED: %s\n' "$*"; }
# show HOST COMMAND...: as somebody on that host would type it
show() {
	local h=$1
	shift
	printf '\n%s# %s\n' "$h" "$*"
	on "$h" "$@" 2>&1 || bad "$*"
}
# both LINES SERVER... -- CLIENT...: a pair between b and a, the client's last lines
both() {
	local lines=$1 shown="" w seen=no
	shift
	for w; do
		[ "$w" != -- ] || seen=yes
		[ $seen = no ] || [ "$w" = -- ] || shown+=" $w"
	done
	printf '\na#%s\n' "${shown//@PORT/PORT}"
	if run_pair b a "$@"; then
		grep -v '^ *$' "$scratch/client" | tail -n "$lines"
	else
		bad "$shown"
		tail -n 5 "$scratch/client" "$scratch/server"
	fi
}

# --- results: results[what.who] = Gb/s or "failed"
declare -A results
# write_bw WHAT WHO HOST_B DEV_B GID_B HOST_A DEV_A GID_A TCP_ADDRESS
write_bw() {
	local what=$1 who=$2 hb=$3 db=$4 gb=$5 ha=$6 da=$7 ga=$8 to=$9 got try
	local args=(-F -p @PORT -s 65536 -D "$seconds" --report_gbits)
	# perftest calibrates its clock in each run, and prints 0 for what it did if that fails
	for try in 1 2 3; do
		got=
		run_pair "$hb" "$ha" ib_write_bw -d "$db" -x "$gb" "${args[@]}" -- \
			ib_write_bw -d "$da" -x "$ga" "${args[@]}" "$to" || break
		got=$(awk '$1 == 65536 { print $4 }' "$scratch/client")
		awk '$1 == 65536 && $2 > 0 && $4 == 0 { no = 1 } END { exit !no }' \
			"$scratch/client" || break
		echo "  perftest could not calibrate its clock (try $try)"
	done
	# nothing moved is no result, and no figure is none either
	if awk -v g="${got:-0}" 'BEGIN { exit !(g > 0) }'; then
		results[$what.$who]=$(printf '%.3f' "$got")
	else
		results[$what.$who]=failed
		[ "$who" != metaroce ] || {
			bad "ib_write_bw, $what"
			tail -n 4 "$scratch/client" "$scratch/server"
		}
	fi
	printf '  %-26s %-9s %s Gb/s\n' "$what" "$who" "${results[$what.$who]}"
}
# tcp WHAT ADDRESS_OF_B
tcp() {
	local got
	if run_pair b a iperf3 -s -1 -p @PORT -- iperf3 -c "$2" -p @PORT -t $seconds -f k; then
		got=$(awk '/receiver/ { for (i = 2; i <= NF; i++)
			if ($i == "Kbits/sec") printf "%.3f", $(i - 1) / 1e6 }' "$scratch/client")
	fi
	results[$1.tcp]=${got:-failed}
	printf '  %-26s %-9s %s Gb/s\n' "$1" TCP "${results[$1.tcp]}"
}

# --- hosts
title "two hosts, a and b, on Linux $(uname -r)"
modprobe -a rdma_rxe crc32_generic sch_netem
mroce_load || { echo "no module was built"; exit 1; }
host_add a b && router_add r
link_add a eth0 b eth0                             # 10.0.1
link_add a eth1 r eth0 && link_add r eth1 b eth1   # 10.0.2, 10.0.3
route a 10.0.3.0/24 10.0.2.2 && route b 10.0.2.0/24 10.0.3.1
for key in all default; do
	sysctl_set - net.ipv4.conf.$key.rp_filter 0
	sysctl_set - net.ipv4.conf.$key.accept_local 1
done
link_add - x0 - x1                                 # 10.0.4
link_add - x2 r eth2 && link_add r eth3 - x3       # 10.0.5, 10.0.6
ip rule add pref 20 lookup local && ip rule del pref 0
mac() { cat "/sys/class/net/$1/address"; }
# wire DEV SOURCE DESTINATION TABLE [GATEWAY]: local addresses, yet over the wire
wire() {
	sysctl_set - "net.ipv4.conf.$1.rp_filter" 0
	ip route add "$3" ${5:+via "$5"} dev "$1" src "$2" table "$4"
	ip rule add pref "$4" iif lo from "$2" to "$3" lookup "$4"
}
wire x0 10.0.4.1 10.0.4.2 10
wire x1 10.0.4.2 10.0.4.1 11
ip neigh replace 10.0.4.2 lladdr "$(mac x1)" dev x0 nud permanent
ip neigh replace 10.0.4.1 lladdr "$(mac x0)" dev x1 nud permanent
wire x2 10.0.5.1 10.0.6.2 12 10.0.5.2
wire x3 10.0.6.2 10.0.5.1 13 10.0.6.1

show a rdma link add ma type metaroce netdev eth0
show b rdma link add mb type metaroce netdev eth0
mknodes
gids_ready a ma 10.0.1.1 && gids_ready b mb 10.0.1.2 || bad "GIDs of the addresses"
show a rdma link
show a ibv_devinfo -d ma
ga=$(gid_index a ma 10.0.1.1) gb=$(gid_index b mb 10.0.1.2)

title "unmodified programs (b is the server)"
both 2 ibv_rc_pingpong -d mb -g "$gb" -p @PORT -- \
	ibv_rc_pingpong -d ma -g "$ga" -p @PORT 10.0.1.2
both 2 ibv_ud_pingpong -d mb -g "$gb" -p @PORT -s 1024 -- \
	ibv_ud_pingpong -d ma -g "$ga" -p @PORT -s 1024 10.0.1.2
both 3 rping -s -a 10.0.1.2 -p @PORT -C 10 -V -- \
	rping -c -v -V -a 10.0.1.2 -p @PORT -C 10
for test in "ib_write_bw -s 65536 -n 2000" "ib_read_bw -s 65536 -n 2000" \
	    "ib_send_lat -s 8 -n 2000"; do
	# shellcheck disable=SC2086 # words
	both 3 ${test%% *} -d mb -x "$gb" -F -p @PORT ${test#* } -- \
		${test%% *} -d ma -x "$ga" -F -p @PORT ${test#* } 10.0.1.2
done

title "are the contents right? (metaroce-verify looks at every byte)"
both 1 metaroce-verify -d mb --listen -p @PORT -- \
	metaroce-verify -d ma -p @PORT --bytes 64M --both 10.0.1.2

title "speed: ib_write_bw -s 65536, a veth between the hosts, $seconds s each"
for mtu in 1500 9000; do
	for i in "a eth0" "b eth0" "- x0" "- x1"; do
		# shellcheck disable=SC2086 # words
		set -- $i
		_ip "$1" link set "$2" mtu $mtu
	done
	rdma link add rxe0 type rxe netdev x0 && rdma link add rxe1 type rxe netdev x1 &&
		mknodes
	gids_ready - rxe0 10.0.4.1 && gids_ready - rxe1 10.0.4.2
	write_bw "MTU $mtu" metaroce b mb "$gb" a ma "$ga" 10.0.1.2
	write_bw "MTU $mtu" rxe - rxe1 "$(gid_index - rxe1 10.0.4.2)" \
		- rxe0 "$(gid_index - rxe0 10.0.4.1)" 127.0.0.1
	tcp "MTU $mtu" 10.0.1.2
	rdma link del rxe0
	rdma link del rxe1
done

title "the same through a router that drops packets (not bursts: segmentation is off before it)"
on a rdma link add la type metaroce netdev eth1 &&
	on b rdma link add lb type metaroce netdev eth1 || bad "second devices"
rdma link add rxe2 type rxe netdev x2 && rdma link add rxe3 type rxe netdev x3
mknodes
gids_ready a la 10.0.2.1 && gids_ready b lb 10.0.3.2 || bad "GIDs of the second devices"
gids_ready - rxe2 10.0.5.1 && gids_ready - rxe3 10.0.6.2
gla=$(gid_index a la 10.0.2.1) glb=$(gid_index b lb 10.0.3.2)
segment_here a eth1
for loss in 0 1 10; do
	netem r eth1 loss $loss%
	netem r eth3 loss $loss%
	what="MTU 1500, $loss % loss"
	write_bw "$what" metaroce b lb "$glb" a la "$gla" 10.0.1.2
	write_bw "$what" rxe - rxe3 "$(gid_index - rxe3 10.0.6.2)" \
		- rxe2 "$(gid_index - rxe2 10.0.5.1)" 127.0.0.1
	tcp "$what" 10.0.3.2
done
echo
echo "with 10 % loss, are the contents right?"
both 1 metaroce-verify -d lb --listen -p @PORT -- \
	metaroce-verify -d la -p @PORT --bytes 8M --both 10.0.1.2
printf 'of %s packets that a sent %s were sent again\n' "$(counter la tx_pkts)" \
	$(($(counter la retx_gap) + $(counter la retx_probe)))

title "in Gb/s, ib_write_bw -s 65536 and iperf3 (this boot, one run of $seconds s each)"
printf '%-24s %10s %10s %10s %16s\n' "" metaroce rdma_rxe TCP "metaroce : rxe"
for what in "MTU 1500" "MTU 9000" "MTU 1500, 0 % loss" "MTU 1500, 1 % loss" \
	    "MTU 1500, 10 % loss"; do
	name=$what
	[ "$name" != "MTU 1500, 0 % loss" ] || name="MTU 1500, via router"
	printf '%-24s %10s %10s %10s %16s\n' "$name" "${results[$what.metaroce]}" \
		"${results[$what.rxe]}" "${results[$what.tcp]}" \
		"$(awk -v m="${results[$what.metaroce]}" -v r="${results[$what.rxe]}" \
		   'BEGIN { if (m > 0 && r > 0) printf "%.1f x", m / r; else print "-" }')"
done
echo "(rows with a router: segmentation off at the sender, netem loss at the router, no delay;"
echo " the goal without one is 5 x rdma_rxe at either MTU. TCP: iperf3, 128 KiB writes)"

rdma link del ma && rdma link del mb && rdma link del la && rdma link del lb ||
	bad "rdma link del"
rdma link del rxe2
rdma link del rxe3
mroce_unload || bad "rmmod"
splats && bad "the kernel complained"
exit $failed
