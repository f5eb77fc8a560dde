#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kernels.sh [VERSION...]: puts Debian 12's stock kernels (default: 6.1 6.12)
# with their headers into $CACHE/kernels/VERSION, unpacked, not installed.
#
# The packages come from the Debian mirror this machine already uses, through
# a private apt state, so neither root nor changed sources are needed. What is
# there already stays; a folder appears only when it is complete.
#
# In each folder: vmlinuz, release (the `uname -r`), headers (symbolic link),
# lib/modules/RELEASE with modules.dep.
#
# kernels.sh --source FILE...: unpacks FILEs (paths in the kernel tree) of
# linux-source-6.12 into $CACHE/linux-source, for the linters.
# kernels.sh --whole-source DIR [TAR OPTION...]: unpacks all of it into DIR.
set -euo pipefail
. "$(dirname "$0")/env.sh"

state=$CACHE/apt
# unpack with GNU tar as ourselves: no foreign owners are needed
export TAR_OPTIONS=--no-same-owner

say() { printf 'kernels: %s\n' "$*"; }
die() { printf 'kernels: %s\n' "$*" >&2; exit 1; }

# mirrors: prints "URI SUITE" per source of ours, from the machine's own sources,
# whether their lists were read or not
mirrors() {
	# shellcheck disable=SC2016 # apt-get expands these
	apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE)' \
		'Created-By: Packages' | sort -u | awk '
		$1 ~ /debian-security\/?$/ || $2 ~ /-security$/ { if (!sec) sec = $1; next }
		$1 ~ /debian\/?$/ && $2 !~ /backports/ { if (!main) main = $1 }
		END {
			if (main) print main, "bookworm"
			if (main) print main, "bookworm-backports"
			if (sec) print sec, "bookworm-security"
			exit !main
		}'
}

private_apt() {
	apt-get -q -o Dir::Etc="$state/etc" -o Dir::State="$state" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state" \
		-o Dir::Etc::main=/dev/null -o Dir::Etc::parts="$state/etc/apt.conf.d" \
		-o APT::Sandbox::User="$(id -un)" -o APT::Architecture=amd64 \
		-o Debug::NoLocking=1 "$@"
}

apt_ready=
apt_update() {
	[ -z "$apt_ready" ] || return 0
	local key=/usr/share/keyrings/debian-archive-keyring.gpg list
	[ -f "$key" ] || die "$key is missing (package debian-archive-keyring)"
	list=$(mirrors) || die "no Debian mirror among this machine's apt sources"
	mkdir -p "$state"/{lists,archives}/partial \
		"$state"/etc/{apt.conf.d,preferences.d,sources.list.d,trusted.gpg.d}
	: >"$state/status"
	while read -r uri suite; do
		echo "deb [signed-by=$key] $uri $suite main"
	done <<<"$list" >"$state/etc/sources.list"
	say "reading package lists"
	if ! private_apt update >"$state/update.log" 2>&1; then
		# not every mirror carries the backports
		sed -i /-backports/d "$state/etc/sources.list"
		private_apt update >>"$state/update.log" 2>&1 ||
			{ cat "$state/update.log" >&2; die "apt-get update failed"; }
	fi
	apt_ready=yes
}

# newest_image VERSION: name of the newest signed linux-image of that series
newest_image() {
	apt-cache -o Dir::Etc="$state/etc" -o Dir::State="$state" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state" \
		pkgnames "linux-image-$1." |
		grep -E "^linux-image-${1//./\\.}\.[0-9][0-9a-z.+~-]*-amd64\$" |
		grep -Ev -- '-(rt|cloud|unsigned)-' | sort -V | tail -1
}

fetch_kernel() {
	local v=$1 dir=$CACHE/kernels/$1 tmp img rel abi
	if [ -e "$dir/release" ]; then
		say "$v: $(cat "$dir/release") is there"
		return
	fi
	apt_update
	img=$(newest_image "$v") && [ -n "$img" ] || die "$v: no such kernel"
	rel=${img#linux-image-}
	abi=${rel%-amd64}
	mkdir -p "$CACHE/kernels"
	tmp=$(mktemp -d "$CACHE/kernels/.$v.XXXXXX")
	# shellcheck disable=SC2064 # expand now
	trap "rm -rf '$tmp'" EXIT
	say "$v: downloading $rel"
	(cd "$tmp" && private_apt download "$img" "linux-headers-$rel" \
		"linux-headers-$abi-common" "linux-kbuild-$(kbuild_of "$abi")") \
		>"$state/download.log" 2>&1 ||
		{ cat "$state/download.log" >&2; die "download failed"; }
	say "$v: unpacking"
	local deb
	for deb in "$tmp"/*.deb; do
		dpkg -x "$deb" "$tmp"
		rm "$deb"
	done
	# the one absolute path in Debian's headers
	sed -i "s|/usr/src/|$dir/usr/src/|" \
		"$tmp/usr/src/linux-headers-$rel/Makefile"
	# links to headers and kbuild are absolute or climb to /usr/lib
	ln -s "usr/src/linux-headers-$rel" "$tmp/headers"
	ln -s "boot/vmlinuz-$rel" "$tmp/vmlinuz"
	depmod -b "$tmp" "$rel"
	rm -rf "${tmp:?}/usr/share"
	chmod 755 "$tmp"
	echo "$rel" >"$tmp/release"
	mv -T "$tmp" "$dir"
	trap - EXIT
	say "$v: $rel is ready in $dir"
}

# kbuild_of ABI: 6.1's kbuild package is named by series, later ones by ABI
kbuild_of() {
	case $1 in
	6.1.*) echo 6.1 ;;
	*) echo "$1" ;;
	esac
}

# unpack_source WHAT DIR [TAR ARGUMENT...]: files of linux-source-6.12, or all of it, into DIR
unpack_source() {
	local what=$1 dir=$2 tmp
	shift 2
	apt_update
	mkdir -p "$dir"
	tmp=$(mktemp -d "$CACHE/.source.XXXXXX")
	# shellcheck disable=SC2064 # expand now
	trap "rm -rf '$tmp'" EXIT
	say "downloading linux-source-6.12 for $what"
	(cd "$tmp" && private_apt download linux-source-6.12) \
		>"$state/download.log" 2>&1 ||
		{ cat "$state/download.log" >&2; die "download failed"; }
	dpkg --fsys-tarfile "$tmp"/*.deb |
		tar -xO ./usr/src/linux-source-6.12.tar.xz >"$tmp/source.tar.xz"
	xz -T0 -dc "$tmp/source.tar.xz" | tar -x -C "$dir" --strip-components=1 "$@"
	rm -rf "$tmp"
	trap - EXIT
}

fetch_source() {
	local want=() f
	for f; do [ -e "$CACHE/linux-source/$f" ] || want+=("linux-source-6.12/$f"); done
	[ ${#want[@]} = 0 ] || unpack_source "$*" "$CACHE/linux-source" "${want[@]}"
}

mkdir -p "$CACHE"
exec 9>"$CACHE/.kernels.lock"
flock 9
case ${1:-} in
--source)
	shift
	fetch_source "$@"
	;;
--whole-source) unpack_source "a kernel of our own" "${@:2}" ;;
*)
	[ $# -gt 0 ] || set -- $KERNELS
	for v; do fetch_kernel "$v"; done
	;;
esac
