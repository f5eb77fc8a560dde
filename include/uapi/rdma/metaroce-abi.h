/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * metaroce: the verbs ABI, shared by the kernel driver and the rdma-core provider.
 *
 * Every queue is one mmap'ed ring: a header page with the two indices, then
 * @entries slots of @entry_size bytes. Indices run freely over 32 bits; a slot
 * is index & (entries - 1). The kernel keeps its own copy of the index that it
 * owns and copies and checks each slot before it uses it: nothing in a ring is
 * trusted.
 */
#ifndef _UAPI_RDMA_METAROCE_ABI_H
#define _UAPI_RDMA_METAROCE_ABI_H

#include <linux/types.h>

#define MROCE_UVERBS_ABI_VERSION	1

/* Private driver id: 0 can't be matched by a provider, low numbers are others'. */
#define MROCE_DRIVER_ID			0x4d52

#define MROCE_RING_HEADER_SIZE		4096
#define MROCE_MAX_INLINE		512
#define MROCE_MAX_SGE			32

/* The first page of a ring; the two sides write different cache lines. */
struct mroce_ring_header {
	__u32 producer;
	__u32 rsvd0[31];
	__u32 consumer;
	__u32 flags;		/* enum mroce_ring_flags, written by the kernel */
	__u32 rsvd1[30];
};

/*
 * Receives are posted without a system call. When the kernel wants to hear of
 * each new one (the QP went to ERR by itself and flushes them), it sets
 * NEED_DOORBELL, then reads @producer; user space writes @producer, then reads
 * @flags, with a full barrier between the two on both sides, and rings the
 * POST_RECV (POST_SRQ_RECV) command if the flag is set. So one of the two always
 * sees the other.
 */
enum mroce_ring_flags {
	MROCE_RING_F_NEED_DOORBELL	= 1 << 0,
};

/*
 * Where a ring is mapped, as the create commands return it. For SQ, RQ and SRQ
 * user space is the producer, and @consumer says how many work requests have
 * completed; it advances before the completion shows in the CQ, so that who
 * polls may post at once. For CQ the kernel is the producer. RESET empties the
 * rings of a QP and sets both indices to 0, by the kernel.
 */
struct mroce_ring_info {
	__aligned_u64 mmap_offset;
	__u32 mmap_size;	/* bytes, the header page included; 0: no ring */
	__u32 entries;		/* a power of two */
	__u32 entry_size;	/* bytes */
	__u32 rsvd;
};

struct mroce_alloc_ucontext_resp {
	__u32 abi_version;
	__u32 max_inline;
	__u32 max_sge;
	__u32 rsvd;
};

struct mroce_create_cq_resp {
	struct mroce_ring_info cq;
};

/*
 * The new ring holds what the process hasn't consumed, at the same indices; it
 * polls nothing during the command.
 */
struct mroce_resize_cq_resp {
	struct mroce_ring_info cq;
};

struct mroce_create_qp_resp {
	struct mroce_ring_info sq;
	struct mroce_ring_info rq;	/* mmap_size 0 if the QP uses an SRQ */
};

struct mroce_create_srq_resp {
	struct mroce_ring_info rq;
	__u32 srqn;
	__u32 rsvd;
};

struct mroce_modify_srq_cmd {
	__aligned_u64 rsvd;
};

struct mroce_create_ah_resp {
	__u32 ah_num;		/* for mroce_send_wqe.ud.ah_num */
	__u32 rsvd;
};

struct mroce_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* Opcodes have the values of enum ib_uverbs_wr_opcode (ibv_wr_opcode). */
enum mroce_wqe_flags {
	MROCE_WQE_FENCE		= 1 << 0,	/* as IBV_SEND_FENCE */
	MROCE_WQE_SIGNALED	= 1 << 1,	/* as IBV_SEND_SIGNALED */
	MROCE_WQE_SOLICITED	= 1 << 2,	/* as IBV_SEND_SOLICITED */
	MROCE_WQE_INLINE	= 1 << 3,	/* as IBV_SEND_INLINE */
};

/*
 * One send work request; @num_sge entries of struct mroce_sge follow, or, with
 * MROCE_WQE_INLINE, @inline_len bytes of data.
 */
struct mroce_send_wqe {
	__aligned_u64 wr_id;
	__u32 opcode;
	__u32 flags;		/* enum mroce_wqe_flags */
	__u32 num_sge;
	__u32 inline_len;
	union {
		__be32 imm_data;
		__u32 invalidate_rkey;
	} ex;
	__u32 rsvd;
	union {
		struct {
			__aligned_u64 remote_addr;
			__aligned_u64 compare_add;
			__aligned_u64 swap;
			__u32 rkey;
			__u32 rsvd;
		} rdma;		/* READ, WRITE, atomics */
		struct {
			__u32 ah_num;
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 rsvd;
		} ud;
		struct {
			__aligned_u64 addr;
			__aligned_u64 length;
			__u32 mr_lkey;
			__u32 mw_rkey;
			__u32 rkey;
			__u32 access;
		} bind;
		__aligned_u64 pad[4];
	} wr;
};

struct mroce_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 rsvd;
	struct mroce_sge sge[];
};

/* Status, opcode and flags have the values of the ib_uverbs_wc_* / ibv_wc_* enums. */
struct mroce_cqe {
	__aligned_u64 wr_id;
	/* ns, CLOCK_MONOTONIC_RAW; 0 without IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION */
	__aligned_u64 timestamp;
	__u32 status;
	__u32 opcode;
	__u32 vendor_err;
	__u32 byte_len;
	union {
		__be32 imm_data;
		__u32 invalidated_rkey;
	} ex;
	__u32 qp_num;
	__u32 src_qp;
	__u32 wc_flags;
	__u16 pkey_index;
	__u16 slid;
	__u8 sl;
	__u8 dlid_path_bits;
	__u8 rsvd[10];
};

#endif /* _UAPI_RDMA_METAROCE_ABI_H */
