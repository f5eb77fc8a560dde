/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the files of nl/ only.
 *
 * Requests are serialised by genl_mutex. A device is referenced for the length of one request, or
 * of one part of a dump: its end waits for that, and for no reader.
 */
#ifndef _METAROCE_NL_INTERNAL_H
#define _METAROCE_NL_INTERNAL_H

#include "../compat/genl.h"
#include "nl.h"
#include "nl_gen.h"

extern struct genl_family mroce_nl_family;

/* What names a device or a connection has the same place in both sets. */
static_assert((int)MROCE_A_CONN_DEV_INDEX == (int)MROCE_A_PATH_DEV_INDEX);
static_assert((int)MROCE_A_CONN_DEV_NAME == (int)MROCE_A_PATH_DEV_NAME);
static_assert((int)MROCE_A_CONN_CID == (int)MROCE_A_PATH_CID);

/* family.c */

/**
 * mroce_nl_find_dev - the device that a request names
 * @index: attribute with its index, or NULL
 * @name: attribute with its name, or NULL
 *
 * Return: device with a reference, ib_device_put(); ERR_PTR(-EINVAL) if it is not named,
 * ERR_PTR(-ENODEV) if @net does not see it, with @extack set.
 */
struct mroce_dev *mroce_nl_find_dev(const struct net *net, const struct nlattr *index,
				    const struct nlattr *name, struct netlink_ext_ack *extack);

/* An address as @attr4 or @attr6. Return: 0 or -EMSGSIZE. */
int mroce_nl_put_addr(struct sk_buff *skb, const struct mroce_addr *addr, int attr4, int attr6);
/* MROCE_A_CONN_DEV_INDEX and MROCE_A_CONN_DEV_NAME, or those of a path. Return: likewise. */
int mroce_nl_put_dev(struct sk_buff *skb, const struct mroce_dev *dev);

/* conn.c */

/**
 * mroce_nl_find_conn - the connection that a request names
 * @attrs: indexed by MROCE_A_CONN_*, or MROCE_A_PATH_*; the device need not be named
 *
 * Return: connection with a reference, and one on its device, mroce_nl_put_conn();
 * ERR_PTR(-EINVAL), ERR_PTR(-ENODEV), ERR_PTR(-ENOENT), with @extack set.
 */
struct mroce_econn *mroce_nl_find_conn(const struct net *net, struct nlattr **attrs,
				       struct netlink_ext_ack *extack);
void mroce_nl_put_conn(struct mroce_econn *econn);

/* Which connections a dump shows, and where it goes on. In cb->ctx. */
struct mroce_nl_conn_dump {
	u64 next;		/* connection id */
	u32 next_path;		/* of that connection */
	u32 cid;		/* 0: all */
	u32 dev_index;
	bool one_dev;		/* @dev_index only */
	bool started;
};

/**
 * mroce_nl_conn_dump_start - take the filter of a dump from its request
 *
 * At the beginning of each part of the dump. Return: its state in @cb, or ERR_PTR() with
 * cb->extack set if the filter names what is not there.
 */
struct mroce_nl_conn_dump *mroce_nl_conn_dump_start(const struct net *net,
						    struct netlink_callback *cb);

/*
 * The next connection of a dump, with references as above; NULL: that was all. Before it is called
 * again, @next is moved on.
 */
struct mroce_econn *mroce_nl_conn_dump_next(const struct net *net,
					    struct mroce_nl_conn_dump *dump);

int mroce_nl_put_conn_id(struct sk_buff *skb, const struct mroce_conn_id *id);

#endif /* _METAROCE_NL_INTERNAL_H */
