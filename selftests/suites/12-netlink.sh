#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# LAB: timeout=600 long=yes
#
# What an operator sees and sets: the netlink family and the program `metaroce`.
#
#   a eth0 (ma) ======== eth0 (mb) b     slow, so that traffic leaves time for others
. "$LAB_DIR/guest.sh"
. "$LAB_DIR/../lib-verbs.sh"
need metaroce metaroce-bench jq python3 setpriv
mroce_built || skip_all "no module was built for $LAB_KERNEL"
client=$LAB_DIR/../netlink.py

# says TEXT COMMAND...: the command fails and says that
says() {
	local text=$1 out rc=0
	shift
	out=$("$@" 2>&1) || rc=$?
	echo "status $rc: $out"
	[ $rc != 0 ] && [ $rc -lt 124 ] && [[ $out == *"$text"* ]]
}
# shows TEXT COMMAND...
shows() {
	local text=$1 out
	shift
	out=$("$@" 2>&1) || { echo "status $?: $out"; return 1; }
	echo "$out"
	[[ $out == *"$text"* ]]
}
# results HOST ARGUMENT...: each of the client's results is one of ours
results() {
	local h=$1 result name n=0
	shift
	on "$h" python3 "$client" "$@" >"$scratch/results" 2>&1 </dev/null || nok "netlink.py $*"
	while read -r result name; do
		case $result in
		ok) ok "$name" ;;
		*) nok "$result $name" ;;
		esac
		n=$((n + 1))
	done <"$scratch/results"
	check "netlink.py $1 had results" test $n -gt 3
}
# json HOST FILTER ARGUMENT...: what a filter for jq makes of `metaroce -j`
json() {
	local h=$1 filter=$2
	shift 2
	on "$h" metaroce -j "$@" | jq -cr "$filter"
}

# --- without the module
modprobe -r metaroce
helper=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
check "without the module it says what to do" says "modprobe metaroce" metaroce show
echo "$helper" >/proc/sys/kernel/modprobe
mroce_load

# --- devices
host_add a b
link_add a eth0 b eth0
check_eq "no device, nothing shown" "$(on a metaroce show)" ""
mroce_link a ma eth0
mroce_link b mb eth0
gids_ready a ma 10.0.1.1 && gids_ready b mb 10.0.1.2
gids_ready a ma fd00:0:0:1::1 && gids_ready b mb fd00:0:0:1::2
check "show" shows "ma: netdev eth0 id 0x" on a metaroce show
check "show one" shows "mb: netdev eth0" on b metaroce show mb
check_eq "a sees its own device only" "$(json a '[.[].name]' show)" '["ma"]'
check "b's device is not there for a" says "no such metaroce device" on a metaroce show mb
check "nor its connections" says "no such metaroce device" on a metaroce conn show dev mb
check_eq "the guest's own namespace sees none" "$(metaroce show)" ""

# --- parameters
check "set two" on a metaroce set dev ma init-paths 16 probe-floor 2ms
check "they are shown" shows "probe-floor 2ms delay-target 25ms init-paths 16" on a metaroce show ma
check "out of range: what is allowed is said" \
	says "out of range (1 to 64 is allowed)" on a metaroce set dev ma max-burst 65
check "... with a lower bound only by type" \
	says "(0 to 1000000 is allowed)" on a metaroce set dev ma probe-floor 2s
check "an unknown parameter" says "there are max-burst," on a metaroce set dev ma nosuch 1
check "an unknown device" says "no such metaroce device" on a metaroce set dev nosuch max-burst 1
check "b's device from a" says "no such metaroce device" on a metaroce set dev mb max-burst 1
user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
export -f user
check "a user may look" shows "ma: " on a bash -c 'user metaroce show'
check "but not set" says "not permitted" on a bash -c 'user metaroce set dev ma max-burst 1'
check_eq "nothing has changed by all that" \
	"$(json a '.[0].params | [.max_burst, .probe_floor]' show)" "[64,2000]"

# --- connections and paths, under traffic
spawn a metaroce monitor >"$scratch/events"
monitor=$pid
event() { grep -q "$1" "$scratch/events"; }
# it has its socket, and sleeps: so it waits for events
monitor_waits() {
	grep -q "^State:.S" "/proc/$monitor/status" &&
	on a awk -v pid="$monitor" '$3 == pid { found = 1 } END { exit !found }' /proc/net/netlink
}
wait_for 10 monitor_waits
netem a eth0 rate 4mbit
# bench PORT GID_OF_A GID_OF_B ARGUMENT...
bench() {
	local port=$1 ga=$2 gb=$3
	shift 3
	spawn b metaroce-bench -d mb --listen -p "$port" --gid-index "$gb" >/dev/null 2>&1 </dev/null
	spawn a metaroce-bench -d ma -p "$port" --gid-index "$ga" --seconds 1000 --size 2K --timeout 20 \
		--depth 2 "$@" 10.0.1.2 >/dev/null 2>&1 </dev/null
}
# six connections, by traffic class; of one there is a second pair of addresses
g4=$(gid_index a ma 10.0.1.1) h4=$(gid_index b mb 10.0.1.2)
g6=$(gid_index a ma fd00:0:0:1::1) h6=$(gid_index b mb fd00:0:0:1::2)
bench 17801 "$g6" "$h6" --qps 2
for i in 1 2 3 4 5; do bench 1781$i "$g4" "$h4" --tclass $((32 * i)); done
up() { [ "$(json a '[.[] | select(.state == "UP" and .counters.tx_pkts > 50)] | length' conn show)" = "$1" ]; }
check "six connections are up" wait_for 60 up 6
check_eq "their queue pairs" "$(json a '[.[].streams] | sort' conn show)" "[1,1,1,1,1,2]"
check_eq "their classes" "$(json a '[.[].tclass] | sort' conn show)" "[0,32,64,96,128,160]"
check_eq "init-paths is used" "$(json a '[.[].paths] | unique' conn show)" "[16]"
check "both ends name each other" test \
	"$(json a '[.[].cid] | sort' conn show)" = "$(json b '[.[].peer_cid] | sort' conn show)"
cid=$(json a '.[] | select(.daddr | contains(":")) | .cid' conn show)
bench 17802 "$g4" "$h4"
check "another pair of addresses uses one of them" wait_for 30 shows "also 10.0.1.1 -> 10.0.1.2" \
	on a metaroce conn show dev ma cid "$cid"
check "conn show" shows "-> fd00:0:0:1::2 peer-cid 0x" on a metaroce conn show dev ma cid "$cid"
check_eq "path show of one" "$(on a metaroce path show dev ma cid "$cid" | wc -l)" 17
check_eq "every path has a port of its own" "$(json a '([.[].sport] | unique | length) > 80' path show)" true
check "top --once" shows "$cid" on a metaroce top --once --interval 0.3
check_eq "top sees traffic" "$(json a '([.conns[].sent_bps] | add) > 1e5' top --once)" true
event_up() { [ "$(grep -c ' conn ma .* UP 10\| conn ma .* UP fd' "$scratch/events")" = 6 ]; }
check "monitor has seen them come up" wait_for 5 event_up
results a bad ma
results a dump ma

# --- a parameter takes effect on living connections
sent() { json a "[.[].counters.$1] | add" conn show; }
on a metaroce set dev ma max-burst 1
more() { [ "$(sent tx_pkts)" -gt $((packets + 200)) ]; }
nap 0.5
# one reading after the other: more packets are counted, not more bursts
bursts=$(sent tx_bursts)
packets=$(sent tx_pkts)
check "traffic goes on" wait_for 30 more
packets=$(($(sent tx_pkts) - packets))
bursts=$(($(sent tx_bursts) - bursts))
check "max-burst 1: every packet on its own ($packets packets, $bursts bursts)" \
	test "$packets" -gt 100 -a "$packets" -le "$bursts"
on a metaroce set dev ma max-burst 64

# --- a peer falls silent, and comes back
netem b eth0 loss 100%
check "monitor sees paths become suspect" wait_for 20 event ': ACTIVE -> SUSPECT'
check "path show, too" wait_for 5 shows SUSPECT on a metaroce path show
unqueue b eth0
check "and active again" wait_for 20 event ': \(SUSPECT\|PROBING\) -> ACTIVE'
kill -0 $monitor && ok "monitor is there still" || nok "monitor is there still"

# --- ends while somebody dumps
spawn a python3 "$client" loop >"$scratch/loop" 2>&1
loop=$pid
spawn a python3 "$client" held "$scratch/ready" "$scratch/go" >"$scratch/held" 2>&1
held=$pid
wait_for 20 test -e "$scratch/ready" || nok "a dump is half read"
check "link del while a dump is half read" timeout 10 rdma link del ma
check "monitor has seen the end" wait_for 5 event ' conn ma .* DEAD'
for i in 1 2 3; do
	mroce_link a ma eth0 && rdma link del ma || nok "link add and del, round $i"
done
: >"$scratch/go"
check "the rest of that dump" reap $held 10
kill $loop
check "a loop of dumps saw no error: $(cat "$scratch/loop")" reap $loop 10

# --- a namespace ends while somebody dumps in it
mroce_link a ma eth0
spawn a python3 "$client" loop >"$scratch/loop" 2>&1
loop=$pid
gone() { ! rdma dev | grep -q "$1"; }
ip -n b link del eth0
check "the netdevs' end" wait_for 10 gone 'm[ab]'
kill $loop
check "a loop of dumps saw no error then, either" reap $loop 10
check_eq "nothing is shown any more" "$(on a metaroce conn show)" ""

# --- the module goes while somebody listens
spawn a metaroce monitor >"$scratch/events"
monitor=$pid
wait_for 10 monitor_waits
check "rmmod while monitor listens" wait_for 5 modprobe -r metaroce
check "monitor is not disturbed" kill -0 "$monitor"
