/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IBVERBS_PRIVATE_34: rdma-core 34 to 56. Only what this provider uses, in our
 * own words; the layouts are facts of the binary interface, and the asserts at
 * the end and pabi_test.cc hold them against the installed library.
 *
 * Left out on purpose, since they changed inside number 34:
 * ibv_cmd_reg_dmabuf_mr (gained an argument).
 */
#ifndef MROCE_PABI34_H
#define MROCE_PABI34_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct verbs_sysfs_dev;			/* opaque to us */
struct verbs_xrcd;

/* Matching a kernel device to a provider. */
enum {
	VERBS_MATCH_DRIVER_ID = 3,
};

struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		uint64_t driver_id;
	} u;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind;
};

struct verbs_device_ops;

struct verbs_device {
	struct ibv_device device;
	const struct verbs_device_ops *ops;
	int refcount;
	struct {
		void *next, *prev;
	} entry;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *device,
					       int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device,
						int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

/* Objects that are larger in the library than in the public header. */
struct verbs_mr {
	struct ibv_mr ibv_mr;
	int mr_type;
	int access;
};

enum {
	VERBS_QP_EX = 1 << 1,
};

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask;
	struct verbs_xrcd *xrcd;
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

/* What a provider implements: alphabetical, and all of it is a pointer. */
struct verbs_context_ops {
	void (*advise_mr)(void);
	void (*alloc_dm)(void);
	struct ibv_mw *(*alloc_mw)(struct ibv_pd *pd, enum ibv_mw_type type);
	void (*alloc_null_mr)(void);
	void (*alloc_parent_domain)(void);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
	void (*alloc_td)(void);
	void (*async_event)(struct ibv_context *context,
			    struct ibv_async_event *event);
	void (*attach_counters_point_flow)(void);
	int (*attach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid,
			    uint16_t lid);
	int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw,
		       struct ibv_mw_bind *mw_bind);
	void (*close_xrcd)(void);
	void (*cq_event)(struct ibv_cq *cq);
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd,
				    struct ibv_ah_attr *attr);
	void (*create_counters)(void);
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe,
				    struct ibv_comp_channel *channel,
				    int comp_vector);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attr);
	void (*create_flow)(void);
	void (*create_flow_action_esp)(void);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd,
				    struct ibv_qp_init_attr *attr);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr);
	void (*create_rwq_ind_table)(void);
	struct ibv_srq *(*create_srq)(struct ibv_pd *pd,
				      struct ibv_srq_init_attr *attr);
	void (*create_srq_ex)(void);
	void (*create_wq)(void);
	int (*dealloc_mw)(struct ibv_mw *mw);
	int (*dealloc_pd)(struct ibv_pd *pd);
	void (*dealloc_td)(void);
	int (*dereg_mr)(struct verbs_mr *vmr);
	int (*destroy_ah)(struct ibv_ah *ah);
	void (*destroy_counters)(void);
	int (*destroy_cq)(struct ibv_cq *cq);
	void (*destroy_flow)(void);
	void (*destroy_flow_action)(void);
	int (*destroy_qp)(struct ibv_qp *qp);
	void (*destroy_rwq_ind_table)(void);
	int (*destroy_srq)(struct ibv_srq *srq);
	void (*destroy_wq)(void);
	int (*detach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid,
			    uint16_t lid);
	void (*free_context)(struct ibv_context *context);
	void (*free_dm)(void);
	void (*get_srq_num)(void);
	void (*import_dm)(void);
	void (*import_mr)(void);
	void (*import_pd)(void);
	void (*modify_cq)(void);
	void (*modify_flow_action_esp)(void);
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			 int attr_mask);
	void (*modify_qp_rate_limit)(void);
	int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			  int attr_mask);
	void (*modify_wq)(void);
	void (*open_qp)(void);
	void (*open_xrcd)(void);
	int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad_wr);
	void (*post_srq_ops)(void);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr);
	int (*query_device_ex)(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr,
			       size_t attr_size);
	void (*query_ece)(void);
	int (*query_port)(struct ibv_context *context, uint8_t port_num,
			  struct ibv_port_attr *attr);
	int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			int attr_mask, struct ibv_qp_init_attr *init_attr);
	int (*query_qp_data_in_order)(struct ibv_qp *qp, enum ibv_wr_opcode op,
				      uint32_t flags);
	int (*query_rt_values)(struct ibv_context *context,
			       struct ibv_values_ex *values);
	int (*query_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr);
	void (*read_counters)(void);
	void (*reg_dm_mr)(void);
	void (*reg_dmabuf_mr)(void);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
				 uint64_t hca_va, int access);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	int (*rereg_mr)(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
			void *addr, size_t length, int access);
	int (*resize_cq)(struct ibv_cq *cq, int cqe);
	void (*set_ece)(void);
	void (*unimport_dm)(void);
	void (*unimport_mr)(void);
	void (*unimport_pd)(void);
};

/* Commands: the write() header, then the kernel's structure. */
#define MROCE_DECLARE_CMD(name)						\
	struct ibv_##name {						\
		struct ib_uverbs_cmd_hdr hdr;				\
		struct ib_uverbs_##name core_payload;			\
	}

MROCE_DECLARE_CMD(get_context);
MROCE_DECLARE_CMD(query_port);
MROCE_DECLARE_CMD(alloc_pd);
MROCE_DECLARE_CMD(alloc_mw);
MROCE_DECLARE_CMD(reg_mr);
MROCE_DECLARE_CMD(rereg_mr);
MROCE_DECLARE_CMD(create_cq);
MROCE_DECLARE_CMD(resize_cq);
MROCE_DECLARE_CMD(create_srq);
MROCE_DECLARE_CMD(modify_srq);
MROCE_DECLARE_CMD(query_srq);
MROCE_DECLARE_CMD(create_qp);
MROCE_DECLARE_CMD(query_qp);
MROCE_DECLARE_CMD(modify_qp);
MROCE_DECLARE_CMD(post_send);
MROCE_DECLARE_CMD(post_recv);
MROCE_DECLARE_CMD(post_srq_recv);

struct ibv_create_cq_ex {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_ex_cmd_hdr ex_hdr;
	struct ib_uverbs_ex_create_cq core_payload;
};

/* Registration and contexts. */
void verbs_register_driver_34(const struct verbs_device_ops *ops);
#define verbs_register_driver verbs_register_driver_34

void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *context_offset,
				    uint32_t driver_id);
void verbs_uninit_context(struct verbs_context *context);
void verbs_set_ops(struct verbs_context *context,
		   const struct verbs_context_ops *ops);

int ibv_cmd_get_context(struct verbs_context *context,
			struct ibv_get_context *cmd, size_t cmd_size,
			struct ib_uverbs_get_context_resp *resp,
			size_t resp_size);
int ibv_cmd_query_device_any(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp,
			     size_t *resp_size);
int ibv_cmd_query_port(struct ibv_context *context, uint8_t port_num,
		       struct ibv_port_attr *attr,
		       struct ibv_query_port *cmd, size_t cmd_size);

/* Protection domains, memory. */
int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd,
		     struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size);
int ibv_cmd_dealloc_pd(struct ibv_pd *pd);
int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
		   uint64_t hca_va, int access, struct verbs_mr *vmr,
		   struct ibv_reg_mr *cmd, size_t cmd_size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size);
int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr,
		     size_t length, uint64_t hca_va, int access,
		     struct ibv_pd *pd, struct ibv_rereg_mr *cmd,
		     size_t cmd_size, struct ib_uverbs_rereg_mr_resp *resp,
		     size_t resp_size);
int ibv_cmd_dereg_mr(struct verbs_mr *vmr);
int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type,
		     struct ibv_mw *mw, struct ibv_alloc_mw *cmd,
		     size_t cmd_size, struct ib_uverbs_alloc_mw_resp *resp,
		     size_t resp_size);
int ibv_cmd_dealloc_mw(struct ibv_mw *mw);

/* Completion queues. */
int ibv_cmd_create_cq(struct ibv_context *context, int cqe,
		      struct ibv_comp_channel *channel, int comp_vector,
		      struct ibv_cq *cq, struct ibv_create_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_create_cq_resp *resp,
		      size_t resp_size);
int ibv_cmd_create_cq_ex(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags);
int ibv_cmd_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size);
int ibv_cmd_destroy_cq(struct ibv_cq *cq);

/* Shared receive queues. */
int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp,
		       size_t resp_size);
int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		       int attr_mask, struct ibv_modify_srq *cmd,
		       size_t cmd_size);
int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		      struct ibv_query_srq *cmd, size_t cmd_size);
int ibv_cmd_destroy_srq(struct ibv_srq *srq);

/* Queue pairs, address handles, multicast. */
int ibv_cmd_create_qp_ex(struct ibv_context *context, struct verbs_qp *qp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size);
int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		     int attr_mask, struct ibv_qp_init_attr *init_attr,
		     struct ibv_query_qp *cmd, size_t cmd_size);
int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
		      int attr_mask, struct ibv_modify_qp *cmd,
		      size_t cmd_size);
int ibv_cmd_destroy_qp(struct ibv_qp *qp);
int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah,
		      struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size);
int ibv_cmd_destroy_ah(struct ibv_ah *ah);
int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid);
int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid);

#ifdef __cplusplus
}
#endif

#if __SIZEOF_POINTER__ == 8
#define MROCE_PABI_ASSERT(cond) _Static_assert(cond, #cond)
#ifdef __cplusplus
#undef MROCE_PABI_ASSERT
#define MROCE_PABI_ASSERT(cond) static_assert(cond, #cond)
#endif
MROCE_PABI_ASSERT(sizeof(struct verbs_device_ops) == 72);
MROCE_PABI_ASSERT(sizeof(struct verbs_device) == 712);
MROCE_PABI_ASSERT(sizeof(struct verbs_context) == 648);
MROCE_PABI_ASSERT(sizeof(struct verbs_context_ops) == 608);
MROCE_PABI_ASSERT(sizeof(struct verbs_match_ent) == 24);
MROCE_PABI_ASSERT(sizeof(struct verbs_mr) == 56);
MROCE_PABI_ASSERT(sizeof(struct verbs_qp) == sizeof(struct ibv_qp_ex) + 16);
MROCE_PABI_ASSERT(offsetof(struct verbs_qp, comp_mask) ==
		  sizeof(struct ibv_qp_ex));
#endif

#endif /* MROCE_PABI34_H */
