#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kernel.sh: builds the User-Mode Linux kernel of the virtual-time laboratory from
# Debian's linux-source-6.12 and ./config, in $CACHE/vt/KEY (KEY: of the configuration),
# unless it is there; prints that folder. It has `linux`, and is a kernel build folder for
# modules. Some five minutes on two cores.
set -euo pipefail
. "$(dirname "$0")/../env.sh"
here=$(dirname "$(readlink -f "$0")")

say() { printf '# vt: %s\n' "$*" >&2; }

key=$(cat "$here/config" "$0" | cksum | cut -d' ' -f1)
dir=$CACHE/vt/$key
[ ! -e "$dir/done" ] || { echo "$dir"; exit 0; }

mkdir -p "$CACHE/vt"
exec 9>"$CACHE/vt/.lock"
flock 9
[ ! -e "$dir/done" ] || { echo "$dir"; exit 0; }
rm -rf "$dir"
mkdir -p "$dir"
trap 'rm -rf "$dir/source.new"' EXIT
"$here/../kernels.sh" --whole-source "$dir/source.new" >&2
mv "$dir/source.new" "$dir/source"

make_um() { make -s -C "$dir/source" ARCH=um O="$dir" -j"$JOBS" "$@" 9>&-; }
{
	make_um x86_64_defconfig
	"$dir/source/scripts/kconfig/merge_config.sh" -O "$dir" -m "$dir/.config" "$here/config"
	make_um olddefconfig
} >"$dir/config.log" 2>&1 || { tail -20 "$dir/config.log" >&2; exit 1; }
# what was asked for and not had would show much later
while IFS= read -r line; do
	case $line in
	CONFIG_*) grep -qxF "$line" "$dir/.config" || { say "the kernel has not $line"; exit 1; } ;;
	esac
done <"$here/config"
say "building the kernel (some minutes; log: $dir/build.log)"
make_um >"$dir/build.log" 2>&1 || { tail -20 "$dir/build.log" >&2; exit 1; }
: >"$dir/done"
echo "$dir"
