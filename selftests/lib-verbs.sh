# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced after lab/guest.sh by suites that let two verbs programs talk:
#
#	check_pair NAME SERVER_HOST CLIENT_HOST server words -- client words
#
# In the words, @PORT is a port of this pair's own. Both programs must succeed.
# No two pairs share a port, so nothing that lingers disturbs the next.

_pair_port=20000
pair_limit=300	# seconds for a client

# listens HOST PORT PID: process PID of the host has a TCP socket or an rdma_cm listener
listens() {
	_tcp_listens "$2" "$3" ||
		[[ $(on "$1" rdma resource show cm_id) =~ LISTEN[^$'\n']*:$2($'\n'|\ |$) ]]
}
_tcp_listens() { # PORT PID; no process is started: see nap
	local hex address state file
	printf -v hex %04X "$1"
	for file in tcp tcp6; do
		while read -r _ address _ state _; do
			[[ $address == *:$hex && $state == 0A ]] && return
		done <"/proc/$2/net/$file"
	done
	return 1
}
_up_or_gone() { listens "$@" || ! kill -0 "$3"; }

# run_pair: like check_pair without NAME; returns a status. Output:
# $scratch/server, $scratch/client
run_pair() {
	local sh=$1 ch=$2 words=() port server rc src
	shift 2
	_pair_port=$((_pair_port + 1))
	port=$_pair_port
	while [ "$1" != -- ]; do
		words+=("${1//@PORT/$port}")
		shift
	done
	shift
	: >"$scratch/client"
	spawn "$sh" "${words[@]}" >"$scratch/server" 2>&1 </dev/null
	server=$pid
	wait_for 60 _up_or_gone "$sh" "${listen_port:-$port}" "$server"
	on "$ch" timeout -k 5 "$pair_limit" "${@//@PORT/$port}" \
		>"$scratch/client" 2>&1 </dev/null
	rc=$?
	if [ $rc = 0 ]; then
		reap "$server" 60
		src=$?
	else # it may wait for ever for a client that failed
		reap "$server" 2
		src=$?
	fi
	[ $rc = 0 ] || echo "client: status $rc: ${*//@PORT/$port}" >>"$scratch/client"
	[ $src = 0 ] || echo "server: status $src: ${words[*]}" >>"$scratch/server"
	[ $rc = 0 ] && [ $src = 0 ]
}

# show_ends WHO FILE: the first lines (an unbuffered stderr comes before all of stdout) and the last
show_ends() {
	awk -v who="$1" '{ line[NR] = $0 } END {
		for (i = 1; i <= NR; i++)
			if (i <= 12 || i > NR - 12)
				print "# " who " | " line[i]
			else if (i == 13)
				print "# " who " | [...]"
	}' "$2"
}

check_pair() {
	local name=$1
	shift
	if run_pair "$@"; then
		ok "$name"
		return
	fi
	nok "$name"
	show_ends client "$scratch/client"
	show_ends server "$scratch/server"
}

# check_perftest NAME SERVER_HOST CLIENT_HOST ADDRESS PROGRAM [argument...]:
# devices m<host>, GIDs of the hosts' eth0 unless -R or -x is given
declare -A _gid_of_host
check_perftest() {
	local name=$1 sh=$2 ch=$3 to=$4 prog=$5 sx=() cx=() h
	shift 5
	case " $* " in
	*" -R "* | *" -x "*) ;;
	*)
		for h in "$sh" "$ch"; do # asked once: it does not change
			[ -n "${_gid_of_host[$h]:-}" ] ||
				_gid_of_host[$h]=$(gid_index "$h" "m$h" "$(addr "$h" eth0)")
		done
		sx=(-x "${_gid_of_host[$sh]}")
		cx=(-x "${_gid_of_host[$ch]}")
		;;
	esac
	check_pair "$name" "$sh" "$ch" \
		"$prog" -d "m$sh" "${sx[@]}" -F -p @PORT "$@" -- \
		"$prog" -d "m$ch" "${cx[@]}" -F -p @PORT "$@" "$to"
}

# check_verify NAME SERVER_HOST CLIENT_HOST ADDRESS [client argument...]: our
# verifier, which looks at every byte
check_verify() {
	local name=$1 sh=$2 ch=$3 to=$4
	shift 4
	check_pair "$name" "$sh" "$ch" \
		metaroce-verify -d "m$sh" --listen -p @PORT -- \
		metaroce-verify -d "m$ch" -p @PORT "$@" "$to"
	grep -h '^metaroce-verify: OK' "$scratch/client" | sed 's/^/# /'
}

# counter DEVICE NAME: a driver's counter
counter() {
	local file=/sys/class/infiniband/$1/ports/1/hw_counters/$2 n
	if [ -e "$file" ]; then
		read -r n <"$file" && echo "$n"
	else # of another namespace, in exclusive mode
		rdma statistic show link "$1/1" | tr ' ' '\n' |
			awk -v n="$2" 'p == n { print; exit } { p = $0 }'
	fi
}

# gids_ready HOST DEVICE ADDRESS: the GID of that address has appeared
gids_ready() { wait_for 10 gid_index "$@"; }

# two_hosts [MTU]: a (device ma) and b (mb), connected by their eth0
two_hosts() {
	host_add a b &&
	link_add a eth0 b eth0 "${1:-1500}" &&
	mroce_link a ma eth0 && mroce_link b mb eth0 &&
	gids_ready a ma "$(addr a eth0)" && gids_ready b mb "$(addr b eth0)"
}
