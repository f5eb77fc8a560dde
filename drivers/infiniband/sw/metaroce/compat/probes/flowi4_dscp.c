// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* struct flowi4 has flowi4_dscp in place of flowi4_tos (since 6.18) */
#include <net/flow.h>
#include <net/inet_dscp.h>

void probe(struct flowi4 *fl4);
void probe(struct flowi4 *fl4)
{
	fl4->flowi4_dscp = inet_dsfield_to_dscp(0xfc);
}
