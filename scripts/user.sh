#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# user.sh build [TARGET...]  builds programs and provider into $BUILD/user
# user.sh tests              builds and runs the unit tests, with sanitizers
#                            and optimised; prints TAP
set -euo pipefail
. "$(dirname "$0")/../selftests/lab/env.sh"

configure() { # FOLDER OPTION...
	local out=$BUILD/$1
	shift
	mkdir -p "$out"
	cmake -S "$ROOT/tools" -B "$out" "$@" >"$out/configure.log" 2>&1 ||
		{ cat "$out/configure.log" >&2; return 1; }
}

# folder CONFIGURATION: the optimised tests are built where the programs are, from the same objects
folder() { [ "$1" = release ] && echo user || echo "test-$1"; }

# run_gtest CONFIGURATION NAME PROGRAM...: one result per test, also if the
# program dies in the middle of one
run_gtest() {
	local pre="$1 $2" log rc=0
	log=$BUILD/$(folder "$1")/$2.log
	shift 2
	"$@" --gtest_color=no >"$log" 2>&1 </dev/null || rc=$?
	awk -v pre="$pre" -v rc="$rc" '
		/^\[ RUN      \]/ { running = $4; text = ""; next }
		/^\[       OK \]/ { print "ok - " pre ": " $4; n++; running = ""; next }
		/^\[  SKIPPED \]/ && running { gsub(/\n/, " ", text); print "ok - " pre ": " $4 " # SKIP " text; running = ""; next }
		/^\[  FAILED  \]/ && running {
			print "not ok - " pre ": " $4
			gsub(/\n/, "\n# | ", text)
			print "# | " text
			f++; running = ""; next
		}
		running { text = text $0 "\n" }
		END {
			if (running) {
				print "not ok - " pre ": " running " (died, status " rc ")"
				gsub(/\n/, "\n# | ", text)
				print "# | " text
			} else if (rc && !f) {
				print "not ok - " pre ": status " rc
			} else if (!n && !f)
				print "not ok - " pre ": no test in it"
		}' "$log"
}

# run_other CONFIGURATION NAME PROGRAM...: a test that is just an exit status
run_other() {
	local pre="$1 $2" log rc=0
	log=$BUILD/$(folder "$1")/$2.log
	shift 2
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	if [ $rc = 0 ]; then
		echo "ok - $pre"
	else
		echo "not ok - $pre: status $rc"
		tail -40 "$log" | sed 's/^/# | /'
	fi
}

# run_ctest CONFIGURATION: every test that CMake was told of
run_ctest() {
	local name command words
	while IFS='|' read -r name command; do
		eval "words=($command)"
		if [ ${#words[@]} = 1 ] &&
		   "${words[0]}" --gtest_list_tests 2>/dev/null </dev/null |
			grep -q '^  '; then
			run_gtest "$1" "$name" "${words[@]}"
		else
			run_other "$1" "$name" "${words[@]}"
		fi
	done < <(ctest --test-dir "$BUILD/$(folder "$1")" -N -V | awk '
		sub(/^[0-9]+: Test command: /, "") { command = $0 }
		sub(/^ *Test +#[0-9]+: /, "") { print $0 "|" command }')
}

tests() {
	local conf dir log
	for conf in asan release; do
		dir=$(folder $conf)
		log=$BUILD/$dir/build.log
		if ! configure "$dir" -DMROCE_TESTS=ON \
			-DMROCE_SANITIZE="$([ $conf = asan ] && echo ON || echo OFF)" \
			-DCMAKE_BUILD_TYPE="$([ $conf = asan ] && echo Debug || echo RelWithDebInfo)" ||
		   ! cmake --build "$BUILD/$dir" -j"$JOBS" --target mroce_tests >"$log" 2>&1; then
			echo "not ok - $conf: the unit tests build"
			[ ! -e "$log" ] || grep -E -A5 'error|Error' "$log" | head -60 | sed 's/^/# | /'
			continue
		fi
		run_ctest $conf >"$BUILD/$dir/tap"
		cat "$BUILD/$dir/tap"
		[ -s "$BUILD/$dir/tap" ] || echo "not ok - $conf: there are unit tests"
	done
}

case ${1:-} in
build)
	shift
	configure user
	cmake --build "$BUILD/user" -j"$JOBS" ${1:+--target "$@"}
	;;
tests) tests ;;
*) sed -n '4,7s/^# \?//p' "$0" >&2; exit 2 ;;
esac
