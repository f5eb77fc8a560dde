#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kernel.sh: builds the User-Mode Linux kernel of the virtual-time laboratory from
# Debian's linux-source-6.12 and ./config, in $CACHE/vt/KEY (KEY: of the configuration),
# unless it is there; prints that folder. It has `linux`, and is a kernel build folder for
# modules. Some three minutes on two cores.
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
# Kconfig reads the Kconfig files of all there is; most of what they are about need not be unpacked
without=(--exclude='*/Documentation/*/*' --exclude='*.dts*')
for f in sound tools/{perf,testing} drivers/{accel,gpu,iio,media,scsi,staging,usb} \
	drivers/net/{ethernet,wireless} drivers/infiniband/hw fs/{bcachefs,btrfs,ceph,smb,xfs} \
	arch/{alpha,arc,arm,arm64,csky,hexagon,loongarch,m68k,microblaze,mips,nios2,openrisc} \
	arch/{parisc,powerpc,riscv,s390,sh,sparc,xtensa}; do
	without+=(--exclude="linux-source-6.12/$f/*.[chS]")
done
"$here/../kernels.sh" --whole-source "$dir/source.new" "${without[@]}" >&2
mv "$dir/source.new" "$dir/source"

make_um() { make -s -C "$dir/source" ARCH=um O="$dir" -j"$JOBS" "$@" 9>&-; }
make_um KCONFIG_ALLCONFIG="$here/config" allnoconfig >"$dir/config.log" 2>&1 ||
	{ tail -20 "$dir/config.log" >&2; exit 1; }
# what was asked for and not had would show much later
while IFS= read -r line; do
	case $line in
	CONFIG_*) grep -qxF "$line" "$dir/.config" || { say "the kernel has not $line"; exit 1; } ;;
	esac
done <"$here/config"
say "building the kernel (some minutes; log: $dir/build.log)"
start=$SECONDS
make_um >"$dir/build.log" 2>&1 || { tail -20 "$dir/build.log" >&2; exit 1; }
say "built in $((SECONDS - start)) s"
: >"$dir/done"
echo "$dir"
