// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/metaroce.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "nl_gen.h"

#include <uapi/rdma/metaroce_netlink.h>

/* Integer value ranges */
static struct netlink_range_validation mroce_a_params_probe_floor_range = {
	.max	= 1000000ULL,
};

static struct netlink_range_validation mroce_a_params_delay_target_range = {
	.min	= 100ULL,
	.max	= 10000000ULL,
};

/* Common nested types */
const struct nla_policy mroce_params_nl_policy[MROCE_A_PARAMS_MAX_PATHS + 1] = {
	[MROCE_A_PARAMS_MAX_BURST] = NLA_POLICY_RANGE(NLA_U32, 1, 64),
	[MROCE_A_PARAMS_PROBE_FLOOR] = NLA_POLICY_FULL_RANGE(NLA_U32, &mroce_a_params_probe_floor_range),
	[MROCE_A_PARAMS_DELAY_TARGET] = NLA_POLICY_FULL_RANGE(NLA_U32, &mroce_a_params_delay_target_range),
	[MROCE_A_PARAMS_INIT_PATHS] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
	[MROCE_A_PARAMS_MAX_PATHS] = NLA_POLICY_RANGE(NLA_U32, 1, 512),
};

/* MROCE_CMD_DEV_GET - do */
const struct nla_policy mroce_dev_get_nl_policy[MROCE_A_DEV_NAME + 1] = {
	[MROCE_A_DEV_INDEX] = { .type = NLA_U32, },
	[MROCE_A_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* MROCE_CMD_DEV_SET - do */
const struct nla_policy mroce_dev_set_nl_policy[MROCE_A_DEV_PARAMS + 1] = {
	[MROCE_A_DEV_INDEX] = { .type = NLA_U32, },
	[MROCE_A_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[MROCE_A_DEV_PARAMS] = NLA_POLICY_NESTED(mroce_params_nl_policy),
};

/* MROCE_CMD_CONN_GET - do */
const struct nla_policy mroce_conn_get_nl_policy[MROCE_A_CONN_CID + 1] = {
	[MROCE_A_CONN_DEV_INDEX] = { .type = NLA_U32, },
	[MROCE_A_CONN_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[MROCE_A_CONN_CID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* MROCE_CMD_PATH_GET - do */
const struct nla_policy mroce_path_get_nl_policy[MROCE_A_PATH_ID + 1] = {
	[MROCE_A_PATH_DEV_INDEX] = { .type = NLA_U32, },
	[MROCE_A_PATH_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[MROCE_A_PATH_CID] = NLA_POLICY_MIN(NLA_U32, 1),
	[MROCE_A_PATH_ID] = NLA_POLICY_MAX(NLA_U32, 511),
};

/* MROCE_CMD_PLANE_GET - do */
const struct nla_policy mroce_plane_get_nl_policy[MROCE_A_PLANE_INDEX + 1] = {
	[MROCE_A_PLANE_DEV_INDEX] = { .type = NLA_U32, },
	[MROCE_A_PLANE_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[MROCE_A_PLANE_INDEX] = NLA_POLICY_MAX(NLA_U32, 7),
};

/* MROCE_CMD_PLANE_ADD - do */
const struct nla_policy mroce_plane_add_nl_policy[MROCE_A_PLANE_IFINDEX + 1] = {
	[MROCE_A_PLANE_DEV_INDEX] = { .type = NLA_U32, },
	[MROCE_A_PLANE_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[MROCE_A_PLANE_IFINDEX] = { .type = NLA_U32, },
};

/* MROCE_CMD_PLANE_DEL - do */
const struct nla_policy mroce_plane_del_nl_policy[MROCE_A_PLANE_IFINDEX + 1] = {
	[MROCE_A_PLANE_DEV_INDEX] = { .type = NLA_U32, },
	[MROCE_A_PLANE_DEV_NAME] = { .type = NLA_NUL_STRING, .len = 63, },
	[MROCE_A_PLANE_IFINDEX] = { .type = NLA_U32, },
};

/* Ops table for metaroce */
const struct genl_ops mroce_nl_ops[7] = {
	{
		.cmd		= MROCE_CMD_DEV_GET,
		.doit		= mroce_nl_dev_get_doit,
		.dumpit		= mroce_nl_dev_get_dumpit,
		.policy		= mroce_dev_get_nl_policy,
		.maxattr	= MROCE_A_DEV_NAME,
	},
	{
		.cmd		= MROCE_CMD_DEV_SET,
		.doit		= mroce_nl_dev_set_doit,
		.policy		= mroce_dev_set_nl_policy,
		.maxattr	= MROCE_A_DEV_PARAMS,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= MROCE_CMD_CONN_GET,
		.doit		= mroce_nl_conn_get_doit,
		.dumpit		= mroce_nl_conn_get_dumpit,
		.policy		= mroce_conn_get_nl_policy,
		.maxattr	= MROCE_A_CONN_CID,
	},
	{
		.cmd		= MROCE_CMD_PATH_GET,
		.doit		= mroce_nl_path_get_doit,
		.dumpit		= mroce_nl_path_get_dumpit,
		.policy		= mroce_path_get_nl_policy,
		.maxattr	= MROCE_A_PATH_ID,
	},
	{
		.cmd		= MROCE_CMD_PLANE_GET,
		.doit		= mroce_nl_plane_get_doit,
		.dumpit		= mroce_nl_plane_get_dumpit,
		.policy		= mroce_plane_get_nl_policy,
		.maxattr	= MROCE_A_PLANE_INDEX,
	},
	{
		.cmd		= MROCE_CMD_PLANE_ADD,
		.doit		= mroce_nl_plane_add_doit,
		.policy		= mroce_plane_add_nl_policy,
		.maxattr	= MROCE_A_PLANE_IFINDEX,
		.flags		= GENL_ADMIN_PERM,
	},
	{
		.cmd		= MROCE_CMD_PLANE_DEL,
		.doit		= mroce_nl_plane_del_doit,
		.policy		= mroce_plane_del_nl_policy,
		.maxattr	= MROCE_A_PLANE_IFINDEX,
		.flags		= GENL_ADMIN_PERM,
	},
};
