# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced by the lab's host-side scripts: where things are.
# ROOT: the source tree. BUILD: everything that is built from it.
# CACHE: what is fetched (kernels, linters), shared by all trees.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
BUILD=${BUILD:-$ROOT/build}
if [ -z "${CACHE:-}" ]; then
	if [ "$(id -u)" = 0 ]; then
		CACHE=/var/cache/metaroce
	else
		CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/metaroce
	fi
fi
KERNELS=${KERNELS:-6.1 6.12}
JOBS=${JOBS:-$(nproc)}
export ROOT BUILD CACHE KERNELS JOBS LC_ALL=C.UTF-8
