#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# run.sh [TABLE...]: measures the tables (default: all) in the virtual-time laboratory and
# writes Documentation/results/curves.md, curves.json and a plot for each.
#
# A table is TABLE.sh beside this file. On the host it is sourced and names its cells; in
# a guest it measures one. Cells are cached in $BUILD/curves by a hash of what they depend on, so
# a run that was stopped goes on where it was. A cell prints `metric ID VALUE` lines, and
# `point CURVE X Y` lines for a plot.
set -euo pipefail
. "$(dirname "$0")/../lab/env.sh"
here=$ROOT/selftests/curves
vt=$ROOT/selftests/lab/vt
cache=$BUILD/curves
results=$ROOT/Documentation/results
mkdir -p "$cache"

say() { printf '# curves: %s\n' "$*" >&2; }

# what every figure depends on
sources=$(cd "$ROOT" && find drivers include tools/bench tools/common userspace/provider selftests/lab/vt \
	selftests/lab/guest.sh -type f ! -path '*/generated/*' ! -name '*_test.cc' | sort |
	xargs cat | cksum | cut -d' ' -f1)

# cell TABLE ARGUMENT...: its metrics, on stdout
cell() {
	local table=$1 name file start=$SECONDS
	shift
	name=$(tr ' /' '__' <<<"$table $*")
	file=$cache/$name.$sources-$(cat "$here/lib.sh" "$here/$table.sh" | cksum | cut -d' ' -f1)
	if [ ! -s "$file" ]; then
		say "$table $* ..."
		if ! "$vt/run.sh" --mem "${cell_mem:-2048}" --timeout 1800 "$here/$table.sh" "$@" \
			>"$file.new" 2>"$cache/$name.err"; then
			tail -20 "$file.new" "$cache/$name.err" >&2
			say "$table $* failed"
			return 1
		fi
		grep -q '^metric ' "$file.new" || { say "$table $*: no metric"; return 1; }
		mv "$file.new" "$file"
		say "$table $*: $((SECONDS - start)) s"
	fi
	grep -E '^(metric|point) ' "$file"
}

tables=("$@")
if [ ${#tables[@]} = 0 ]; then
	for f in "$here"/*.sh; do
		case ${f##*/} in run.sh | lib.sh | smoke.sh) ;; *) tables+=("$(basename "$f" .sh)") ;; esac
	done
fi

commit=$(git -C "$ROOT" rev-parse --short=12 HEAD)
git -C "$ROOT" diff --quiet HEAD -- . ':!Documentation/results' || commit+=-dirty
kernel=$("$vt/kernel.sh")
release=$(cat "$kernel/include/config/kernel.release")
metrics=$cache/metrics
: >"$metrics.new"
{
	echo "<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->"
	echo "# Curves"
	echo
	echo "Measured by \`make curves\` on $(date -u +%Y-%m-%d), commit $commit, User-Mode Linux $release in virtual time:"
	echo "the real driver on processors that are infinitely fast, so that what is missing to the line is the protocol's."
	echo "Loss hits packets (segmentation is off where they leave a host), in both directions, one hop behind the line's rate."
	echo "Goodput is payload. netem's losses come from no seed: figures with loss differ by some tenths between runs."
} >"$cache/curves.md"
for table in "${tables[@]}"; do
	: >"$cache/$table.metrics"
	# shellcheck disable=SC1090
	(. "$here/$table.sh" && table_cells) >"$cache/$table.metrics"
	grep '^metric ' "$cache/$table.metrics" >>"$metrics.new"
	# shellcheck disable=SC1090
	(. "$here/$table.sh" && table_report "$cache/$table.metrics" "$results") >>"$cache/curves.md"
done
mv "$metrics.new" "$metrics"
cp "$cache/curves.md" "$results/curves.md"
sed 's/^metric \(.*\) \(.*\)$/{"\1": \2}/' "$metrics" | jq -s --arg commit "$commit" --arg kernel "$release" \
	--arg date "$(date -u +%Y-%m-%d)" \
	'{about: {commit: $commit, kernel: ("um " + $kernel), date: $date, command: "make curves"}, metrics: add}' \
	>"$results/curves.json"
say "written: Documentation/results/curves.md, curves.json and plots"
