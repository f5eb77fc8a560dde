/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A sequential reader of an skb with many fragments. Walking on is cheap, going back starts
 * over; skb_copy_bits() would walk from the start for every segment.
 */
#ifndef _METAROCE_CURSOR_H
#define _METAROCE_CURSOR_H

#include <linux/skbuff.h>

struct mroce_cursor {
	struct sk_buff *skb;
	struct skb_seq_state st;
	const u8 *data;			/* the block [pos, pos + len) */
	unsigned int pos, len;
};

static inline void mroce_cursor_end(struct mroce_cursor *cur)
{
	if (cur->skb)
		skb_abort_seq_read(&cur->st);
	cur->skb = NULL;
}

/* Return: bytes that lie contiguous at @off (at *data), 0 beyond the end. */
static inline unsigned int mroce_cursor_at(struct mroce_cursor *cur, struct sk_buff *skb,
					   unsigned int off, const u8 **data)
{
	if (cur->skb != skb || off < cur->pos) {
		mroce_cursor_end(cur);
		cur->skb = skb;
		skb_prepare_seq_read(skb, 0, skb->len, &cur->st);
		cur->pos = 0;
		cur->len = 0;
	}
	while (off - cur->pos >= cur->len) {
		unsigned int next = cur->pos + cur->len;

		/* block by block: it can't jump over one */
		cur->len = skb_seq_read(next, &cur->data, &cur->st);
		cur->pos = next;
		if (!cur->len)
			return 0;
	}
	*data = cur->data + (off - cur->pos);
	return cur->len - (off - cur->pos);
}

/* Return: whether all @len bytes were there. */
static inline bool mroce_cursor_copy(struct mroce_cursor *cur, struct sk_buff *skb,
				     unsigned int off, void *to, unsigned int len)
{
	while (len) {
		const u8 *data;
		unsigned int n = min(mroce_cursor_at(cur, skb, off, &data), len);

		if (!n)
			return false;
		memcpy(to, data, n);
		to += n;
		off += n;
		len -= n;
	}
	return true;
}

#endif /* _METAROCE_CURSOR_H */
