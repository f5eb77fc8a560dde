#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# compare.sh [--tap | --update] <METRICS: compares `metric ID VALUE` lines with
# Documentation/results/curves-golden.json, {ID: {value, tolerance, better}}, tolerance in the
# metric's unit. Status 1 if one is worse by more than that. Ids that have no
# golden value are not judged.
#
#   --tap       a line of TAP for each; by default only what is worse, or better by as much
#   --update    takes these values as golden: old ids keep their tolerance, new ones get 0.5 %, or
#               where losses come from no seed, what runs were seen to differ by
set -euo pipefail
golden=$(dirname "$(readlink -f "$0")")/../../Documentation/results/curves-golden.json

metrics=$(sed -n 's/^metric \(.*\) \(.*\)$/{"\1": \2}/p' | jq -s 'add // {}')
if [ "${1:-}" = --update ]; then
	jq --argjson new "$metrics" '
	def spread:
		if test("p999") then 0.3
		elif test("^(incast|noecn|distance.*loss[01.]*1\\.)|tail.loss1|spurious") then 0.1
		elif test("loss[.0-9]*[1-9]|reorder") then 0.01
		else 0.005 end;
	. as $old | . + ($new | with_entries(.key as $id | .value = {
		value: .value,
		tolerance: ($old[$id].tolerance // ([(.value | fabs) * ($id | spread), 0.005] | max | . * 1000 | round / 1000)),
		better: ($old[$id].better // (
			if $id | test("_us$|_rtts$|to_fair$|dropped|spurious|bytes|connections") then "less" else "more" end))
	}))' "$golden" >"$golden.new"
	mv "$golden.new" "$golden"
	exit
fi
verdicts=$(jq -r --argjson new "$metrics" '. as $golden | $new | to_entries[] | . as {key: $id, value: $v} | $golden[$id] |
	select(.) | (if .better == "less" then .value - $v else $v - .value end) as $gain |
	"\(if $gain < -.tolerance then "worse" elif $gain > .tolerance then "better" else "same" end) \($id) \($v) \(.value) \(.tolerance)"' \
	"$golden")
rc=0
while read -r verdict id value was tolerance; do
	[ "$verdict" != worse ] || rc=1
	case $verdict,${1:-} in
	worse,--tap) echo "not ok - curves: $id: $value, was $was, tolerance $tolerance" ;;
	*,--tap) echo "ok - curves: $id: $value, was $was" ;;
	same,*) ;;
	?*,*) echo "# curves: $verdict: $id: $value, was $was, tolerance $tolerance" ;;
	esac
done <<<"$verdicts"
exit $rc
