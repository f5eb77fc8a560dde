#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# check.sh [STAGE...]: runs stages of the check (default: all) and prints
# `N passed, N failed` alone on the last line; fails if anything failed.
#
#   unit     unit tests of the core and the programs, two configurations
#   lint     scripts/lint.sh
#   modules  the module builds without warnings for each of $KERNELS
#   user     programs and provider build
#   vt       in User-Mode Linux: the KUnit suites, a few figures in virtual time; not by
#            default, for time: the kernel is built first
#   lab      selftests/suites/*.sh, each on each of $KERNELS
#
# $SUITES (names, without .sh) restricts the suites; LONG=yes adds the long ones,
# LONG=only takes just these. Logs: $BUILD/check/.
set -uo pipefail
. "$(dirname "$0")/../selftests/lab/env.sh"
. "$ROOT/selftests/lab/tap.sh"
cd "$ROOT" || exit

stages=${*:-unit lint modules user lab}
logs=$BUILD/check
mkdir -p "$logs"

stage_unit() { scripts/user.sh tests; }
stage_lint() { scripts/lint.sh; }

# build NAME COMMAND...: one result; the output only if it fails, or warns
build() {
	local name=$1 log
	shift
	log=$logs/build-$(basename "$1" .sh)-${2:-}.log
	if "$@" >"$log" 2>&1; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		tail -60 "$log" | sed 's/^/# | /'
	fi
}

stage_modules() {
	local k
	for k in $KERNELS; do
		build "module for $k" selftests/lab/build-module.sh "$k"
	done
}
stage_user() { build "programs and provider" scripts/user.sh build; }

# the first run builds the kernel: some minutes
stage_vt() {
	tap_run kunit 1500 selftests/kunit.sh
	tap_run curves-smoke 900 selftests/curves/smoke.sh
}

# wanted SUITE KERNEL: whether this suite is to run there
wanted() {
	local name long kernels check
	name=$(basename "$1" .sh)
	check=$(suite_opt "$1" check "")
	if [ -n "${SUITES:-}" ]; then
		case " $SUITES " in *" $name "*) ;; *) return 1 ;; esac
	else
		long=$(suite_opt "$1" long no)
		# one whose make check is on some kernels only is long on the others
		case ,$check, in ,, | *",$2,"*) ;; *) long=yes ;; esac
		case ${LONG:-no}.$long in
		no.yes)
			echo "# $name on $2: in make check-long, for time"
			return 1
			;;
		only.no) return 1 ;;
		esac
	fi
	kernels=$(suite_opt "$1" kernels "")
	case ",${kernels:-$2}," in *",$2,"*) ;; *) return 1 ;; esac
}

# boot KERNEL SMP MEM SUITE...: these suites in one guest
boot() {
	local k=$1 smp=$2 mem=$3 limit=120 s rc=0
	shift 3
	for s; do limit=$((limit + 20 + $(suite_opt "$s" timeout 300))); done
	selftests/lab/run.sh --kernel "$k" --smp "$smp" --mem "$mem" \
		--timeout $limit --out "$logs/guest-$k" \
		selftests/lab/guest-suites.sh "$@" || rc=$?
	case $rc in
	0 | 1) ;; # the suites told; 126 is a splat that none of them saw
	*) echo "not ok - guest with $k ($(basename -a -s .sh "$@" | xargs)): status $rc" ;;
	esac
}

stage_lab() {
	local k s own smp mem shared
	for s in ${SUITES:-}; do
		[ -x "selftests/suites/$s.sh" ] || echo "not ok - there is a suite $s"
	done
	for k in $KERNELS; do
		shared=()
		for s in selftests/suites/*.sh; do
			[ -x "$s" ] || { echo "not ok - $s is executable"; continue; }
			wanted "$s" "$k" || continue
			if [ "$(suite_opt "$s" where guest)" = host ]; then
				echo "# suite $(basename "$s" .sh) for $k"
				tap_run "$(basename "$s" .sh)" \
					"$(suite_opt "$s" timeout 300)" "$s" "$k"
				continue
			fi
			smp=$(suite_opt "$s" smp 2)
			mem=$(suite_opt "$s" mem 2048)
			own=$(suite_opt "$s" own-boot no)
			if [ "$own.$smp.$mem" = no.2.2048 ]; then
				shared+=("$s")
			else
				boot "$k" "$smp" "$mem" "$s"
			fi
		done
		[ ${#shared[@]} = 0 ] || boot "$k" 2 2048 "${shared[@]}"
	done
}

total_p=0 total_f=0 summary=
for stage in $stages; do
	if ! declare -F "stage_$stage" >/dev/null; then
		echo "no such stage: $stage" >&2
		exit 2
	fi
	echo "# stage $stage"
	start=$SECONDS
	"stage_$stage" 2>&1 | tee "$logs/$stage.tap"
	read -r p f s <<<"$(tap_count "$logs/$stage.tap")"
	# a stage without any result did not do its work
	if [ $((p + f + s)) = 0 ]; then
		echo "not ok - stage $stage printed no result"
		f=1
	fi
	total_p=$((total_p + p)) total_f=$((total_f + f))
	line=$(printf '%-8s %4d ok, %3d not ok, %3d skipped, %4d s' \
		"$stage" "$p" "$f" "$s" $((SECONDS - start)))
	echo "# $line"
	summary+="# $line"$'\n'
done

echo "# ----------------------------------------------------"
printf '%s' "$summary"
for stage in $stages; do
	grep -aE '^not ok' "$logs/$stage.tap" | sed 's/^/# /'
done
echo "# total: $SECONDS s"
echo "$total_p passed, $total_f failed"
[ $total_f = 0 ]
