#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# lint.sh [LINTER...]: runs linters, one line of TAP each:
#   warnings sparse checkpatch clang-tidy-kernel clang-tidy-user shellcheck rules spec
# What they may let pass is listed, with reasons, in lint.conf.
set -uo pipefail
. "$(dirname "$0")/../selftests/lab/env.sh"
cd "$ROOT" || exit
conf=scripts/lint.conf
driver=drivers/infiniband/sw/metaroce
kernel=${KERNELS##* } # the newest
copy=$BUILD/module/$kernel
logs=$BUILD/lint
mkdir -p "$logs"

# sources PATTERN FOLDER...: of this tree, without what is generated
sources() {
	local pat=$1 f
	shift
	for f; do
		[ ! -e "$f" ] || find "$f" \( -name build -o -name generated \) -prune -o \
			-name "$pat" ! -name '*.mod.c' -type f -print
	done | sort
}

# allowed LINTER: drops lines "path:line: ...CHECK..." that lint.conf lets pass
allowed() {
	awk -v linter="$1" -v conf=$conf -v root="$ROOT/" -v copy="$copy/" '
		function glob(p,    r) {
			r = p
			gsub(/[.+()]/, "\\\\&", r)
			gsub(/\*/, ".*", r)
			return "^" r "$"
		}
		BEGIN {
			while ((getline line <conf) > 0) {
				if (line ~ /^#/ || split(line, w, / +\| +/) < 5) continue
				if (w[1] == linter) {
					n++; path[n] = glob(w[2]); what[n] = w[3]; source[n] = w[4]
				}
			}
		}
		{
			sub("^" copy, ""); sub("^" root, "")
			split($0, f, ":")
			text = ""
			for (i = 0; i < f[2]; i++)
				if ((getline text <f[1]) <= 0) break
			close(f[1])
			for (i = 1; i <= n; i++)
				if (f[1] ~ path[i] && (what[i] == "*" || index($0, what[i])) &&
				    text ~ source[i]) next
			print
		}'
}

# verdict NAME STATUS LOG: fails by status, or if the log has something in it
verdict() {
	if [ "$2" = 0 ] && [ ! -s "$3" ]; then
		echo "ok - lint: $1"
	else
		echo "not ok - lint: $1"
		head -100 "$3" | sed 's/^/# | /'
		[ "$(wc -l <"$3")" -le 100 ] || echo "# | ... all in $3"
	fi
}

lint_warnings() {
	local rc=0
	selftests/lab/build-module.sh "$kernel" >"$logs/warnings" 2>&1 || rc=$?
	[ $rc != 0 ] || : >"$logs/warnings"
	verdict "W=1 -Werror" $rc "$logs/warnings"
}

lint_sparse() {
	local rc=0
	selftests/lab/build-module.sh "$kernel" -k C=2 CF=-Wsparse-error modules \
		>"$logs/sparse" 2>&1 || rc=$?
	verdict "sparse" $rc "$logs/sparse"
}

lint_checkpatch() {
	local files rc=0
	# with what scripts/ynl.sh wants: the package they come from is large
	selftests/lab/kernels.sh --source scripts/checkpatch.pl scripts/spelling.txt \
		scripts/const_structs.checkpatch tools/net/ynl/ynl-gen-c.py \
		tools/net/ynl/lib/{__init__,nlspec,ynl}.py \
		Documentation/netlink/genetlink-legacy.yaml >&2 ||
		{ echo "not ok - lint: checkpatch.pl is fetched"; return; }
	files=$({ sources '*.c' drivers include; sources '*.h' drivers include; })
	# shellcheck disable=SC2086 # one word per file
	perl "$CACHE/linux-source/scripts/checkpatch.pl" --no-tree --strict --terse \
		--no-summary --show-types --file $files \
		>"$logs/checkpatch.all" 2>"$logs/checkpatch.err" || rc=$?
	rm -f .checkpatch-camelcase.*
	if [ $rc -gt 1 ]; then # 1: it found something
		verdict "checkpatch --strict" $rc "$logs/checkpatch.err"
		return
	fi
	allowed checkpatch <"$logs/checkpatch.all" >"$logs/checkpatch"
	verdict "checkpatch --strict" 0 "$logs/checkpatch"
}

# tidy FILE [compiler argument...]: clang-tidy's findings on one file
tidy() {
	local f=$1 off
	shift
	off=$(awk -F' *[|] *' '$1 == "clang-tidy" && $2 == "*" && $4 == "." { printf ",-%s", $3 }' $conf)
	clang-tidy-14 --quiet --checks="-*,clang-analyzer-*,bugprone-*$off" "$f" "$@" 2>&1 |
		grep -aE ': (warning|error):' | sort -u
}

# tidy_kernel OBJECT_CMD: with the flags kbuild used, without those clang lacks
tidy_kernel() {
	local cmd=$1 src args=() arg words
	src=$(sed -n 's/^source_[^ ]* := //p' "$cmd")
	[ -e "$src" ] || return # it left the tree
	words=$(sed -n '1s/^[a-z]*_[^ ]* := *[^ ]* //p' "$cmd" | sed 's/ ; .*//')
	eval "words=($words)"
	for arg in "${words[@]}"; do
		case $arg in
		-Wp,* | -fconserve-stack | -fno-allow-store-data-races | \
		-mfunction-return=* | -mindirect-branch* | \
		-mpreferred-stack-boundary=* | -mrecord-mcount | -mharden-sls=* | \
		-ftrivial-auto-var-init=* | -falign-* | -fpatchable-* | -W* | \
		-c | -o | *.o | "$src") ;;
		*) args+=("$arg") ;;
		esac
	done
	cd "$CACHE/kernels/$kernel/headers" &&
	tidy "$src" -- "${args[@]}" -Wno-unknown-warning-option \
		-Wno-everything -Wno-ignored-optimization-argument
}
export -f tidy tidy_kernel
export copy kernel conf=$ROOT/scripts/lint.conf

lint_clang-tidy-kernel() {
	local n
	[ -d "$copy" ] || selftests/lab/build-module.sh "$kernel" >/dev/null 2>&1
	find "$copy/$driver" -name '.*.o.cmd' ! -name '.*.mod.o.cmd' \
		-exec grep -l '^source_' {} + >"$logs/kernel-objects"
	xargs -r -P"$JOBS" -n1 bash -c 'tidy_kernel "$0"' <"$logs/kernel-objects" |
		sort -u | allowed clang-tidy >"$logs/clang-tidy-kernel"
	n=$(wc -l <"$logs/kernel-objects")
	if [ "$n" = 0 ]; then
		echo "not ok - lint: clang-tidy (kernel): there are objects to look at"
		return
	fi
	verdict "clang-tidy (kernel, $n objects)" 0 "$logs/clang-tidy-kernel"
}

lint_clang-tidy-user() {
	local out=$BUILD/lint-user rc=0 n
	mkdir -p "$out"
	# with sanitizers, for the provider's tests exist only so
	cmake -S tools -B "$out" -DMROCE_TESTS=ON -DMROCE_SANITIZE=ON \
		>"$logs/clang-tidy-user" 2>&1 || rc=$?
	if [ $rc = 0 ]; then
		# shellcheck disable=SC2016 # expanded by the inner shell
		sed -n 's/^ *"file": "\(.*\)",\?$/\1/p' "$out/compile_commands.json" |
			sort -u >"$logs/user-files"
		xargs -r -P"$JOBS" -n1 bash -c 'tidy "$1" -p "$0"' "$out" \
			<"$logs/user-files" | sort -u |
			allowed clang-tidy >"$logs/clang-tidy-user"
	fi
	n=$(wc -l <"$logs/user-files")
	verdict "clang-tidy (user space, $n files)" $rc "$logs/clang-tidy-user"
}

lint_shellcheck() {
	local files
	files=$({ sources '*.sh' drivers scripts selftests tools userspace; ls .ci/run 2>/dev/null; })
	# shellcheck disable=SC2086 # one word per file
	shellcheck -f gcc -S warning $files 2>&1 | allowed shellcheck >"$logs/shellcheck"
	verdict "shellcheck" 0 "$logs/shellcheck"
}

# our own rules, as far as a search can check them
lint_rules() {
	local all f log=$logs/rules
	all=$(for f in drivers include userspace tools selftests scripts; do
		[ ! -d $f ] || find $f -name generated -prune -o -type f -print
	      done | grep -E '\.([ch]|cc|hh|sh|txt)$|/Kbuild$|/Makefile$')
	: >"$log"
	for f in $all Makefile Kbuild; do
		head -3 "$f" | grep -q 'SPDX-License-Identifier: ' ||
			echo "$f: no SPDX line on top"
		case $f in
		*.c | *.h | *.cc | *.hh)
			[ "$(wc -l <"$f")" -le 850 ] || echo "$f: $(wc -l <"$f") lines" ;;
		esac
	done >>"$log"
	grep -rnE 'LINUX_VERSION_[C]ODE|KERNEL_[V]ERSION' drivers include --include='*.[ch]' |
		grep -v "^$driver/compat/" >>"$log"
	grep -rsnE '(ifn?def|defined).*__KERNEL__' drivers include userspace tools |
		grep -v '^include/metaroce/port.h:' >>"$log"
	# brackets: so that the patterns do not find themselves
	grep -rsnwE '[T]ODO|[F]IXME|[X]XX' drivers include userspace tools selftests scripts \
		--include='*.[ch]' --include='*.cc' --include='*.sh' >>"$log"
	grep -rsnE '\b([p]kill|[k]illall)\b' drivers userspace tools selftests scripts \
		Makefile .ci >>"$log"
	verdict "the tree's own rules" 0 "$log"
}

# the specification, its vectors and who cites it agree
lint_spec() {
	local rc=0
	python3 Documentation/spec/check.py >"$logs/spec" 2>&1 || rc=$?
	[ $rc != 0 ] || : >"$logs/spec"
	verdict "the specification" $rc "$logs/spec"
	rc=0
	scripts/ynl.sh --check >"$logs/ynl" 2>&1 || rc=$?
	[ $rc != 0 ] || : >"$logs/ynl"
	verdict "what is made from the netlink specification" $rc "$logs/ynl"
}

[ $# -gt 0 ] || set -- warnings sparse checkpatch clang-tidy-kernel \
	clang-tidy-user shellcheck rules spec
for linter; do
	declare -F "lint_$linter" >/dev/null ||
		{ echo "no such linter: $linter" >&2; exit 2; }
	"lint_$linter"
done
