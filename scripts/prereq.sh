#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# prereq.sh GOAL...: names the Debian packages that GOALs need and that are
# missing here, and installs them (as root, or through sudo).
# With INSTALL=no it only prints them and fails if there are any.
#
# Goals: modules fetch user unit lab lint vt curves, and demo, check, which sum these up.
set -eu

packages() {
	case $1 in
	modules) echo make gcc libc6-dev libelf1 kmod ;;
	fetch)   echo apt kmod xz-utils ;;
	user)    echo make gcc g++ cmake pkg-config libibverbs-dev librdmacm-dev \
		      libfmt-dev libcli11-dev nlohmann-json3-dev libmnl-dev libncurses-dev ;;
	unit)    packages user; echo libgtest-dev ibverbs-utils ;;
	lab)     packages fetch; packages modules; packages user
		 echo qemu-system-x86 busybox-static cpio gzip procps iproute2 \
		      ethtool iputils-ping iperf3 perftest ibverbs-utils jq python3 util-linux \
		      rdmacm-utils ;;
	lint)    packages modules; packages fetch; packages unit
		 echo sparse clang-tidy-14 shellcheck perl python3 python3-yaml \
		      python3-jsonschema ;;
	demo)    packages lab ;;
	vt)      packages modules; packages fetch
		 echo flex bison bc gzip iproute2 ;;
	curves)  packages vt; packages user
		 echo ethtool gnuplot-nox jq ;;
	check)   packages unit; packages lint; packages lab; packages vt
		 echo python3-pyverbs ;;
	*)       echo "prereq.sh: unknown goal '$1'" >&2; exit 2 ;;
	esac
}

[ $# -gt 0 ] || { sed -n '4,9s/^# \?//p' "$0" >&2; exit 2; }
if ! command -v dpkg-query >/dev/null; then
	echo "prereq.sh: not a Debian system; see the list in this script" >&2
	exit 0
fi

wanted=$(for goal; do packages "$goal"; done | tr ' ' '\n' | sort -u)
missing=
for p in $wanted; do
	# shellcheck disable=SC2016 # dpkg-query expands ${Status}
	case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null || :) in
	*' ok installed') ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

echo "missing Debian packages for '$*':$missing"
if [ "${INSTALL:-yes}" = no ]; then
	echo "INSTALL=no: nothing was installed; try: apt-get install$missing"
	exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "neither root nor sudo: install them yourself" >&2; exit 1; }
	sudo=sudo
fi
apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -o DPkg::Lock::Timeout=600 "$@"
}
# shellcheck disable=SC2086 # one word per package
if ! apt install -y --no-install-recommends $missing; then
	echo "installation failed: trying again with fresh package lists"
	apt update
	apt install -y --no-install-recommends $missing
fi
