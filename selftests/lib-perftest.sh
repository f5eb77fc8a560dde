# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced after lib-verbs.sh: perftest's programs and the flags that each has.

# shellcheck disable=SC2034 # for who sources this
perftest_bw=(ib_write_bw ib_read_bw ib_send_bw "ib_send_bw -c UD")
# shellcheck disable=SC2034
perftest_lat=(ib_write_lat ib_read_lat ib_send_lat "ib_send_lat -c UD")
perftest_all_q=2	# QPs where -q meets -a alone
perftest_all_n=20	# ... and turns
perftest_all_q_more=2	# QPs where it meets other flags too
perftest_version=$(dpkg-query -W -f '${Version}' perftest)

# perftest_run TEST FLAGS: one run between a and b. A combination that a program
# has not, or that was run already without the flag it has not, is left out.
declare -A _perftest_done
perftest_run() {
	local test=$1 flags="" f args n="" q=64
	for f in $2; do
		# ib_write_* never complete at the receiver: no events there
		case "$test:$f" in ib_write*:-e) continue ;; esac
		flags+=" $f"
	done
	flags=$(tr ' ' '\n' <<<"$flags" | sort | xargs)
	[ -z "${_perftest_done[$test $flags]:-}" ] || return 0
	_perftest_done[$test $flags]=1
	args=" $flags "
	case $args in
	" -a -q ") n=$perftest_all_n q=$perftest_all_q ;;
	*" -a "*"-q "*) q=$perftest_all_q_more ;;
	esac
	case $args in *" -a "* | *" -q "*) : "${n:=20}" ;; *) : "${n:=40}" ;; esac # -a: 16 MiB each
	case $test:$args in
	*_bw*:*" -e "*)
		# 4.5-0.17 takes 16 completions for an event and then sleeps, whatever is left
		# (mended by its 14955fe): so it must not have more sends than that under way.
		# A completion then stands for 8 sends, and with -b it leaves the loop by the sum
		# over its QPs: where 8 doesn't divide -n, before the last QP has posted its all.
		if [[ $perftest_version == 4.5+0.17* ]]; then
			n=24 q=2 args+=" -t 8"
		fi
		;;
	esac
	args=${args/ -q / -q $q }
	# shellcheck disable=SC2086 # words
	check_perftest "$(xargs <<<"$test $args")" b a 10.0.1.2 $test -n $n $args
}
