/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writing work requests into ring slots: what post.c (classic) and wr.c
 * (ibv_wr_*) have in common. Slots hold the previous lap's bytes, so the head
 * is always written in full.
 */
#ifndef MROCE_WQE_H
#define MROCE_WQE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "metaroce.h"

/* The flags that both interfaces and the ABI number alike. */
#define MROCE_WQE_PLAIN_FLAGS \
	(MROCE_WQE_FENCE | MROCE_WQE_SIGNALED | MROCE_WQE_SOLICITED)

_Static_assert((int)MROCE_WQE_FENCE == (int)IBV_SEND_FENCE, "flag values");
_Static_assert((int)MROCE_WQE_SIGNALED == (int)IBV_SEND_SIGNALED, "flag values");
_Static_assert((int)MROCE_WQE_SOLICITED == (int)IBV_SEND_SOLICITED, "flag values");
_Static_assert((int)MROCE_WQE_INLINE == (int)IBV_SEND_INLINE, "flag values");
_Static_assert(sizeof(struct mroce_send_wqe) == 64, "ABI");
_Static_assert(sizeof(struct mroce_recv_wqe) == 16, "ABI");
_Static_assert(sizeof(struct mroce_cqe) == 64, "ABI");

static inline void mroce_wqe_head(const struct mroce_qp *qp,
				  struct mroce_send_wqe *wqe, uint64_t wr_id,
				  uint32_t opcode, uint32_t flags)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr_id;
	wqe->opcode = opcode;
	wqe->flags = flags & MROCE_WQE_PLAIN_FLAGS;
	if (qp->sq_sig_all)
		wqe->flags |= MROCE_WQE_SIGNALED;
}

static inline struct mroce_sge *mroce_wqe_sges(struct mroce_send_wqe *wqe)
{
	return (struct mroce_sge *)(wqe + 1);
}

static inline void mroce_wqe_set_sges(struct mroce_sge *dst,
				      const struct ibv_sge *src, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		dst[i].addr = src[i].addr;
		dst[i].length = src[i].length;
		dst[i].lkey = src[i].lkey;
	}
}

/*
 * Appends inline data. The room is compared with each piece, never with a sum,
 * so that no total can wrap. False: too much.
 */
static inline bool mroce_wqe_add_inline(const struct mroce_qp *qp,
					struct mroce_send_wqe *wqe,
					const void *data, size_t length)
{
	if (length > qp->max_inline - wqe->inline_len)
		return false;
	if (length)
		memcpy((uint8_t *)(wqe + 1) + wqe->inline_len, data, length);
	wqe->inline_len += (uint32_t)length;
	wqe->flags |= MROCE_WQE_INLINE;
	return true;
}

static inline void mroce_wqe_set_bind(struct mroce_send_wqe *wqe,
				      const struct ibv_mw *mw, uint32_t rkey,
				      const struct ibv_mw_bind_info *info)
{
	wqe->wr.bind.addr = info->addr;
	wqe->wr.bind.length = info->length;
	wqe->wr.bind.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->wr.bind.mw_rkey = mw->rkey;
	wqe->wr.bind.rkey = rkey;
	wqe->wr.bind.access = info->mw_access_flags;
}

#endif /* MROCE_WQE_H */
