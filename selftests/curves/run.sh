#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# run.sh [TABLE...]: measures the tables (default: all) in the virtual-time laboratory and
# writes Documentation/results/curves.md, curves.json and plots. Fails when a figure is worse
# than the one in curves-golden.json by more than that file tolerates.
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

order=(clean loss burstloss tail distance reorder qps incast noecn memory)
tables=("$@")
[ $# -gt 0 ] || tables=("${order[@]}")

commit=$(git -C "$ROOT" rev-parse --short=12 HEAD)
git -C "$ROOT" diff --quiet HEAD -- . ':!Documentation/results' || commit+=-dirty
kernel=$("$vt/kernel.sh")
release=$(cat "$kernel/include/config/kernel.release")
today=$(date -u +%Y-%m-%d)
for table in "${tables[@]}"; do
	# shellcheck disable=SC1090
	(. "$here/$table.sh" && table_cells) >"$cache/$table.new"
	mv "$cache/$table.new" "$cache/$table.metrics"
	echo "$commit $today" >"$cache/$table.when"
done

# All tables that were ever measured, each with its commit.
known=()
for table in "${order[@]}"; do
	[ ! -s "$cache/$table.when" ] || known+=("$table")
done
{
	cat <<-END
		<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->
		# Curves

		Measured by \`make curves\` in User-Mode Linux $release in virtual time: the real driver on processors that are infinitely
		fast, so that what is missing to the line is the protocol's. Loss hits packets (segmentation is off where they leave a host), in
		both directions, one hop behind the line's rate. Goodput is payload. netem's losses come from no seed: figures with loss
		differ by some tenths between runs. \`curves.json\` says at which commit each table was measured.
	END
	for table in "${known[@]}"; do
		# shellcheck disable=SC1090
		(. "$here/$table.sh" && table_report "$cache/$table.metrics" "$results")
	done
} >"$results/curves.md"
for table in "${known[@]}"; do
	sed -n "s/^metric \(.*\) \(.*\)$/{\"metrics\": {\"\1\": \2}}/p" "$cache/$table.metrics"
	read -r at when <"$cache/$table.when"
	echo "{\"tables\": {\"$table\": {\"commit\": \"$at\", \"date\": \"$when\"}}}"
done | jq -s --arg kernel "$release" '{about: {kernel: ("um " + $kernel), command: "make curves", tables: map(.tables // {}) | add},
	metrics: map(.metrics // {}) | add}' >"$results/curves.json"
say "written: Documentation/results/curves.md, curves.json and plots"

# Only what was measured now is compared.
for table in "${tables[@]}"; do cat "$cache/$table.metrics"; done | "$here/compare.sh" >&2
