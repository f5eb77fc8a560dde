// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include <cerrno>

#include "test_support.h"

using mroce_test::MemoryRing;

namespace {

struct CqFixture : testing::Test {
	CqFixture() : ring(4, sizeof(mroce_cqe))
	{
		pthread_spin_init(&cq.lock, PTHREAD_PROCESS_PRIVATE);
		start_at(0);
		mroce_cq_ex_set_ops(&cq, MROCE_CQ_WC_FLAGS);
	}
	~CqFixture() override { pthread_spin_destroy(&cq.lock); }

	void start_at(uint32_t index)
	{
		ring.start_at(index);
		cq.ring = ring.ring;
	}

	// What the kernel does for one completion.
	void complete(uint64_t wr_id, uint32_t qp_num = 5,
		      uint32_t status = IBV_WC_SUCCESS)
	{
		mroce_ring_header *hdr = cq.ring.hdr;
		ASSERT_LT(hdr->producer - hdr->consumer, 4u) << "CQ overrun";
		mroce_cqe cqe{};
		cqe.wr_id = wr_id;
		cqe.timestamp = wr_id * 1000;
		cqe.status = status;
		cqe.opcode = IBV_WC_RECV;
		cqe.vendor_err = 11;
		cqe.byte_len = 12;
		cqe.ex.imm_data = 13;
		cqe.qp_num = qp_num;
		cqe.src_qp = 14;
		cqe.wc_flags = IBV_WC_WITH_IMM | IBV_WC_GRH;
		cqe.pkey_index = 15;
		cqe.slid = 16;
		cqe.sl = 7;
		cqe.dlid_path_bits = 18;
		*ring.slot<mroce_cqe>(hdr->producer) = cqe;
		__atomic_store_n(&hdr->producer, hdr->producer + 1,
				 __ATOMIC_RELEASE);
	}

	ibv_cq *ibcq() { return &cq.vcq.cq; }
	ibv_cq_ex *ex() { return &cq.vcq.cq_ex; }

	MemoryRing ring;
	mroce_cq cq{};
	ibv_poll_cq_attr attr{};
};

TEST_F(CqFixture, PollCopiesEveryField)
{
	complete(1234, 99, IBV_WC_RETRY_EXC_ERR);
	ibv_wc wc{};
	ASSERT_EQ(mroce_poll_cq(ibcq(), 1, &wc), 1);
	EXPECT_EQ(wc.wr_id, 1234u);
	EXPECT_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV);
	EXPECT_EQ(wc.vendor_err, 11u);
	EXPECT_EQ(wc.byte_len, 12u);
	EXPECT_EQ(wc.imm_data, 13u);
	EXPECT_EQ(wc.qp_num, 99u);
	EXPECT_EQ(wc.src_qp, 14u);
	EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM | IBV_WC_GRH});
	EXPECT_EQ(wc.pkey_index, 15);
	EXPECT_EQ(wc.slid, 16);
	EXPECT_EQ(wc.sl, 7);
	EXPECT_EQ(wc.dlid_path_bits, 18);
}

TEST_F(CqFixture, PollTakesNoMoreThanAskedAndNoMoreThanThere)
{
	ibv_wc wc[4];
	EXPECT_EQ(mroce_poll_cq(ibcq(), 4, wc), 0);
	for (uint64_t i = 0; i < 3; i++)
		complete(i);
	EXPECT_EQ(mroce_poll_cq(ibcq(), 0, wc), 0);
	EXPECT_EQ(mroce_poll_cq(ibcq(), 2, wc), 2);
	EXPECT_EQ(cq.ring.hdr->consumer, 2u);
	EXPECT_EQ(mroce_poll_cq(ibcq(), 4, wc), 1);
	EXPECT_EQ(wc[0].wr_id, 2u);
	EXPECT_EQ(mroce_poll_cq(ibcq(), 4, wc), 0);
	EXPECT_EQ(cq.ring.hdr->consumer, 3u);
}

TEST_F(CqFixture, PollGoesRoundAndOverZero)
{
	start_at(UINT32_MAX - 9);
	uint64_t sent = 0, got = 0;
	for (int lap = 0; lap < 10; lap++) {
		for (int i = 0; i < 1 + lap % 4; i++)
			complete(sent++);
		ibv_wc wc[4];
		int n = mroce_poll_cq(ibcq(), 4, wc);
		for (int i = 0; i < n; i++)
			ASSERT_EQ(wc[i].wr_id, got++);
		ASSERT_EQ(got, sent);
	}
}

TEST_F(CqFixture, ExPollReadsEveryField)
{
	complete(21, 99, IBV_WC_WR_FLUSH_ERR);
	ASSERT_EQ(ibv_start_poll(ex(), &attr), 0);
	EXPECT_EQ(ex()->wr_id, 21u);
	EXPECT_EQ(ex()->status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(ibv_wc_read_opcode(ex()), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_vendor_err(ex()), 11u);
	EXPECT_EQ(ibv_wc_read_byte_len(ex()), 12u);
	EXPECT_EQ(ibv_wc_read_imm_data(ex()), 13u);
	EXPECT_EQ(ibv_wc_read_qp_num(ex()), 99u);
	EXPECT_EQ(ibv_wc_read_src_qp(ex()), 14u);
	EXPECT_EQ(ibv_wc_read_wc_flags(ex()), unsigned{IBV_WC_WITH_IMM | IBV_WC_GRH});
	EXPECT_EQ(ibv_wc_read_slid(ex()), 16u);
	EXPECT_EQ(ibv_wc_read_sl(ex()), 7);
	EXPECT_EQ(ibv_wc_read_dlid_path_bits(ex()), 18);
	EXPECT_EQ(ibv_wc_read_completion_ts(ex()), 21000u);
	ibv_end_poll(ex());
}

TEST_F(CqFixture, ExHasOnlyTheReadersAskedFor)
{
	mroce_cq other{};
	mroce_cq_ex_set_ops(&other, IBV_WC_EX_WITH_BYTE_LEN);
	EXPECT_NE(other.vcq.cq_ex.read_byte_len, nullptr);
	EXPECT_EQ(other.vcq.cq_ex.read_imm_data, nullptr);
	EXPECT_EQ(other.vcq.cq_ex.read_completion_ts, nullptr);
	EXPECT_EQ(other.vcq.cq_ex.read_completion_wallclock_ns, nullptr);
}

// The consumer must not pass the producer when next_poll found nothing.
TEST_F(CqFixture, ExEndPollAfterEnoentStaysInStep)
{
	complete(1);
	ASSERT_EQ(ibv_start_poll(ex(), &attr), 0);
	EXPECT_EQ(ibv_next_poll(ex()), ENOENT);
	ibv_end_poll(ex());
	EXPECT_EQ(cq.ring.hdr->consumer, 1u);
	EXPECT_EQ(ibv_start_poll(ex(), &attr), ENOENT);

	complete(2);
	ASSERT_EQ(ibv_start_poll(ex(), &attr), 0);
	EXPECT_EQ(ex()->wr_id, 2u);
	ibv_end_poll(ex());
	EXPECT_EQ(cq.ring.hdr->consumer, 2u);
}

TEST_F(CqFixture, ExEntryStaysReadableAfterItsSlotIsReused)
{
	complete(1, 31);
	ASSERT_EQ(ibv_start_poll(ex(), &attr), 0);
	for (uint64_t i = 2; i < 6; i++)
		complete(i, 32);
	EXPECT_EQ(ibv_wc_read_qp_num(ex()), 31u);
	EXPECT_EQ(ibv_next_poll(ex()), 0);
	EXPECT_EQ(ex()->wr_id, 2u);
	ibv_end_poll(ex());
}

TEST_F(CqFixture, ExUnknownAttributeIsRefusedWithoutTheLock)
{
	complete(1);
	ibv_poll_cq_attr bad{};
	bad.comp_mask = 1;
	EXPECT_EQ(ibv_start_poll(ex(), &bad), EINVAL);
	ibv_wc wc;
	EXPECT_EQ(mroce_poll_cq(ibcq(), 1, &wc), 1);
}

TEST_F(CqFixture, CleanDropsOneQpAndKeepsTheOrderOfOthers)
{
	start_at(UINT32_MAX - 1);
	complete(1, 5);
	complete(2, 6);
	complete(3, 5);
	complete(4, 7);
	mroce_cq_clean(&cq, 5);
	EXPECT_EQ(cq.ring.hdr->consumer, UINT32_MAX - 1 + 2);
	ibv_wc wc[4];
	ASSERT_EQ(mroce_poll_cq(ibcq(), 4, wc), 2);
	EXPECT_EQ(wc[0].wr_id, 2u);
	EXPECT_EQ(wc[1].wr_id, 4u);
}

TEST_F(CqFixture, CleanOfNothingChangesNothing)
{
	complete(1, 6);
	mroce_cq_clean(&cq, 5);
	ibv_wc wc;
	ASSERT_EQ(mroce_poll_cq(ibcq(), 1, &wc), 1);
	mroce_cq_clean(&cq, 6);
	EXPECT_EQ(mroce_poll_cq(ibcq(), 1, &wc), 0);
	EXPECT_EQ(cq.ring.hdr->consumer, 1u);
}

TEST_F(CqFixture, CleanCanEmptyAFullQueue)
{
	for (uint64_t i = 0; i < 4; i++)
		complete(i, 5);
	mroce_cq_clean(&cq, 5);
	ibv_wc wc;
	EXPECT_EQ(mroce_poll_cq(ibcq(), 1, &wc), 0);
	EXPECT_EQ(cq.ring.hdr->consumer, 4u);
}

} // namespace
