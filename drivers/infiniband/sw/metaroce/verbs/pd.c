// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* User contexts and protection domains: the core's objects suffice. */
#include "internal.h"

int mroce_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct mroce_alloc_ucontext_resp resp = {
		.abi_version = MROCE_UVERBS_ABI_VERSION,
		.max_inline = MROCE_MAX_INLINE,
		.max_sge = MROCE_MAX_SGE,
	};

	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
}

void mroce_dealloc_ucontext(struct ib_ucontext *ibuc)
{
}

/*
 * Being there, it lets the device go while processes have it open. Their rings
 * stay mapped: the pages live as long as the mapping, and no code of ours is
 * reached from it (ring.c).
 */
void mroce_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

int mroce_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

int mroce_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}
