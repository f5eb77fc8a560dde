/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What nl/, the generic-netlink family "metaroce", offers to the others. */
#ifndef _METAROCE_NL_H
#define _METAROCE_NL_H

#include "../engine/engine.h"

/* Module init and exit. Devices come after, and go before. */
int mroce_nl_init(void);
void mroce_nl_exit(void);

/* events.c ---------------------------------------------------------------- */

/* Does anybody wait for the events of this device? Any context. */
bool mroce_nl_listened(const struct mroce_dev *dev);

/*
 * Queue an event; what does not fit in the queue is counted in dev->events_dropped. BH disabled,
 * any lock may be held. The device lives until mroce_nl_flush_events().
 */
void mroce_nl_conn_event(struct mroce_dev *dev, const struct mroce_conn_id *id);
void mroce_nl_path_event(struct mroce_dev *dev, u32 cid, const struct mroce_addr *peer,
			 const struct mroce_path_info *path);

/* Waits until what is queued has been sent. Process context. */
void mroce_nl_flush_events(void);

#endif /* _METAROCE_NL_H */
