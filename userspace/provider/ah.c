// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Address handles: kernel objects that send work requests name by number. */
#include <stdlib.h>

#include "metaroce.h"

struct ibv_ah *mroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct {
		struct ib_uverbs_create_ah_resp ib;
		struct mroce_create_ah_resp drv;
	} resp = {};
	struct mroce_ah *ah;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	if (ibv_cmd_create_ah(pd, &ah->ibah, attr, &resp.ib, sizeof(resp))) {
		free(ah);
		return NULL;
	}
	ah->ah_num = resp.drv.ah_num;
	return &ah->ibah;
}

int mroce_destroy_ah(struct ibv_ah *ah)
{
	int err = ibv_cmd_destroy_ah(ah);

	if (!err)
		free(to_mah(ah));
	return err;
}
