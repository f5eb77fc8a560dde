#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# record.sh NAME TAP-FILE: puts a section with the results of a run on top of
# Documentation/results/NAME.md. Lines that begin with `# ` and a word in
# $figures are figures; of the tests it keeps counts and every failure.
set -euo pipefail
. "$(dirname "$0")/lab/env.sh"
. "$ROOT/selftests/lab/tap.sh"
[ $# = 2 ] || { sed -n '4,6s/^# \?//p' "$0" >&2; exit 2; }
name=$1 tap=$2
out=$ROOT/Documentation/results/$name.md
figures='metaroce-verify: OK|the slowest took|m[ab]: [0-9]+ packets|[0-9a-z-]+: [0-9]+ s$|m[ab] [a-z_]+ [0-9]+$'

commit=$(git -C "$ROOT" rev-parse --short=12 HEAD)
git -C "$ROOT" diff --quiet HEAD -- . ':!Documentation/results' || commit+=-dirty
read -r passed failed skipped <<<"$(tap_count "$tap")"
new=$(mktemp)
trap 'rm -f "$new"' EXIT
{
	echo "<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->"
	echo "# $name"
	echo
	echo "## $(date -u +%Y-%m-%d), commit $commit"
	echo
	echo "- machine: $(nproc) x $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)," \
		"guests by $(tail -1 "$CACHE/accel" 2>/dev/null || echo unknown)"
	for k in $KERNELS; do
		echo "- kernel $k: $(cat "$CACHE/kernels/$k/release" 2>/dev/null || echo not fetched)"
	done
	echo "- **$passed passed, $failed failed, $skipped skipped**"
	echo
	if [ "$failed" != 0 ]; then
		grep -aE '^not ok' "$tap" | sed 's/^/    /'
		echo
	fi
	grep -aE "^# (suite .* on |$figures)" "$tap" | sed 's/^# suite \(.*\)/\n### \1\n/; s/^# /    /'
	if [ -e "$out" ]; then
		echo
		sed '1,/^# /d' "$out" | sed '/./,$!d'
	fi
} >"$new"
cat "$new" >"$out"
echo "# recorded in ${out#"$ROOT/"}"
