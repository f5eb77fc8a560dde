/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the transport core needs of its surroundings, in the kernel and in user
 * space: fixed-width types, byte order, a list, bit operations, siphash. The only
 * file that asks which of the two it is.
 */
#ifndef _METAROCE_PORT_H
#define _METAROCE_PORT_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/types.h>

#include <mroce_probes.h>
#ifdef MROCE_HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#define MROCE_BUG_ON(cond)	WARN_ON_ONCE(cond)

static inline u64 mroce_siphash(const void *data, size_t len, const u64 key[2])
{
	siphash_key_t k = { { key[0], key[1] } };

	return siphash(data, len, &k);
}

#else
#include <metaroce/port_user.h>
#endif

#endif /* _METAROCE_PORT_H */
