#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# ynl.sh          makes the netlink headers and policies from
#                 Documentation/netlink/specs/metaroce.yaml, with the kernel's own generator
# ynl.sh --check  prints how they differ from what would be made; fails if they do
set -euo pipefail
. "$(dirname "$0")/../selftests/lab/env.sh"
cd "$ROOT"
spec=Documentation/netlink/specs/metaroce.yaml
schema=Documentation/netlink/genetlink-legacy.yaml
ynl=tools/net/ynl
nl=drivers/infiniband/sw/metaroce/nl

selftests/lab/kernels.sh --source $ynl/ynl-gen-c.py $ynl/lib/__init__.py $ynl/lib/nlspec.py \
	$ynl/lib/ynl.py $schema >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/${spec%/*}"
: >"$work/MAINTAINERS" # how the generator knows the root of a tree
cp "$CACHE/linux-source/$schema" "$work/$schema"
# it takes specifications of one licence only
sed '1s/BSD-2-Clause/BSD-3-Clause/' $spec >"$work/$spec"

rc=0
# make MODE FILE
make() {
	local kind=--header out=$work/${2##*/}
	case $2 in *.c) kind=--source ;; esac
	PYTHONDONTWRITEBYTECODE=1 python3 "$CACHE/linux-source/$ynl/ynl-gen-c.py" \
		--mode "$1" $kind --spec "$work/$spec" -o "$out" >&2
	# our licence, our prefix; the groups belong to the family: nl/family.c;
	# the policies of older kernels want ranges that are not const
	sed -i -E -e '1s/BSD-3-Clause/BSD-2-Clause/' \
		-e 's/^static const (struct netlink_range_validation)/static \1/' \
		-e 's/\bmetaroce_([a-z_]*nl_)/mroce_\1/g' \
		-e '/^static const struct genl_multicast_group /,/^};/d' "$out"
	sed -i -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$out"
	if [ "$check" = yes ]; then
		diff -u --label "$2" --label "made from $spec" "$2" "$out" || rc=1
	else
		cmp -s "$out" "$2" || cp "$out" "$2"
	fi
}

case ${1:-} in
"") check=no ;;
--check) check=yes ;;
*) sed -n '4,6s/^# \?//p' "$0" >&2; exit 2 ;;
esac
make uapi include/uapi/rdma/metaroce_netlink.h
make kernel $nl/nl_gen.h
make kernel $nl/nl_gen.c
exit $rc
