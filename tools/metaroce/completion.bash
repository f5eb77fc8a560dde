# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Completion of metaroce(8) for bash; installed as
# /usr/share/bash-completion/completions/metaroce.

# _metaroce_ids PATTERN ARGUMENT...: what follows PATTERN in the output of `metaroce ARGUMENT...`
_metaroce_ids() {
	local pattern=$1
	shift
	metaroce "$@" 2>/dev/null | sed -n "s/$pattern/\\1/p"
}

_metaroce() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=() w
	for w in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $w in -*) ;; *) words+=("$w") ;; esac
	done
	local list="" devs="_metaroce_ids ^\([^:[:space:]]*\):.*" params="max-burst probe-floor delay-target init-paths max-paths"
	case "${words[*]:0:2}" in
	"") list="show conn path plane set monitor top --json" ;;
	show) list=$($devs show) ;;
	conn | path) list=show ;;
	"conn show" | "path show")
		case $prev in
		dev) list=$($devs show) ;;
		cid) list=$(_metaroce_ids '^[^ ]* cid \(0x[0-9a-f]*\).*' conn show) ;;
		*) list="dev cid" ;;
		esac
		;;
	plane) list="show add del" ;;
	"plane show")
		if [ "$prev" = dev ]; then list=$($devs show); else list=dev; fi
		;;
	"plane add" | "plane del")
		case ${#words[@]} in
		2) list=$($devs show) ;;
		3) list=netdev ;;
		4) list=$(ls /sys/class/net) ;;
		esac
		;;
	set) list=dev ;;
	"set dev")
		if [ ${#words[@]} = 2 ]; then
			list=$($devs show)
		elif [ $((${#words[@]} % 2)) = 1 ]; then
			list=$params
		fi
		;;
	monitor*) list="--count --json" ;;
	top*) list="--once --interval --json" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
}
complete -F _metaroce metaroce
