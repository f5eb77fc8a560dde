#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=200 check=6.12
#
# Two devices, one connection, whatever addresses of theirs programs meet by (MR-3.6-*): one
# after the other, at once, from both sides at once; and what ends that.
#
#   a eth0 (ma) ======== eth0 (mb) b        10.0.1.0/24, fd00:0:0:1::/64, link-local
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
need ibv_rc_pingpong metaroce-verify
mroce_load || skip_all "no module was built for $LAB_KERNEL"
two_hosts || skip_all "no two hosts"
lla() { _ip "$1" -6 -o addr show dev eth0 scope link | awk '{ sub(/\/.*/, "", $4); print $4 }'; }
declare -A gid
for h in a b; do
	gid[$h.four]=$(gid_index $h m$h "$(addr $h eth0)")
	gid[$h.six]=$(gid_index $h m$h "fd00:0:0:1::$([ $h = a ] && echo 1 || echo 2)")
	gid[$h.local]=$(gid_index $h m$h "$(lla $h)")
done

# talk NAME FROM TO: two programs that go on until hush NAME, by addresses of that name's kind
declare -A talking
talk() {
	local kind=${1%%-*}
	_pair_port=$((_pair_port + 1))
	spawn "$3" ibv_rc_pingpong -e -d "m$3" -g "${gid[$3.$kind]}" -p $_pair_port -n 100000000 \
		>"$scratch/$1.server" 2>&1 </dev/null
	talking[$1]=$pid
	wait_for 20 listens "$3" $_pair_port "$pid"
	spawn "$2" ibv_rc_pingpong -e -d "m$2" -g "${gid[$2.$kind]}" -p $_pair_port -n 100000000 \
		"$(addr "$3" eth0)" >"$scratch/$1.client" 2>&1 </dev/null
	talking[$1]+=" $pid"
}
hush() {
	local name p
	for name; do
		for p in ${talking[$name]}; do
			kill "$p" 2>/dev/null
			kill -CONT "$p" 2>/dev/null
			wait "$p" 2>/dev/null
		done
		unset "talking[$name]"
	done
}
quiet() { ! rdma resource show qp | grep 'link m' | grep -qv 'type GSI'; }
alive() { local p; for p in ${talking[$1]}; do kill -0 "$p" || return; done; }

# connections HOST QPS: how many connections its QPs use, if so many QPs have their stream open
connections() {
	rdma -d -d resource show qp link "m$1/1" | awk -v want="$2" '
		/drv_stream-state OPEN/ {
			open++
			for (i = 1; i < NF; i++) if ($i == "drv_cid" && !seen[$(i + 1)]++) n++
		}
		END { if (open != want) exit 1; print n }'
}
one_for() { [ "$(connections a "$1")" = 1 ] && [ "$(connections b "$1")" = 1 ]; }
show() { for h in a b; do rdma -d -d resource show qp link m$h/1 | grep drv_cid | sed 's/^/# /'; done; }
# one NAME QPS. Then the programs stand still: they would have the processors to themselves.
one() {
	check "$1" wait_for 30 one_for "$2"
	one_for "$2" || show
	each STOP
}
each() { # SIGNAL
	local name p
	for name in "${!talking[@]}"; do
		for p in ${talking[$name]}; do kill -"$1" "$p" 2>/dev/null; done
	done
}

talk four a b
one "IPv4 alone" 1
talk six a b
one "IPv6 joins it" 2
talk local b a
one "link-local joins it, from the other side" 3
check_pair "contents by IPv6" b a \
	metaroce-verify -d mb --listen -p @PORT --ipv6 -- \
	metaroce-verify -d ma -p @PORT --ipv6 --bytes 4M 10.0.1.2
hush four
one "the rest stays when those who opened it go" 2
each CONT
check "and goes on" sh -c '
	n() { cat /sys/class/infiniband/ma/ports/1/hw_counters/rx_pkts; }
	x=$(n); sleep 1; [ "$(n)" -gt $((x + 10)) ]'
hush six local
check "nothing is left of the programs" wait_for 10 quiet

# at once, again and again: connections end before the next round
gone() { [ "$(counter ma conn_lost)" = "$(counter ma conn_up)" ]; }
declare -A starts
for round in 1 2; do
	check "round $round: unused, it ends" wait_for 10 gone
	before=$(counter ma conn_up)
	for kind in four six local; do
		_pair_port=$((_pair_port + 1))
		from=a to=b
		[ $kind != six ] || { from=b; to=a; } # from both sides
		spawn $to ibv_rc_pingpong -e -d m$to -g "${gid[$to.$kind]}" -p $_pair_port -n 100000000 \
			>/dev/null 2>&1 </dev/null
		talking[$kind]=$pid
		wait_for 20 listens $to $_pair_port "$pid"
		starts[$_pair_port]="$from $to $kind"
	done
	for port in "${!starts[@]}"; do
		read -r from to kind <<<"${starts[$port]}"
		spawn "$from" ibv_rc_pingpong -e -d "m$from" -g "${gid[$from.$kind]}" -p "$port" \
			-n 100000000 "$(addr "$to" eth0)" >/dev/null 2>&1 </dev/null
		talking[$kind]+=" $pid"
	done
	starts=()
	one "round $round: three at once, from both sides" 3
	check_eq "round $round: connections that came up" $(($(counter ma conn_up) - before)) 1
	hush four six local
done

# a peer that starts anew ends it for all; what comes after joins again
talk four a b
talk six a b
one "before the peer's device is deleted" 2
rdma link del mb
each CONT
ends() { ! alive four && ! alive six; }
check "programs on it end" wait_for 30 ends
hush four six
check "the peer's device is back" mroce_link b mb eth0
gids_ready b mb "$(addr b eth0)" && gids_ready b mb "$(lla b)"
gid[b.four]=$(gid_index b mb "$(addr b eth0)") gid[b.six]=$(gid_index b mb fd00:0:0:1::2)
talk six-again a b
talk four-again b a
one "with the new device, IPv6 first" 2
hush six-again four-again
