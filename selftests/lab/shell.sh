#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# shell.sh [run.sh options]: an interactive guest with the helpers of guest.sh
# at hand. exit (or ^D) powers it off; ^A is not special.
set -eu
. "$(dirname "$0")/env.sh"
if [ -n "${LAB_KERNEL:-}" ]; then # we are inside
	stty sane
	cat <<-'EOT'
	A throw-away guest: what you change is lost when you exit.
	Try:  mroce_load; host_add a b; link_add a eth0 b eth0
	      mroce_link a m0 eth0; mroce_link b m1 eth0; rdma link
	EOT
	exec bash --rcfile <(echo '. ~/.bashrc; . "$LAB_DIR/guest.sh"; PS1="lab:\w\$ "') -i
fi
exec "$ROOT/selftests/lab/run.sh" --interactive --timeout 86400 "$@" "$0"
