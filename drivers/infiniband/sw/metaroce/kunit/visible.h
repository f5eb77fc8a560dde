/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is static but in a module with KUnit suites, and these look at. */
#ifndef _METAROCE_KUNIT_VISIBLE_H
#define _METAROCE_KUNIT_VISIBLE_H

#include "../metaroce.h"

#if IS_ENABLED(CONFIG_METAROCE_KUNIT_TEST)
#define VISIBLE_FOR_KUNIT

int mroce_qp_attr_check(struct mroce_qp *qp, const struct ib_qp_attr *attr, int mask,
			enum ib_qp_state cur, enum ib_qp_state next);
int mroce_cq_switch(struct mroce_cq *cq, struct mroce_ring *ring, u32 cqe);
void mroce_stream_set_attr(struct mroce_qp *qp, struct mroce_stream *s);
#else
#define VISIBLE_FOR_KUNIT static
#endif

#endif /* _METAROCE_KUNIT_VISIBLE_H */
