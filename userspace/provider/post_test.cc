// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Classic posting: what stands in the ring, what is refused, which doorbells.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "test_support.h"

using mroce_test::QpFixture;

namespace {

ibv_send_wr make_wr(ibv_wr_opcode opcode, ibv_sge *sge, int num_sge)
{
	ibv_send_wr wr{};
	wr.wr_id = 0x1122334455667788;
	wr.opcode = opcode;
	wr.sg_list = sge;
	wr.num_sge = num_sge;
	return wr;
}

ibv_sge sge_of(const void *data, uint32_t length, uint32_t lkey = 3)
{
	return {reinterpret_cast<uintptr_t>(data), length, lkey};
}

TEST(PostSend, SendWithScatterList)
{
	QpFixture f;
	ibv_sge sge[2] = {{0x1000, 10, 1}, {0x2000, 20, 2}};
	ibv_send_wr wr = make_wr(IBV_WR_SEND, sge, 2), *bad = nullptr;
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	ASSERT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
	const mroce_send_wqe *wqe = f.wqe(0);
	EXPECT_EQ(wqe->wr_id, wr.wr_id);
	EXPECT_EQ(wqe->opcode, uint32_t{IB_UVERBS_WR_SEND});
	EXPECT_EQ(wqe->flags, uint32_t{MROCE_WQE_SIGNALED | MROCE_WQE_FENCE |
				       MROCE_WQE_SOLICITED});
	EXPECT_EQ(wqe->num_sge, 2u);
	EXPECT_EQ(wqe->inline_len, 0u);
	EXPECT_EQ(wqe->rsvd, 0u);
	EXPECT_EQ(f.sge(0)[1].addr, 0x2000u);
	EXPECT_EQ(f.sge(0)[1].length, 20u);
	EXPECT_EQ(f.sge(0)[1].lkey, 2u);
	EXPECT_EQ(f.qp.sq.hdr->producer, 1u);
	EXPECT_EQ(f.doorbells(), 1);
}

TEST(PostSend, WriteReadAndImmediates)
{
	QpFixture f;
	ibv_sge sge{0x1000, 10, 1};
	const ibv_wr_opcode ops[] = {IBV_WR_RDMA_WRITE,
				     IBV_WR_RDMA_WRITE_WITH_IMM,
				     IBV_WR_RDMA_READ};
	for (uint32_t i = 0; i < 3; i++) {
		ibv_send_wr wr = make_wr(ops[i], &sge, 1), *bad;
		wr.imm_data = 0xdead;
		wr.wr.rdma.remote_addr = 0xabc0;
		wr.wr.rdma.rkey = 9;
		ASSERT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
		EXPECT_EQ(f.wqe(i)->opcode, uint32_t(ops[i]));
		EXPECT_EQ(f.wqe(i)->wr.rdma.remote_addr, 0xabc0u);
		EXPECT_EQ(f.wqe(i)->wr.rdma.rkey, 9u);
		EXPECT_EQ(f.wqe(i)->ex.imm_data,
			  ops[i] == IBV_WR_RDMA_WRITE_WITH_IMM ? 0xdeadu : 0u);
	}
}

TEST(PostSend, Atomics)
{
	QpFixture f;
	ibv_sge sge{0x1000, 8, 1};
	const ibv_wr_opcode ops[] = {IBV_WR_ATOMIC_CMP_AND_SWP,
				     IBV_WR_ATOMIC_FETCH_AND_ADD};
	for (uint32_t i = 0; i < 2; i++) {
		ibv_send_wr wr = make_wr(ops[i], &sge, 1), *bad;
		wr.wr.atomic.remote_addr = 0xabc0;
		wr.wr.atomic.compare_add = 4;
		wr.wr.atomic.swap = 5;
		wr.wr.atomic.rkey = 6;
		ASSERT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
		EXPECT_EQ(f.wqe(i)->wr.rdma.remote_addr, 0xabc0u);
		EXPECT_EQ(f.wqe(i)->wr.rdma.compare_add, 4u);
		EXPECT_EQ(f.wqe(i)->wr.rdma.swap, 5u);
		EXPECT_EQ(f.wqe(i)->wr.rdma.rkey, 6u);
	}
}

TEST(PostSend, InvalidationsAndBind)
{
	QpFixture f;
	ibv_send_wr inv = make_wr(IBV_WR_LOCAL_INV, nullptr, 0), *bad;
	inv.invalidate_rkey = 0x77;
	ASSERT_EQ(mroce_post_send(f.ibqp(), &inv, &bad), 0);
	EXPECT_EQ(f.wqe(0)->ex.invalidate_rkey, 0x77u);
	inv.opcode = IBV_WR_SEND_WITH_INV;
	ASSERT_EQ(mroce_post_send(f.ibqp(), &inv, &bad), 0);
	EXPECT_EQ(f.wqe(1)->ex.invalidate_rkey, 0x77u);

	ibv_mr mr{};
	mr.lkey = 21;
	ibv_mw mw{};
	mw.rkey = 22;
	ibv_send_wr bind = make_wr(IBV_WR_BIND_MW, nullptr, 0);
	bind.bind_mw.mw = &mw;
	bind.bind_mw.rkey = 23;
	bind.bind_mw.bind_info = {&mr, 0x5000, 0x100, IBV_ACCESS_REMOTE_READ};
	ASSERT_EQ(mroce_post_send(f.ibqp(), &bind, &bad), 0);
	EXPECT_EQ(f.wqe(2)->wr.bind.addr, 0x5000u);
	EXPECT_EQ(f.wqe(2)->wr.bind.length, 0x100u);
	EXPECT_EQ(f.wqe(2)->wr.bind.mr_lkey, 21u);
	EXPECT_EQ(f.wqe(2)->wr.bind.mw_rkey, 22u);
	EXPECT_EQ(f.wqe(2)->wr.bind.rkey, 23u);
	EXPECT_EQ(f.wqe(2)->wr.bind.access, uint32_t{IBV_ACCESS_REMOTE_READ});
	bind.bind_mw.mw = nullptr;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &bind, &bad), EINVAL);
}

TEST(PostSend, DatagramNamesItsAddressHandle)
{
	QpFixture f(IBV_QPT_UD);
	mroce_ah ah{};
	ah.ah_num = 31;
	ibv_send_wr wr = make_wr(IBV_WR_SEND_WITH_IMM, nullptr, 0), *bad;
	wr.wr.ud.ah = &ah.ibah;
	wr.wr.ud.remote_qpn = 32;
	wr.wr.ud.remote_qkey = 33;
	ASSERT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
	EXPECT_EQ(f.wqe(0)->wr.ud.ah_num, 31u);
	EXPECT_EQ(f.wqe(0)->wr.ud.remote_qpn, 32u);
	EXPECT_EQ(f.wqe(0)->wr.ud.remote_qkey, 33u);
	wr.wr.ud.ah = nullptr;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), EINVAL);
}

TEST(PostSend, InlineGathersAllPieces)
{
	QpFixture f;
	ibv_sge sge[3] = {sge_of("abc", 3), sge_of("", 0), sge_of("defg", 4)};
	ibv_send_wr wr = make_wr(IBV_WR_SEND, sge, 3), *bad;
	wr.send_flags = IBV_SEND_INLINE;
	ASSERT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
	EXPECT_EQ(f.wqe(0)->flags, uint32_t{MROCE_WQE_INLINE});
	EXPECT_EQ(f.wqe(0)->num_sge, 0u);
	EXPECT_EQ(f.wqe(0)->inline_len, 7u);
	EXPECT_EQ(std::string(f.data(0), 7), "abcdefg");
}

TEST(PostSend, InlineExactlyFullAndOneMore)
{
	QpFixture f;
	std::string big(QpFixture::kMaxInline + 1, 'x');
	ibv_sge sge = sge_of(big.data(), QpFixture::kMaxInline);
	ibv_send_wr wr = make_wr(IBV_WR_RDMA_WRITE, &sge, 1), *bad = nullptr;
	wr.send_flags = IBV_SEND_INLINE;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
	sge.length++;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), EINVAL);
	EXPECT_EQ(bad, &wr);
	EXPECT_EQ(f.qp.sq.hdr->producer, 1u);
}

// Lengths whose sum is 8 in 32 bits must not pass for 8 bytes.
TEST(PostSend, InlineTotalDoesNotWrap)
{
	QpFixture f;
	ibv_sge sge[2] = {sge_of("12345678", 8), sge_of("x", UINT32_MAX - 7)};
	ibv_send_wr wr = make_wr(IBV_WR_SEND, sge, 2), *bad;
	wr.send_flags = IBV_SEND_INLINE;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), EINVAL);
	EXPECT_EQ(f.doorbells(), 0);
}

TEST(PostSend, InlineIsForSendsAndWritesOnly)
{
	QpFixture f;
	ibv_sge sge = sge_of("12345678", 8);
	for (ibv_wr_opcode op : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		ibv_send_wr wr = make_wr(op, &sge, 1), *bad;
		wr.send_flags = IBV_SEND_INLINE;
		EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), EINVAL) << op;
	}
}

TEST(PostSend, BadRequestsAreNamed)
{
	QpFixture f;
	ibv_sge sge[5] = {};
	struct {
		int opcode, num_sge;
		unsigned flags;
	} bad_ones[] = {
		{IBV_WR_SEND, 5, 0},		{IBV_WR_SEND, -1, 0},
		{IBV_WR_TSO, 1, 0},		{IBV_WR_DRIVER1, 1, 0},
		{1000, 1, 0},			{-1, 1, 0},
		{IBV_WR_SEND, 1, IBV_SEND_IP_CSUM},
		{IBV_WR_SEND, 1, 1u << 31},
	};
	for (auto &b : bad_ones) {
		ibv_send_wr second = make_wr(ibv_wr_opcode(b.opcode), sge,
					     b.num_sge);
		second.send_flags = b.flags;
		ibv_send_wr first = make_wr(IBV_WR_SEND, sge, 1), *bad = nullptr;
		first.next = &second;
		int before = f.doorbells();
		uint32_t at = f.qp.sq.hdr->producer;
		EXPECT_EQ(mroce_post_send(f.ibqp(), &first, &bad), EINVAL);
		EXPECT_EQ(bad, &second);
		// The one before it is posted all the same.
		EXPECT_EQ(f.qp.sq.hdr->producer, at + 1);
		EXPECT_EQ(f.doorbells(), before + 1);
		f.qp.sq.hdr->consumer = f.qp.sq.hdr->producer;
	}
}

TEST(PostSend, OpcodesMustFitTheQpType)
{
	ibv_sge sge{0x1000, 8, 1};
	mroce_ah ah{};
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
		QpFixture f(type, 16);
		for (int op = 0; op <= IBV_WR_SEND_WITH_INV; op++) {
			if (op == IBV_WR_BIND_MW)
				continue;
			bool ud_ok = op == IBV_WR_SEND ||
				     op == IBV_WR_SEND_WITH_IMM;
			bool rc_only = op == IBV_WR_RDMA_READ ||
				       op == IBV_WR_ATOMIC_CMP_AND_SWP ||
				       op == IBV_WR_ATOMIC_FETCH_AND_ADD;
			bool ok = type == IBV_QPT_UD ? ud_ok :
				  type == IBV_QPT_RC || !rc_only;
			ibv_send_wr wr = make_wr(ibv_wr_opcode(op), &sge, 1), *bad;
			if (type == IBV_QPT_UD)
				wr.wr.ud.ah = &ah.ibah;
			EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad),
				  ok ? 0 : EINVAL)
				<< "type " << type << " opcode " << op;
		}
	}
}

TEST(PostSend, FullQueueAndRoomAgain)
{
	QpFixture f(IBV_QPT_RC, 4);
	ibv_send_wr wr[5], *bad = nullptr;
	for (int i = 0; i < 5; i++) {
		wr[i] = make_wr(IBV_WR_SEND, nullptr, 0);
		wr[i].next = i < 4 ? &wr[i + 1] : nullptr;
	}
	EXPECT_EQ(mroce_post_send(f.ibqp(), wr, &bad), ENOMEM);
	EXPECT_EQ(bad, &wr[4]);
	EXPECT_EQ(f.qp.sq.hdr->producer, 4u);
	EXPECT_EQ(f.doorbells(), 1);
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr[4], &bad), ENOMEM);
	EXPECT_EQ(f.doorbells(), 1);
	f.qp.sq.hdr->consumer = 1;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr[4], &bad), 0);
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr[4], &bad), ENOMEM);
}

TEST(PostSend, OneDoorbellForAList)
{
	QpFixture f;
	uint32_t handle = 0;
	f.kernel.on(IB_USER_VERBS_CMD_POST_SEND,
		    [&](const uint8_t *cmd, size_t size) {
			    struct ibv_post_send c;
			    EXPECT_EQ(size, sizeof(c));
			    std::memcpy(&c, cmd, sizeof(c));
			    handle = c.core_payload.qp_handle;
			    EXPECT_EQ(c.core_payload.wr_count, 0u);
			    EXPECT_EQ(c.core_payload.sge_count, 0u);
			    EXPECT_GE(c.core_payload.wqe_size,
				      sizeof(ib_uverbs_send_wr));
			    return 0;
		    });
	ibv_send_wr wr[3], *bad;
	for (int i = 0; i < 3; i++) {
		wr[i] = make_wr(IBV_WR_SEND, nullptr, 0);
		wr[i].next = i < 2 ? &wr[i + 1] : nullptr;
	}
	ASSERT_EQ(mroce_post_send(f.ibqp(), wr, &bad), 0);
	EXPECT_EQ(f.qp.sq.hdr->producer, 3u);
	EXPECT_EQ(f.doorbells(), 1);
	EXPECT_EQ(handle, 77u);
}

TEST(PostSend, ADeadDeviceIsReported)
{
	QpFixture f;
	f.kernel.on(IB_USER_VERBS_CMD_POST_SEND,
		    [](const uint8_t *, size_t) { return EIO; });
	ibv_send_wr wr = make_wr(IBV_WR_SEND, nullptr, 0), *bad = nullptr;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), EIO);
	EXPECT_EQ(bad, &wr);
}

TEST(PostSend, StatesThatCannotSend)
{
	QpFixture f;
	ibv_send_wr wr = make_wr(IBV_WR_SEND, nullptr, 0), *bad = nullptr;
	for (ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
		f.ibqp()->state = state;
		EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), EINVAL);
		EXPECT_EQ(bad, &wr);
	}
	// Taken, so that the kernel flushes it.
	f.ibqp()->state = IBV_QPS_ERR;
	EXPECT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
	EXPECT_EQ(f.doorbells(), 1);
}

TEST(PostSend, SignalAllSetsTheFlag)
{
	QpFixture f;
	f.qp.sq_sig_all = true;
	ibv_send_wr wr = make_wr(IBV_WR_SEND, nullptr, 0), *bad;
	ASSERT_EQ(mroce_post_send(f.ibqp(), &wr, &bad), 0);
	EXPECT_EQ(f.wqe(0)->flags, uint32_t{MROCE_WQE_SIGNALED});
}

TEST(PostSend, EmptyListIsNothing)
{
	QpFixture f;
	ibv_send_wr *bad = nullptr;
	EXPECT_EQ(mroce_post_send(f.ibqp(), nullptr, &bad), 0);
	EXPECT_EQ(f.doorbells(), 0);
}

struct RecvTest : testing::Test {
	int recv_doorbells() { return f.kernel.count(IB_USER_VERBS_CMD_POST_RECV); }
	ibv_recv_wr make(int num_sge)
	{
		ibv_recv_wr wr{};
		wr.wr_id = 4;
		wr.sg_list = sge;
		wr.num_sge = num_sge;
		return wr;
	}
	QpFixture f;
	ibv_sge sge[5] = {{0x1000, 1, 2}, {0x2000, 3, 4}, {}, {}, {}};
	ibv_recv_wr *bad = nullptr;
};

TEST_F(RecvTest, WritesTheSlotWithoutASystemCall)
{
	ibv_recv_wr wr = make(2);
	ASSERT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), 0);
	auto *wqe = f.rq.slot<mroce_recv_wqe>(0);
	EXPECT_EQ(wqe->wr_id, 4u);
	EXPECT_EQ(wqe->num_sge, 2u);
	EXPECT_EQ(wqe->rsvd, 0u);
	EXPECT_EQ(wqe->sge[1].addr, 0x2000u);
	EXPECT_EQ(wqe->sge[1].length, 3u);
	EXPECT_EQ(wqe->sge[1].lkey, 4u);
	EXPECT_EQ(f.qp.rq.hdr->producer, 1u);
	EXPECT_EQ(recv_doorbells(), 0);
}

TEST_F(RecvTest, WithoutBuffers)
{
	ibv_recv_wr wr = make(0);
	wr.sg_list = nullptr;
	EXPECT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), 0);
	EXPECT_EQ(f.rq.slot<mroce_recv_wqe>(0)->num_sge, 0u);
}

TEST_F(RecvTest, BadRequestsAreNamed)
{
	for (int n : {-1, 5}) {
		ibv_recv_wr wr = make(n);
		EXPECT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), EINVAL);
		EXPECT_EQ(bad, &wr);
	}
	for (int i = 0; i < 8; i++) {
		ibv_recv_wr wr = make(1);
		EXPECT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), 0);
	}
	ibv_recv_wr wr = make(1);
	EXPECT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), ENOMEM);
	EXPECT_EQ(bad, &wr);
}

TEST_F(RecvTest, RefusedInResetAndOnAnSrq)
{
	ibv_recv_wr wr = make(1);
	f.ibqp()->state = IBV_QPS_RESET;
	EXPECT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), EINVAL);
	f.ibqp()->state = IBV_QPS_RTS;
	mroce_srq srq{};
	f.ibqp()->srq = &srq.ibsrq;
	EXPECT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), EINVAL);
	EXPECT_EQ(bad, &wr);
	f.ibqp()->srq = nullptr;
	f.qp.rq.hdr = nullptr;
	EXPECT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), ENOMEM);
}

TEST_F(RecvTest, DoorbellWhenTheKernelWantsOne)
{
	f.qp.rq.hdr->flags = MROCE_RING_F_NEED_DOORBELL;
	ibv_recv_wr wr = make(1);
	ASSERT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), 0);
	EXPECT_EQ(recv_doorbells(), 1);
}

TEST_F(RecvTest, DoorbellInError)
{
	f.ibqp()->state = IBV_QPS_ERR;
	ibv_recv_wr wr = make(1);
	ASSERT_EQ(mroce_post_recv(f.ibqp(), &wr, &bad), 0);
	EXPECT_EQ(recv_doorbells(), 1);
}

TEST_F(RecvTest, SharedQueueLikewise)
{
	mroce_srq srq{};
	srq.ibsrq.context = &f.context;
	pthread_spin_init(&srq.lock, PTHREAD_PROCESS_PRIVATE);
	srq.ring = f.rq.ring;
	srq.max_sge = QpFixture::kMaxSge;
	ibv_recv_wr wr = make(1), five = make(5);
	EXPECT_EQ(mroce_post_srq_recv(&srq.ibsrq, &wr, &bad), 0);
	EXPECT_EQ(f.kernel.count(IB_USER_VERBS_CMD_POST_SRQ_RECV), 0);
	EXPECT_EQ(mroce_post_srq_recv(&srq.ibsrq, &five, &bad), EINVAL);
	EXPECT_EQ(bad, &five);
	srq.ring.hdr->flags = MROCE_RING_F_NEED_DOORBELL;
	EXPECT_EQ(mroce_post_srq_recv(&srq.ibsrq, &wr, &bad), 0);
	EXPECT_EQ(f.kernel.count(IB_USER_VERBS_CMD_POST_SRQ_RECV), 1);
	EXPECT_EQ(srq.ring.hdr->producer, 2u);
	pthread_spin_destroy(&srq.lock);
}

// Type 1 windows: ibv_bind_mw() posts, and changes the key only then.
TEST(BindMw, PostsAndTakesTheNextKey)
{
	QpFixture f;
	ibv_pd pd{}, other{};
	ibv_mr mr{};
	ibv_mw mw{};
	f.ibqp()->pd = mr.pd = mw.pd = &pd;
	mw.type = IBV_MW_TYPE_1;
	mw.rkey = 0x12ff;
	ibv_mw_bind bind{};
	bind.wr_id = 6;
	bind.bind_info = {&mr, 0x100, 0x10, IBV_ACCESS_REMOTE_WRITE};
	ASSERT_EQ(mroce_bind_mw(f.ibqp(), &mw, &bind), 0);
	EXPECT_EQ(f.wqe(0)->wr.bind.mw_rkey, 0x12ffu);
	EXPECT_EQ(f.wqe(0)->wr.bind.rkey, 0x1200u);
	EXPECT_EQ(mw.rkey, 0x1200u);

	mr.pd = &other;
	EXPECT_EQ(mroce_bind_mw(f.ibqp(), &mw, &bind), EPERM);
	mr.pd = &pd;
	bind.bind_info.mr = nullptr;
	EXPECT_EQ(mroce_bind_mw(f.ibqp(), &mw, &bind), EINVAL);
	bind.bind_info = {};
	EXPECT_EQ(mroce_bind_mw(f.ibqp(), &mw, &bind), 0);
	mw.type = IBV_MW_TYPE_2;
	EXPECT_EQ(mroce_bind_mw(f.ibqp(), &mw, &bind), EINVAL);
}

} // namespace
