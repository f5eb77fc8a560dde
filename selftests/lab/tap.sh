# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced: runs programs that print TAP, and counts.

# suite_opt FILE KEY DEFAULT: from the suite's line `# LAB: key=value ...`
suite_opt() {
	local words w
	words=$(sed -n 's/^# LAB: *//p' "$1" | head -1)
	for w in $words; do
		case $w in "$2"=*) echo "${w#*=}"; return ;; esac
	done
	echo "$3"
}

# tap_run NAME SECONDS COMMAND...: prints what COMMAND prints, then `not ok`
# for what TAP itself does not say: it died, hung, or lost some of its tests
tap_run() {
	local name=$1 limit=$2 log rc verdict
	shift 2
	log=$(mktemp)
	rc=0
	timeout -k 10 "$limit" "$@" </dev/null 2>&1 | tee "$log"
	rc=${PIPESTATUS[0]}
	verdict=$(awk -v rc="$rc" -v limit="$limit" '
		/^ok([ \t]|$)/ { ran++ }
		/^not ok([ \t]|$)/ { ran++; failed++ }
		/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1 }
		END {
			if (rc == 124 || rc == 137) print "ended after " limit " s"
			else if (planned && plan != ran + 0)
				print "planned " plan " tests, ran " ran + 0 ", status " rc
			else if (rc && !failed) print "exit status " rc
			else if (!ran && !planned) print "no test in it"
		}' "$log")
	rm -f "$log"
	[ -z "$verdict" ] || echo "not ok - $name: $verdict"
}

# ktap_results FILE: the KUnit suites in a kernel's log, one result for each case with what it said
# if it failed; and failures for what did not run to its end. A case with parameters is one result.
ktap_results() {
	sed -E 's/^\[ *[0-9]+\.[0-9]+\] //' "$1" | awk '
		function result(ok, name) { print (ok ? "ok" : "not ok") " - " name; said = "" }
		function fail(name) {
			printf "%s", said
			result(0, name)
		}
		/^1\.\.[0-9]+$/ { suites += substr($0, 4); next }
		/^    # Subtest: / {
			if (suite != "") fail(suite ": ran to its end")
			suite = substr($0, 16); plan = -1; cases = failed = 0; said = ""
			next
		}
		suite == "" { next }
		/^    1\.\.[0-9]+$/ { plan = substr($0, 8) + 0; next }
		/^    (not )?ok [0-9]+ / {
			good = $1 == "ok"
			cases++; failed += !good
			sub(/^    (not )?ok [0-9]+ /, "")
			if (good) result(1, suite ": " $0); else fail(suite ": " $0)
			next
		}
		/^(not )?ok [0-9]+ / {
			if (cases != plan) fail(suite ": planned " plan " cases, ran " cases)
			else if ($1 == "not" && !failed) fail(suite ": before or after its cases")
			ended++; suite = ""
			next
		}
		{ said = said "# | " $0 "\n" }
		END {
			if (suite != "") fail(suite ": ran to its end")
			else if (!ended) result(0, "kunit: a suite ran")
			else if (ended != suites) result(0, "kunit: of " suites + 0 " suites ended " ended)
		}'
}

# tap_count FILE...: "passed failed skipped"
tap_count() {
	awk '
		/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { s++; next }
		/^ok([ \t]|$)/ { if (/# *[Ss][Kk][Ii][Pp]/) s++; else p++ }
		/^not ok([ \t]|$)/ { f++ }
		END { print p + 0, f + 0, s + 0 }' "$@"
}
