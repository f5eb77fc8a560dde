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

# tap_count FILE...: "passed failed skipped"
tap_count() {
	awk '
		/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { s++; next }
		/^ok([ \t]|$)/ { if (/# *[Ss][Kk][Ii][Pp]/) s++; else p++ }
		/^not ok([ \t]|$)/ { f++ }
		END { print p + 0, f + 0, s + 0 }' "$@"
}
