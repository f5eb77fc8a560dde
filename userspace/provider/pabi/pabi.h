/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The private ABI between libibverbs and its providers. rdma-core installs no
 * header for it, so each number has a file of our own here; CMake finds the
 * number in the installed library and refuses one that it has no file for.
 *
 * Inside an rdma-core source tree the tree's own header is the better truth:
 * the names below are the same, so that only this file differs.
 */
#ifndef MROCE_PABI_H
#define MROCE_PABI_H

#ifdef MROCE_IN_RDMA_CORE_TREE
#include <infiniband/driver.h>
#else
#include MROCE_PABI_HEADER
#endif

#endif /* MROCE_PABI_H */
