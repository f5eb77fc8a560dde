// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ib_mark_name_assigned_by_user() (since 6.12): udev leaves the name alone */
#include <rdma/ib_verbs.h>

void probe(struct ib_device *dev);
void probe(struct ib_device *dev)
{
	ib_mark_name_assigned_by_user(dev);
}
