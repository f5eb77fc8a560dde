/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/metaroce.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_METAROCE_GEN_H
#define _LINUX_METAROCE_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/rdma/metaroce_netlink.h>

/* Common nested types */
extern const struct nla_policy mroce_params_nl_policy[MROCE_A_PARAMS_MAX_PATHS + 1];

extern const struct nla_policy mroce_dev_get_nl_policy[MROCE_A_DEV_NAME + 1];

extern const struct nla_policy mroce_dev_set_nl_policy[MROCE_A_DEV_PARAMS + 1];

extern const struct nla_policy mroce_conn_get_nl_policy[MROCE_A_CONN_CID + 1];

extern const struct nla_policy mroce_path_get_nl_policy[MROCE_A_PATH_ID + 1];

extern const struct nla_policy mroce_plane_get_nl_policy[MROCE_A_PLANE_INDEX + 1];

extern const struct nla_policy mroce_plane_add_nl_policy[MROCE_A_PLANE_IFINDEX + 1];

extern const struct nla_policy mroce_plane_del_nl_policy[MROCE_A_PLANE_IFINDEX + 1];

/* Ops table for metaroce */
extern const struct genl_ops mroce_nl_ops[7];

int mroce_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info);
int mroce_nl_dev_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int mroce_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info);
int mroce_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info);
int mroce_nl_conn_get_dumpit(struct sk_buff *skb,
				struct netlink_callback *cb);
int mroce_nl_path_get_doit(struct sk_buff *skb, struct genl_info *info);
int mroce_nl_path_get_dumpit(struct sk_buff *skb,
				struct netlink_callback *cb);
int mroce_nl_plane_get_doit(struct sk_buff *skb, struct genl_info *info);
int mroce_nl_plane_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);
int mroce_nl_plane_add_doit(struct sk_buff *skb, struct genl_info *info);
int mroce_nl_plane_del_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	METAROCE_NLGRP_EVENTS,
};

#endif /* _LINUX_METAROCE_GEN_H */
