#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# build-module.sh [--kunit] 6.1|6.12|HEADERS_DIR [make argument...]
#
# Builds metaroce.ko against a fetched kernel, or against any folder of kernel
# headers (/lib/modules/$(uname -r)/build), in a copy of the sources made of
# symbolic links: $BUILD/module/NAME. Repeated builds are incremental; files
# that left the source tree leave the copy.
#
# For a fetched kernel it also makes $BUILD/module/NAME/.root: a module tree
# with the kernel's own modules and ours, which the lab's guests mount.
#
# With a make target other than the default (C=2 ...) see scripts/lint.sh. With --kunit the
# module has its KUnit suites in it, and is built in $BUILD/module/NAME-kunit.
set -euo pipefail
. "$(dirname "$0")/env.sh"

kunit=
[ "${1:-}" != --kunit ] || { kunit=yes; shift; }
[ $# -ge 1 ] || { sed -n '4,16s/^# \?//p' "$0" >&2; exit 2; }
which=$1
shift

if [ -d "$which" ]; then
	kdir=$(readlink -f "$which")
	name=$(basename "$kdir")
	[ "$name" != build ] || name=$(basename "$(dirname "$kdir")")
	kernel=
else
	kernel=$CACHE/kernels/$which
	kdir=$kernel/headers
	name=$which
	[ -e "$kernel/release" ] || "$(dirname "$0")/kernels.sh" "$which"
fi
out=$BUILD/module/$name${kunit:+-kunit}
driver=drivers/infiniband/sw/metaroce
mkdir -p "$out"
exec 9>"$out/.lock"
flock 9

# the copy: new files in, lost ones out
for top in Kbuild drivers include; do
	cp -asuf "$ROOT/$top" "$out/"
done
find "$out" -xtype l ! -path "$out/.root/*" -print -delete |
	sed "s|^$out/|gone: |"

# answers made in the source tree (by a build without this script) stay there
generated=$out/$driver/compat/generated
[ ! -d "$generated" ] || find "$generated" -type l -delete
bash "$out/$driver/compat/probe.sh" "$kdir" "$generated"

# 6.12's headers ask for pahole to make BTF, which nobody needs here.
args=(W=1 KCFLAGS=-Werror CONFIG_DEBUG_INFO_BTF_MODULES=)
[ -z "$kunit" ] || args+=(CONFIG_METAROCE_KUNIT_TEST=y)
make -s -C "$kdir" M="$out" -j"$JOBS" "${args[@]}" "${@:-modules}" 9>&-

[ -n "$kernel" ] || exit 0
ko=$out/$driver/metaroce.ko
[ -e "$ko" ] || exit 0
rel=$(cat "$kernel/release")
mods=$out/.root/lib/modules/$rel
if ! cmp -s "$ko" "$mods/updates/metaroce.ko"; then
	mkdir -p "$mods/updates"
	ln -sfn "$kernel/lib/modules/$rel/kernel" "$mods/kernel"
	cp "$kernel/lib/modules/$rel"/modules.{builtin,builtin.modinfo,order} "$mods/"
	cp "$ko" "$mods/updates/.new" # a guest may read the old one
	mv "$mods/updates/.new" "$mods/updates/metaroce.ko"
	depmod -b "$out/.root" "$rel"
fi
