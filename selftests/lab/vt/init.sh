#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Process 1 of a User-Mode Linux guest. The host's file system is its root, read-only, through
# hostfs, with a tmpfs wherever something is written; vt.out= is the folder that it may
# write to, with the job in it. Leaves the job's exit status there and powers off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mountpoint -q /dev || mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /dev/infiniband
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -sfn /proc/self/fd /dev/fd
mount -t tmpfs run /run
mkdir -p /run/netns /run/lock /run/lab
read -r cmdline </proc/cmdline
for word in $cmdline; do
	case $word in vt.out=*) out=${word#vt.out=} ;; esac
done
mount -t hostfs -o "$out" none /run/lab
# a tmpfs over /tmp would hide a checkout or a build folder that lies there
mount -t tmpfs tmp /var/tmp
export TMPDIR=/var/tmp
. /run/lab/env # LAB_ROOT LAB_BUILD LAB_KERNEL LAB_MODULE LAB_DIR
export LAB_DIR LAB_ROOT LAB_BUILD LAB_KERNEL LAB_MODULE LAB_VT=yes LAB_OUT=/run/lab
# where the provider is looked for, beside the rivals'
cp -r /etc/libibverbs.d /run/drivers
mount -t tmpfs etc /etc/libibverbs.d
cp /run/drivers/* /etc/libibverbs.d/
echo "driver $LAB_BUILD/user/lib/libmetaroce" >/etc/libibverbs.d/metaroce.driver
ip link set lo up
ulimit -l unlimited
ulimit -c 0
cd "$LAB_ROOT" || exit
bash /run/lab/job </dev/null 2>&1
echo $? >/run/lab/rc
dmesg >/run/lab/dmesg
sync
echo o >/proc/sysrq-trigger
sleep 60
