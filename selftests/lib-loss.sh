# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced after lib-verbs.sh by the loss suites.
#
#   a eth0 (ma) ---- eth0 r eth1 ---- eth0 (mb) b     loss, reordering, duplicates at r
#   a eth1 --------------------------- eth1 b         clean, for the verifier's talk
#
# a and b cut what they send into packets, so that r drops packets and not
# bursts of 44; r's netem holds them back by a delay (reordering needs one).

loss_netem=(delay 200us loss 1% reorder 5% duplicate 1%)

lossy_hosts() {
	host_add a b && router_add r &&
	link_add a eth0 r eth0 && link_add r eth1 b eth0 && link_add a eth1 b eth1 &&
	route a 10.0.2.0/24 10.0.1.2 && route b 10.0.1.0/24 10.0.2.1 &&
	mroce_link a ma eth0 && mroce_link b mb eth0 &&
	gids_ready a ma 10.0.1.1 && gids_ready b mb 10.0.2.2 &&
	segment_here a eth0 && segment_here b eth0 &&
	netem r eth0 "${loss_netem[@]}" && netem r eth1 "${loss_netem[@]}"
}

# lossy_mtu MTU
lossy_mtu() {
	_ip r link set eth0 mtu "$1" && _ip r link set eth1 mtu "$1" &&
	_ip a link set eth0 mtu "$1" && _ip b link set eth0 mtu "$1"
}

# loss_volume BYTES:MTU...: so much in each direction, at that MTU
loss_volume() {
	local ops=write,write_imm,send,send_imm,read,fetch_add,cmp_swap,overlap name kind per bytes mtu
	mroce_load || skip_all "no module was built for $LAB_KERNEL"
	pair_limit=7000
	check "hosts with a bad network between them" lossy_hosts
	for mtu; do
		bytes=${mtu%:*} mtu=${mtu#*:}
		check "MTU $mtu" lossy_mtu "$mtu"
		check_verify "twice $bytes of $ops on 8 QPs, MTU $mtu" b a 10.0.3.2 \
			--bytes "$bytes" --both --qps 8 --ops $ops --stall 60
	done
	# it was as bad as that, and repaired
	for kind in dropped duplicated; do
		case $kind in
		dropped) name=retx_gap per=200 ;;
		duplicated) name=rx_dup_path per=400 ;;
		esac
		for dev in ma mb; do
			diag "$dev: $(counter $dev tx_pkts) packets sent," \
			     "$(counter $dev rx_pkts) came, $name $(counter $dev $name)"
			check "$dev: packets were $kind ($name)" test \
				"$(($(counter $dev $name) * per))" -ge "$(counter $dev rx_pkts)"
		done
	done
	for dev in ma mb; do
		for name in retx_gap retx_probe retx_spurious rx_dup_path rx_dup_cpn \
			    rx_held rx_refused_hold path_suspect path_failed; do
			diag "$dev $name $(counter $dev $name)"
		done
	done
}
