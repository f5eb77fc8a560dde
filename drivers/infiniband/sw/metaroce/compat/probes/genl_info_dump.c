// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* genl_info_dump() (since 6.6): a dump has a struct genl_info, too */
#include <net/genetlink.h>

struct nlattr **probe(struct netlink_callback *cb);
struct nlattr **probe(struct netlink_callback *cb)
{
	return genl_info_dump(cb)->attrs;
}
