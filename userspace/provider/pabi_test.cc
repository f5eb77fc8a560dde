// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Holds our declarations of the private ABI against the installed library: a
// table of marks goes through its verbs_set_ops(), and each mark must come out
// at the public member that libibverbs calls for that verb.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "metaroce.h"

namespace {

constexpr size_t kOps = sizeof(verbs_context_ops) / sizeof(void *);
using Marks = std::array<uintptr_t, kOps>;

// The mark of an op is its place in our declaration.
constexpr uintptr_t mark(size_t offset) { return 0x1000 + offset; }

struct PabiFixture : testing::Test {
	PabiFixture() : priv(65536)
	{
		Marks marks;
		for (size_t i = 0; i < kOps; i++)
			marks[i] = mark(i * sizeof(void *));
		verbs_context_ops ops;
		std::memcpy(&ops, marks.data(), sizeof(ops));
		ctx.priv = reinterpret_cast<verbs_ex_private *>(priv.data());
		verbs_set_ops(&ctx, &ops);
	}

	std::vector<uint8_t> priv;
	verbs_context ctx{};
};

#define EXPECT_OP(public_member, op)                                         \
	EXPECT_EQ(reinterpret_cast<uintptr_t>(public_member),                \
		  mark(offsetof(verbs_context_ops, op)))                     \
		<< #op

TEST_F(PabiFixture, DataPathOpsArriveInTheContext)
{
	const ibv_context_ops &ops = ctx.context.ops;
	EXPECT_OP(ops.alloc_mw, alloc_mw);
	EXPECT_OP(ops.bind_mw, bind_mw);
	EXPECT_OP(ops.dealloc_mw, dealloc_mw);
	EXPECT_OP(ops.poll_cq, poll_cq);
	EXPECT_OP(ops.req_notify_cq, req_notify_cq);
	EXPECT_OP(ops.post_srq_recv, post_srq_recv);
	EXPECT_OP(ops.post_send, post_send);
	EXPECT_OP(ops.post_recv, post_recv);
}

TEST_F(PabiFixture, ControlOpsArriveInTheContext)
{
	const ibv_context_ops &ops = ctx.context.ops;
	EXPECT_OP(ops._compat_alloc_pd, alloc_pd);
	EXPECT_OP(ops._compat_dealloc_pd, dealloc_pd);
	EXPECT_OP(ops._compat_reg_mr, reg_mr);
	EXPECT_OP(ops._compat_rereg_mr, rereg_mr);
	EXPECT_OP(ops._compat_dereg_mr, dereg_mr);
	EXPECT_OP(ops._compat_create_cq, create_cq);
	EXPECT_OP(ops._compat_resize_cq, resize_cq);
	EXPECT_OP(ops._compat_destroy_cq, destroy_cq);
	EXPECT_OP(ops._compat_create_srq, create_srq);
	EXPECT_OP(ops._compat_modify_srq, modify_srq);
	EXPECT_OP(ops._compat_query_srq, query_srq);
	EXPECT_OP(ops._compat_destroy_srq, destroy_srq);
	EXPECT_OP(ops._compat_create_qp, create_qp);
	EXPECT_OP(ops._compat_query_qp, query_qp);
	EXPECT_OP(ops._compat_modify_qp, modify_qp);
	EXPECT_OP(ops._compat_destroy_qp, destroy_qp);
	EXPECT_OP(ops._compat_create_ah, create_ah);
	EXPECT_OP(ops._compat_destroy_ah, destroy_ah);
	EXPECT_OP(ops._compat_attach_mcast, attach_mcast);
	EXPECT_OP(ops._compat_detach_mcast, detach_mcast);
}

TEST_F(PabiFixture, ExtendedOpsArriveInTheContext)
{
	EXPECT_OP(ctx.create_qp_ex, create_qp_ex);
	EXPECT_OP(ctx.query_rt_values, query_rt_values);
	EXPECT_OP(ctx.modify_cq, modify_cq);
	EXPECT_OP(ctx.advise_mr, advise_mr);
	EXPECT_OP(ctx.create_wq, create_wq);
	EXPECT_OP(ctx.alloc_td, alloc_td);
	EXPECT_OP(ctx.reg_dm_mr, reg_dm_mr);
	EXPECT_OP(ctx.read_counters, read_counters);
}

// The library keeps the whole table for itself: its length, and its order.
TEST_F(PabiFixture, LibraryKeepsATableOfTheSameShape)
{
	Marks kept{};
	size_t at = 0;
	for (; at + sizeof(kept) <= priv.size(); at += sizeof(void *)) {
		std::memcpy(kept.data(), priv.data() + at, sizeof(kept));
		if (kept[0] == mark(0))
			break;
	}
	for (size_t i = 0; i < kOps; i++)
		EXPECT_EQ(kept[i], mark(i * sizeof(void *))) << i;
	uintptr_t next = 0;
	std::memcpy(&next, priv.data() + at + sizeof(kept), sizeof(next));
	EXPECT_EQ(next, 0u);
}

} // namespace
