#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# run.sh [options] SCRIPT [argument...]: runs SCRIPT as root in a virtual
# machine with one of Debian's stock kernels, prints its output as it comes and
# returns its exit status. The guest sees this machine's file system, read-only
# under an overlay in memory: what it writes is lost, except below $LAB_OUT.
#
#   --kernel 6.1|6.12   (default: the first of $KERNELS)
#   --smp N             processors (2)
#   --mem MB            memory (2048)
#   --timeout S         seconds until the guest is ended, status 124 (600)
#   --out DIR           keep the guest's $LAB_OUT, and kernel.log, in DIR
#   --interactive       connect the terminal to SCRIPT
#
# Any splat in the kernel's log (patterns: file `splats`) makes the status
# non-zero, whatever SCRIPT said; a panic ends the run at once.
set -euo pipefail
. "$(dirname "$0")/env.sh"
lab=$ROOT/selftests/lab

say() { printf '# lab: %s\n' "$*" >&2; }
usage() { sed -n '4,18s/^# \?//p' "$0" >&2; exit 2; }

kernel=${KERNELS%% *} smp=2 mem=2048 limit=600 keep='' interactive=no
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=$2; shift 2 ;;
	--smp) smp=$2; shift 2 ;;
	--mem) mem=$2; shift 2 ;;
	--timeout) limit=$2; shift 2 ;;
	--out) keep=$2; shift 2 ;;
	--interactive) interactive=yes; shift ;;
	--) shift; break ;;
	-*) usage ;;
	*) break ;;
	esac
done
[ $# -ge 1 ] || usage
script=$(readlink -e "$1") || { say "no such script: $1"; exit 2; }
shift

kdir=$CACHE/kernels/$kernel
[ -e "$kdir/release" ] || "$lab/kernels.sh" "$kernel" >&2
release=$(cat "$kdir/release")

work=$(mktemp -d)
qemu=
cleanup() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || :
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- initramfs: busybox, our init, and the modules that mount the root
initramfs=$kdir/initramfs-$(cat "$lab/initramfs-init.sh" "$0" | cksum | cut -d' ' -f1)
make_initramfs() {
	local d=$work/initramfs m path
	mkdir -p "$d"/{bin,dev,proc,sys,mod,lower,upper,newroot}
	cp /bin/busybox "$d/bin/"
	cp "$lab/initramfs-init.sh" "$d/init"
	chmod 755 "$d/init"
	for m in virtio_pci 9pnet_virtio 9p overlay; do
		modprobe -d "$kdir" -S "$release" --show-depends "$m"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
	while read -r path; do
		cp "$path" "$d/mod/"
		basename "$path"
	done >"$d/mod/order"
	(cd "$d" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initramfs.gz"
	mv "$work/initramfs.gz" "$initramfs.$$"
	mv "$initramfs.$$" "$initramfs"
}
[ -e "$initramfs" ] || make_initramfs

common=(-no-reboot -nodefaults -display none -vga none -monitor none
	-kernel "$kdir/vmlinuz" -initrd "$initramfs")
cmdline="console=ttyS0 loglevel=5 panic=-1 oops=panic random.trust_cpu=on"
# a loaded host stops the guest's processors for seconds: that is no lockup
cmdline+=" watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=90"
cmdline+=" mitigations=off nokaslr log_buf_len=4M lab.dir=$lab"

# --- acceleration: KVM, if a boot with it gets somewhere
tcg=(-accel "tcg,thread=multi" -cpu "max,-erms,-fsrm")
kvm=(-accel kvm -cpu host)
choose_accel() {
	local note=$CACHE/accel boot why rc=0
	boot=$(cat /proc/sys/kernel/random/boot_id)
	if [ -r "$note" ] && [ "$(head -1 "$note")" = "$boot.$(id -u)" ]; then
		tail -1 "$note"
		return
	fi
	if [ ! -w /dev/kvm ]; then
		why="tcg (/dev/kvm is absent or not writable)"
	else
		timeout -k 1 10 qemu-system-x86_64 "${kvm[@]}" -m 512 "${common[@]}" \
			-append "$cmdline lab.probe" -serial null -serial stdio \
			</dev/null >"$work/probe" 2>"$work/probe.err" || rc=$?
		if grep -q lab-probe-ok "$work/probe"; then
			why="kvm (a test boot worked)"
		else
			why="tcg (a test boot with KVM failed, status $rc)"
		fi
	fi
	printf '%s\n%s\n' "$boot.$(id -u)" "$why" >"$note.$$" && mv "$note.$$" "$note"
	say "acceleration: $why"
	echo "$why"
}
case $(choose_accel) in
kvm*) accel=("${kvm[@]}") ;;
*) accel=("${tcg[@]}") ;;
esac

# --- the job
mkdir "$work/out"
modules=$kdir/lib/modules/$release
built=$BUILD/module/$kernel/.root/lib/modules/$release
[ ! -e "$built/modules.dep.bin" ] || modules=$built
{
	printf 'LAB_ROOT=%q\nLAB_BUILD=%q\nLAB_KERNEL=%q\n' "$ROOT" "$BUILD" "$kernel"
	printf 'LAB_MODULES=%q\nLAB_INTERACTIVE=%q\n' "$modules" "$interactive"
	printf 'TERM=%q\n' "${TERM:-dumb}"
} >"$work/out/env"
{
	printf 'exec bash'
	printf ' %q' "$script" "$@"
	echo
} >"$work/out/job"

if [ $interactive = yes ]; then
	console=(-chardev "stdio,id=tty,signal=off")
	exec 8<&0
else
	console=(-chardev "stdio,id=tty")
	exec 8</dev/null
fi
# Emulated processors now and then see a half patched instruction while the kernel boots (an
# int3 in sched_clock_cpu()), and it panics before it has started anything of ours.
for try in 1 2 3; do
	rc=0
	timeout --foreground -k 5 "$limit" qemu-system-x86_64 "${accel[@]}" \
		-smp "$smp" -m "$mem" "${common[@]}" -append "$cmdline" \
		-serial "file:$work/kernel.log" "${console[@]}" -serial chardev:tty \
		-virtfs "local,path=/,mount_tag=root,security_model=none,multidevs=remap,readonly=on" \
		-virtfs "local,path=$work/out,mount_tag=out,security_model=none,multidevs=remap" \
		-nic none <&8 2>"$work/qemu.err" &
	qemu=$!
	wait $qemu || rc=$?
	qemu=
	[ $rc = 0 ] && [ ! -e "$work/out/began" ] && [ $try != 3 ] || break
	say "the kernel stopped before it ran anything ($(grep -aEm1 'Oops|panic|BUG' \
		"$work/kernel.log" | cut -c1-80)): booting again"
done

# --- the verdict
# a guest that ended well left all of its log, not just the warnings
[ ! -s "$work/out/dmesg" ] || mv "$work/out/dmesg" "$work/kernel.log"
if [ -n "$keep" ]; then
	mkdir -p "$keep"
	cp -r "$work/out/." "$work/kernel.log" "$keep/"
fi
if [ $rc = 124 ] || [ $rc = 137 ]; then
	say "ended after $limit seconds; the kernel's last words:"
	tail -5 "$work/kernel.log" | sed 's/^/# /' >&2
	rc=124
elif [ $rc != 0 ]; then
	say "qemu failed with status $rc"
	sed 's/^/# /' "$work/qemu.err" >&2
elif [ -s "$work/out/rc" ]; then
	rc=$(cat "$work/out/rc")
else
	say "the guest stopped before its script ended; the kernel's last words:"
	tail -30 "$work/kernel.log" | sed 's/^/# /' >&2
	rc=125
fi
if grep -aEn -A12 -f "$lab/splats" "$work/kernel.log" >"$work/splats"; then
	say "splat in the kernel's log:"
	head -60 "$work/splats" | sed 's/^/# /' >&2
	[ "$rc" != 0 ] || rc=126
fi
exit "$rc"
