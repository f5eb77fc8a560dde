#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Process 1 of a guest: sets up what a service manager would, runs the job that
# run.sh left in /run/lab, leaves its exit status there and powers off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8 LC_ALL=C.UTF-8 TERM=${TERM:-dumb}
LAB_DIR=$(dirname "$0")
. /run/lab/env # LAB_ROOT LAB_BUILD LAB_KERNEL LAB_MODULES LAB_INTERACTIVE
export LAB_DIR LAB_ROOT LAB_BUILD LAB_KERNEL LAB_OUT=/run/lab

exec </dev/null >/dev/ttyS1 2>&1
stty -F /dev/ttyS1 raw -echo

mount -t tmpfs shm /dev/shm 2>/dev/null || { mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; }
mkdir -p /dev/pts /dev/infiniband /run/netns /run/lock
mount -t devpts -o ptmxmode=666 devpts /dev/pts
ln -sfn /proc/self/fd /dev/fd
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t bpf bpf /sys/fs/bpf
ip link set lo up
ulimit -l unlimited
ulimit -c 0
hostname lab
[ ! -e /proc/sys/kernel/hung_task_timeout_secs ] ||
	echo 60 >/proc/sys/kernel/hung_task_timeout_secs

rel=$(uname -r)
mkdir -p "/usr/lib/modules/$rel"
mount --bind "$LAB_MODULES" "/usr/lib/modules/$rel"

cd "$LAB_ROOT" || exit
: >/run/lab/began # run.sh boots no second time
if [ "$LAB_INTERACTIVE" = yes ]; then
	stty -F /dev/ttyS1 sane
	setsid -c bash /run/lab/job </dev/ttyS1
else
	bash /run/lab/job
fi
echo $? >/run/lab/rc
dmesg >/run/lab/dmesg
sync
stty -F /dev/ttyS1 >/dev/null # the last bytes have left when this returns
echo o >/proc/sysrq-trigger
sleep 60
