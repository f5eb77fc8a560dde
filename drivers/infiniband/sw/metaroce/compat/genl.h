/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Generic netlink's API that changed over time. */
#ifndef _METAROCE_COMPAT_GENL_H
#define _METAROCE_COMPAT_GENL_H

#include <net/genetlink.h>

#include <mroce_probes.h>

/* The attributes of a dump's request, indexed by type. */
static inline struct nlattr **mroce_genl_dump_attrs(struct netlink_callback *cb)
{
#ifdef MROCE_HAVE_GENL_INFO_DUMP
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

#endif /* _METAROCE_COMPAT_GENL_H */
