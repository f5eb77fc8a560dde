#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=dash
#
# /init of the lab's initramfs. Puts a writable overlay (in memory) over the
# host's root file system (9p, read-only), and continues with guest-init.sh
# from the source tree.
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
for m in $($B cat /mod/order); do $B insmod "/mod/$m"; done

for word in $($B cat /proc/cmdline); do
	case $word in
	lab.dir=*) lab=${word#lab.dir=} ;;
	lab.probe) echo lab-probe-ok >/dev/ttyS1; $B poweroff -f ;;
	esac
done

opt=trans=virtio,version=9p2000.L,msize=512000
$B mount -t 9p -o $opt,ro,cache=loose root /lower || $B poweroff -f
$B mount -t tmpfs -o size=75% upper /upper
$B mkdir /upper/data /upper/work
$B mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work \
	overlay /newroot || $B poweroff -f
$B mount -t tmpfs run /newroot/run
$B mkdir -p /newroot/run/lab
$B mount -t 9p -o $opt out /newroot/run/lab || $B poweroff -f
for d in proc sys dev; do $B mount --move /$d /newroot/$d; done
exec $B switch_root /newroot /bin/bash "$lab/guest-init.sh"
