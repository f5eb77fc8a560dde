// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Extended posting (ibv_wr_*) on rings in memory.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "test_support.h"

using mroce_test::QpFixture;

namespace {

constexpr uint64_t kRcOps =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
	IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

struct WrTest : testing::Test {
	WrTest()
	{
		EXPECT_EQ(mroce_wr_set_ops(&f.qp, kRcOps), 0);
		ex->wr_id = 1;
		ex->wr_flags = IBV_SEND_SIGNALED;
	}
	QpFixture f{IBV_QPT_RC, 16};
	ibv_qp_ex *ex = f.ex();
};

TEST_F(WrTest, EveryOpcodeInOneBatch)
{
	ibv_mw mw{};
	mw.rkey = 50;
	ibv_mr mr{};
	mr.lkey = 51;
	ibv_mw_bind_info info = {&mr, 0x10, 0x20, 1};
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 7, 0x1000, 64);
	ex->wr_id = 2;
	ex->wr_flags = 0;
	ibv_wr_send_imm(ex, 0x11);
	ibv_wr_send_inv(ex, 0x12);
	ibv_wr_rdma_write(ex, 0x13, 0x1300);
	ibv_wr_rdma_write_imm(ex, 0x14, 0x1400, 0x15);
	ibv_wr_rdma_read(ex, 0x16, 0x1600);
	ibv_wr_atomic_cmp_swp(ex, 0x17, 0x1700, 1, 2);
	ibv_wr_atomic_fetch_add(ex, 0x18, 0x1800, 3);
	ibv_wr_local_inv(ex, 0x19);
	ibv_wr_bind_mw(ex, &mw, 52, &info);
	EXPECT_EQ(f.qp.sq.hdr->producer, 0u) << "published too early";
	ASSERT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(f.qp.sq.hdr->producer, 10u);
	EXPECT_EQ(f.doorbells(), 1);

	EXPECT_EQ(f.wqe(0)->wr_id, 1u);
	EXPECT_EQ(f.wqe(0)->opcode, uint32_t{IBV_WR_SEND});
	EXPECT_EQ(f.wqe(0)->flags, uint32_t{MROCE_WQE_SIGNALED});
	EXPECT_EQ(f.wqe(0)->num_sge, 1u);
	EXPECT_EQ(f.sge(0)->addr, 0x1000u);
	EXPECT_EQ(f.sge(0)->length, 64u);
	EXPECT_EQ(f.sge(0)->lkey, 7u);
	EXPECT_EQ(f.wqe(1)->wr_id, 2u);
	EXPECT_EQ(f.wqe(1)->flags, 0u);
	EXPECT_EQ(f.wqe(1)->num_sge, 0u);
	EXPECT_EQ(f.wqe(1)->ex.imm_data, 0x11u);
	EXPECT_EQ(f.wqe(2)->opcode, uint32_t{IBV_WR_SEND_WITH_INV});
	EXPECT_EQ(f.wqe(2)->ex.invalidate_rkey, 0x12u);
	EXPECT_EQ(f.wqe(3)->wr.rdma.rkey, 0x13u);
	EXPECT_EQ(f.wqe(3)->wr.rdma.remote_addr, 0x1300u);
	EXPECT_EQ(f.wqe(4)->ex.imm_data, 0x15u);
	EXPECT_EQ(f.wqe(4)->wr.rdma.rkey, 0x14u);
	EXPECT_EQ(f.wqe(5)->opcode, uint32_t{IBV_WR_RDMA_READ});
	EXPECT_EQ(f.wqe(6)->wr.rdma.compare_add, 1u);
	EXPECT_EQ(f.wqe(6)->wr.rdma.swap, 2u);
	EXPECT_EQ(f.wqe(7)->wr.rdma.compare_add, 3u);
	EXPECT_EQ(f.wqe(8)->ex.invalidate_rkey, 0x19u);
	EXPECT_EQ(f.wqe(9)->wr.bind.mw_rkey, 50u);
	EXPECT_EQ(f.wqe(9)->wr.bind.mr_lkey, 51u);
	EXPECT_EQ(f.wqe(9)->wr.bind.rkey, 52u);
}

TEST_F(WrTest, ListsOfPieces)
{
	ibv_sge sge[2] = {{1, 2, 3}, {4, 5, 6}};
	char abc[] = "abc", de[] = "de";
	ibv_data_buf bufs[2] = {{abc, 3}, {de, 2}};
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 2, sge);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, bufs);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, abc, 3);
	ASSERT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(f.wqe(0)->num_sge, 2u);
	EXPECT_EQ(f.sge(0)[1].addr, 4u);
	EXPECT_EQ(f.wqe(1)->inline_len, 5u);
	EXPECT_EQ(std::string(f.data(1), 5), "abcde");
	EXPECT_TRUE(f.wqe(1)->flags & MROCE_WQE_INLINE);
	EXPECT_EQ(f.wqe(2)->inline_len, 3u);
}

TEST_F(WrTest, AbortLeavesNothing)
{
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	EXPECT_EQ(f.qp.sq.hdr->producer, 0u);
	EXPECT_EQ(f.doorbells(), 0);
	// The lock is free, and the next batch starts at the same slot.
	ibv_wr_start(ex);
	ibv_wr_local_inv(ex, 5);
	ASSERT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(f.wqe(0)->ex.invalidate_rkey, 5u);
	EXPECT_EQ(f.qp.sq.hdr->producer, 1u);
}

TEST_F(WrTest, TooMuchFailsTheWholeBatch)
{
	ibv_sge sge[5] = {};
	char byte = 0;
	ibv_data_buf wraps[2] = {{&byte, 1}, {&byte, SIZE_MAX}};
	for (int what = 0; what < 3; what++) {
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, 1, 2, 3);
		ibv_wr_send(ex);
		switch (what) {
		case 0:
			ibv_wr_set_sge_list(ex, 5, sge);
			break;
		case 1:
			ibv_wr_set_inline_data(ex, &byte,
					       QpFixture::kMaxInline + 1);
			break;
		case 2:
			ibv_wr_set_inline_data_list(ex, 2, wraps);
			break;
		}
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, &byte, 1);
		EXPECT_EQ(ibv_wr_complete(ex), EINVAL) << what;
		EXPECT_EQ(f.qp.sq.hdr->producer, 0u);
	}
	EXPECT_EQ(f.doorbells(), 0);
}

TEST_F(WrTest, FullQueueFailsTheWholeBatch)
{
	ibv_wr_start(ex);
	for (int i = 0; i < 17; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, 1, 2, 3);
	}
	EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
	EXPECT_EQ(f.qp.sq.hdr->producer, 0u);
	ibv_wr_start(ex);
	for (int i = 0; i < 16; i++)
		ibv_wr_send(ex);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
}

TEST_F(WrTest, EmptyBatchRingsNoBell)
{
	ibv_wr_start(ex);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(f.doorbells(), 0);
}

TEST_F(WrTest, NotBeforeRts)
{
	f.ibqp()->state = IBV_QPS_RTR;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
	EXPECT_EQ(f.qp.sq.hdr->producer, 0u);
}

TEST(WrOps, DatagramAddress)
{
	QpFixture f(IBV_QPT_UD);
	ASSERT_EQ(mroce_wr_set_ops(&f.qp, IBV_QP_EX_WITH_SEND), 0);
	mroce_ah ah{};
	ah.ah_num = 8;
	ibv_wr_start(f.ex());
	ibv_wr_send(f.ex());
	ibv_wr_set_ud_addr(f.ex(), &ah.ibah, 9, 10);
	ASSERT_EQ(ibv_wr_complete(f.ex()), 0);
	EXPECT_EQ(f.wqe(0)->wr.ud.ah_num, 8u);
	EXPECT_EQ(f.wqe(0)->wr.ud.remote_qpn, 9u);
	EXPECT_EQ(f.wqe(0)->wr.ud.remote_qkey, 10u);
}

TEST(WrOps, WhatTheTypeLacksIsNotSupported)
{
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
		QpFixture f(type);
		EXPECT_EQ(mroce_wr_set_ops(&f.qp, IBV_QP_EX_WITH_TSO),
			  EOPNOTSUPP);
		EXPECT_EQ(mroce_wr_set_ops(&f.qp, IBV_QP_EX_WITH_RDMA_READ),
			  type == IBV_QPT_RC ? 0 : EOPNOTSUPP);
		EXPECT_EQ(mroce_wr_set_ops(&f.qp, IBV_QP_EX_WITH_RDMA_WRITE),
			  type == IBV_QPT_UD ? EOPNOTSUPP : 0);
	}
}

TEST(WrOps, OnlyWhatWasAskedFor)
{
	QpFixture f;
	ASSERT_EQ(mroce_wr_set_ops(&f.qp, IBV_QP_EX_WITH_SEND), 0);
	EXPECT_NE(f.ex()->wr_send, nullptr);
	EXPECT_EQ(f.ex()->wr_rdma_write, nullptr);
}

} // namespace
