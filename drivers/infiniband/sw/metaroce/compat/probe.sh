#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# probe.sh KERNEL_HEADERS OUTPUT_DIR
#
# Asks a kernel's headers which of the APIs that changed over time they have.
# Each compat/probes/NAME.c uses one API; if it compiles without warnings, and
# the kernel exports every symbol its object wants (Module.symvers), then
# OUTPUT_DIR/mroce_probes.h says `#define MROCE_HAVE_<NAME> 1`.
#
# Asking the headers, and never a version number, is what works: distributions
# backport. The header is rewritten only if an answer changed.
set -euo pipefail

kdir=$(readlink -f "$1")
out=$2
probes=$(cd "$(dirname "$0")" && pwd -P)/probes
header=$out/mroce_probes.h

[ -f "$kdir/Makefile" ] || { echo "probe.sh: no kernel headers in $1" >&2; exit 1; }
mkdir -p "$out"

# the question: compiler, headers, probes; the same one needs no second answer
stamp=$(
	"${CC:-gcc}" -dumpfullversion
	printf '%s\n' "$kdir"
	cat "$kdir/include/generated/autoconf.h" "$kdir/Module.symvers" \
		"$kdir/include/config/kernel.release" 2>/dev/null | cksum
	cat "$0" "$probes"/*.c | cksum
)
if [ -f "$header" ] && [ "$stamp" = "$(cat "$out/.stamp" 2>/dev/null)" ]; then
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# resolve links: the probes may lie in a tree of symbolic links
cp -L "$probes"/*.c "$work/"
# one that must compile and one that must not: a broken tool chain is no answer
echo '#include <linux/module.h>' >"$work/self_good.c"
printf '#include <linux/module.h>\nint f(void) { return mroce_no_such(); }\n' \
	>"$work/self_bad.c"
objs=
for c in "$work"/*.c; do
	c=${c##*/}
	objs="$objs ${c%.c}.o"
done
echo "obj-m :=$objs" >"$work/Kbuild"
# shellcheck disable=SC2086 # one word per object
make -k -s -C "$kdir" M="$work" KCFLAGS=-Werror CONFIG_DEBUG_INFO_BTF_MODULES= \
	-j"$(nproc)" $objs >"$work/log" 2>&1 || :

exports=$work/exports
if [ -s "$kdir/Module.symvers" ]; then
	cut -f2 "$kdir/Module.symvers" | sort -u >"$exports"
else
	echo "probe.sh: $kdir has no Module.symvers: exports are not looked at" >&2
fi

# works NAME: compiled, and links against what this kernel exports
works() {
	[ -f "$work/$1.o" ] || return 1
	[ -f "$exports" ] || return 0
	"${NM:-nm}" -u "$work/$1.o" | awk '{ print $2 }' | sort -u |
		comm -23 - "$exports" | grep -v '^_GLOBAL_OFFSET_TABLE_$' \
		>"$work/$1.missing" || :
	[ ! -s "$work/$1.missing" ]
}

if ! works self_good || works self_bad; then
	echo "probe.sh: this compiler and these headers build nothing:" >&2
	tail -20 "$work/log" >&2
	exit 1
fi

{
	echo '/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */'
	echo '/* Made by compat/probe.sh. */'
	echo '#ifndef MROCE_PROBES_H'
	echo '#define MROCE_PROBES_H'
	echo
	for c in "$probes"/*.c; do
		name=${c##*/}
		name=${name%.c}
		if works "$name"; then
			echo "#define MROCE_HAVE_${name^^} 1"
		else
			echo "/* no ${name^^} */"
		fi
	done
	echo
	echo '#endif'
} >"$work/mroce_probes.h"
cmp -s "$work/mroce_probes.h" "$header" || cp "$work/mroce_probes.h" "$header"
cp "$work/log" "$out/probe.log"
echo "$stamp" >"$out/.stamp"
