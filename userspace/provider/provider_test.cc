// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The whole provider under the installed libibverbs, on a kernel that the test
// plays: commands arrive by write() and ioctl(), rings are mapped from its descriptor.
//
//   ibv_*() -> libibverbs -> provider -> ibv_cmd_*() -> write() -> FakeKernel
//                                                       ioctl()
#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#include <rdma/ib_user_ioctl_cmds.h>

#include "test_support.h"

static const verbs_device_ops *registered;

// The constructor in device.c finds this before the library's.
extern "C" void verbs_register_driver_34(const verbs_device_ops *ops)
{
	registered = ops;
}

using mroce_test::FakeKernel;
using mroce_test::IoctlCommand;

namespace {

constexpr uint32_t kQpn = 0x123, kMemory = 1 << 20;

// The kernel's structure behind the header of a command.
template <typename T> T payload(const uint8_t *cmd)
{
	T t;
	std::memcpy(&t, cmd + sizeof(ib_uverbs_cmd_hdr), sizeof(t));
	return t;
}

// A response and the driver's part behind it. The kernel's structures end in
// flexible arrays, which C++ allows in no member.
template <typename Ib, typename Drv> struct Answer {
	alignas(Ib) uint8_t bytes[sizeof(Ib)];
	Drv drv;
	Ib *ib() { return reinterpret_cast<Ib *>(bytes); }
};

struct ProviderTest : testing::Test {
	ProviderTest()
	{
		EXPECT_EQ(ftruncate(kernel.fd(), kMemory), 0);
		memory = static_cast<uint8_t *>(
			mmap(nullptr, kMemory, PROT_READ | PROT_WRITE,
			     MAP_SHARED, kernel.fd(), 0));
		EXPECT_NE(memory, MAP_FAILED);
		play_context();
		play_queues();
		play_destroys();
	}

	~ProviderTest() override
	{
		if (ctx)
			ibv_close_device(ctx);
		if (device)
			registered->uninit_device(device);
		munmap(memory, kMemory);
	}

	bool open()
	{
		device = registered->alloc_device(nullptr);
		device->ops = registered;
		device->refcount = 1;
		std::strcpy(device->device.name, "mr0");
		// The provider closes its descriptor; the kernel keeps its own.
		verbs_context *v = registered->alloc_context(
			&device->device, kernel.fd(), nullptr);
		ctx = v ? &v->context : nullptr;
		if (ctx)
			pd = ibv_alloc_pd(ctx);
		return pd;
	}

	// The next ring: mapped memory handed out page by page.
	mroce_ring_info make_ring(uint32_t entries, uint32_t entry_size)
	{
		mroce_ring_info info{};
		info.mmap_offset = next_offset;
		info.mmap_size = MROCE_RING_HEADER_SIZE + entries * entry_size;
		info.mmap_size = (info.mmap_size + 4095) & ~4095u;
		info.entries = entries;
		info.entry_size = entry_size;
		next_offset += info.mmap_size;
		EXPECT_LE(next_offset, kMemory);
		return info;
	}
	mroce_ring_header *header(const mroce_ring_info &info)
	{
		return reinterpret_cast<mroce_ring_header *>(
			memory + info.mmap_offset);
	}
	template <typename T> T *slot(const mroce_ring_info &info, uint32_t i)
	{
		return reinterpret_cast<T *>(
			memory + info.mmap_offset + MROCE_RING_HEADER_SIZE +
			(i & (info.entries - 1)) * info.entry_size);
	}
	void complete(uint64_t wr_id)
	{
		mroce_cqe *cqe = slot<mroce_cqe>(cq_ring,
						 header(cq_ring)->producer);
		*cqe = {};
		cqe->wr_id = wr_id;
		cqe->qp_num = kQpn;
		header(cq_ring)->producer++;
	}

	template <typename Cmd, typename Resp>
	void reply(uint32_t command, const Resp &resp)
	{
		kernel.on(command, [resp](const uint8_t *cmd, size_t) {
			return FakeKernel::answer<Cmd>(cmd, resp);
		});
	}

	void play_context()
	{
		kernel.on(IB_USER_VERBS_CMD_GET_CONTEXT,
			  [this](const uint8_t *cmd, size_t) {
			Answer<ib_uverbs_get_context_resp,
			       mroce_alloc_ucontext_resp> a{};
			a.ib()->async_fd = ::open("/dev/null", O_RDONLY);
			a.ib()->num_comp_vectors = 1;
			a.drv.abi_version = abi_version;
			a.drv.max_inline = 256;
			a.drv.max_sge = 32;
			return FakeKernel::answer<ib_uverbs_get_context>(cmd, a);
		});
		ib_uverbs_alloc_pd_resp p{};
		p.pd_handle = 3;
		reply<ib_uverbs_alloc_pd>(IB_USER_VERBS_CMD_ALLOC_PD, p);
		kernel.on(IB_USER_VERBS_CMD_REG_MR,
			  [this](const uint8_t *cmd, size_t) {
			*reg = payload<ib_uverbs_reg_mr>(cmd);
			ib_uverbs_reg_mr_resp r{};
			r.mr_handle = 4;
			r.lkey = r.rkey = 0x1201;
			return FakeKernel::answer<ib_uverbs_reg_mr>(cmd, r);
		});
		kernel.on(IB_USER_VERBS_CMD_CREATE_AH,
			  [](const uint8_t *cmd, size_t) {
			Answer<ib_uverbs_create_ah_resp, mroce_create_ah_resp> a{};
			a.ib()->ah_handle = 5;
			a.drv.ah_num = 66;
			return FakeKernel::answer<ib_uverbs_create_ah>(cmd, a);
		});
	}

	void play_queues()
	{
		kernel.on_ioctl(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE,
				[this](IoctlCommand &c) {
			const ib_uverbs_attr *flags =
				c.find(UVERBS_ATTR_CREATE_CQ_FLAGS);
			cq_flags.push_back(flags ? flags->data : 0);
			mroce_create_cq_resp drv{};
			drv.cq = cq_ring = make_ring(16, cqe_size);
			c.put_handle(UVERBS_ATTR_CREATE_CQ_HANDLE, 6);
			c.put(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 15u);
			c.put(UVERBS_ATTR_UHW_OUT, drv);
			return 0;
		});
		kernel.on_ioctl(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE,
				[this](IoctlCommand &c) {
			mroce_create_srq_resp drv{};
			drv.rq = rq_ring = make_ring(16, 48);
			c.put_handle(UVERBS_ATTR_CREATE_SRQ_HANDLE, 7);
			c.put(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 16u);
			c.put(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 2u);
			c.put(UVERBS_ATTR_UHW_OUT, drv);
			return 0;
		});
		kernel.on_ioctl(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE,
				[this](IoctlCommand &c) {
			qps_made++;
			mroce_create_qp_resp drv{};
			drv.sq = sq_ring = make_ring(8, sq_entry_size);
			if (!c.find(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
				drv.rq = rq_ring = make_ring(8, 48);
			c.put_handle(UVERBS_ATTR_CREATE_QP_HANDLE, 8);
			c.put(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, kQpn);
			c.put(UVERBS_ATTR_CREATE_QP_RESP_CAP,
			      ib_uverbs_qp_cap{8, 8, 2, 2, 128});
			c.put(UVERBS_ATTR_UHW_OUT, drv);
			return 0;
		});
		kernel.on(IB_USER_VERBS_CMD_MODIFY_QP,
			  [this](const uint8_t *cmd, size_t) {
			auto c = payload<ib_uverbs_modify_qp>(cmd);
			if (c.qp_state == IBV_QPS_RESET)
				for (auto *h : {header(sq_ring), header(rq_ring)})
					h->producer = h->consumer = 0;
			return 0;
		});
		for (uint32_t command : {IB_USER_VERBS_CMD_POST_SEND,
					 IB_USER_VERBS_CMD_POST_RECV})
			kernel.on(command, [](const uint8_t *, size_t) { return 0; });
	}

	void play_destroys()
	{
		for (uint32_t command :
		     {IB_USER_VERBS_CMD_DEALLOC_PD, IB_USER_VERBS_CMD_DEREG_MR,
		      IB_USER_VERBS_CMD_DESTROY_AH})
			kernel.on(command, [](const uint8_t *, size_t) { return 0; });
		reply<ib_uverbs_destroy_cq>(IB_USER_VERBS_CMD_DESTROY_CQ,
					    ib_uverbs_destroy_cq_resp{});
		reply<ib_uverbs_destroy_qp>(IB_USER_VERBS_CMD_DESTROY_QP,
					    ib_uverbs_destroy_qp_resp{});
		reply<ib_uverbs_destroy_srq>(IB_USER_VERBS_CMD_DESTROY_SRQ,
					     ib_uverbs_destroy_srq_resp{});
	}

	ibv_qp *make_qp(ibv_cq *cq, ibv_srq *srq = nullptr)
	{
		ibv_qp_init_attr attr{};
		attr.send_cq = attr.recv_cq = cq;
		attr.srq = srq;
		attr.qp_type = IBV_QPT_RC;
		attr.cap = {4, 4, 1, 1, 64};
		ibv_qp *qp = ibv_create_qp(pd, &attr);
		granted = attr.cap;
		return qp;
	}

	int set_state(ibv_qp *qp, ibv_qp_state state)
	{
		ibv_qp_attr attr{};
		attr.qp_state = state;
		return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	}

	FakeKernel kernel;
	uint8_t *memory = nullptr;
	uint64_t next_offset = 0;
	int qps_made = 0;
	std::vector<uint64_t> cq_flags;	// of each CQ made
	uint32_t abi_version = MROCE_UVERBS_ABI_VERSION;
	uint32_t cqe_size = sizeof(mroce_cqe);
	uint32_t sq_entry_size = sizeof(mroce_send_wqe) + 128;
	mroce_ring_info cq_ring{}, sq_ring{}, rq_ring{};
	std::unique_ptr<ib_uverbs_reg_mr> reg{new ib_uverbs_reg_mr()};
	ibv_qp_cap granted{};
	verbs_device *device = nullptr;
	ibv_context *ctx = nullptr;
	ibv_pd *pd = nullptr;
};

TEST_F(ProviderTest, MatchesByDriverIdAlone)
{
	ASSERT_NE(registered, nullptr);
	EXPECT_STREQ(registered->name, "metaroce");
	const verbs_match_ent *m = registered->match_table;
	EXPECT_EQ(m[0].kind, VERBS_MATCH_DRIVER_ID);
	EXPECT_EQ(m[0].u.driver_id, uint64_t{MROCE_DRIVER_ID});
	EXPECT_EQ(m[1].kind, 0);
	EXPECT_EQ(registered->match_min_abi_version,
		  uint32_t{MROCE_UVERBS_ABI_VERSION});
}

TEST_F(ProviderTest, AnotherAbiVersionIsRefusedInClearWords)
{
	abi_version = MROCE_UVERBS_ABI_VERSION + 1;
	testing::internal::CaptureStderr();
	EXPECT_FALSE(open());
	EXPECT_EQ(errno, EPROTONOSUPPORT);
	std::string said = testing::internal::GetCapturedStderr();
	EXPECT_NE(said.find("mr0"), std::string::npos) << said;
	EXPECT_NE(said.find("ABI version 2"), std::string::npos) << said;
}

TEST_F(ProviderTest, RegistersMemoryAtAnotherAddress)
{
	ASSERT_TRUE(open());
	char buf[64];
	ibv_mr *mr = ibv_reg_mr_iova(pd, buf, sizeof(buf), 0x7000,
				     IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(mr->lkey, 0x1201u);
	EXPECT_EQ(reg->start, reinterpret_cast<uintptr_t>(buf));
	EXPECT_EQ(reg->length, sizeof(buf));
	EXPECT_EQ(reg->hca_va, 0x7000u);
	EXPECT_EQ(reg->pd_handle, 3u);
	EXPECT_EQ(reg->access_flags, uint32_t{IBV_ACCESS_LOCAL_WRITE});
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, ReregistersMemory)
{
	ASSERT_TRUE(open());
	char buf[64];
	ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), 0);
	ASSERT_NE(mr, nullptr);
	EXPECT_EQ(reg->hca_va, reinterpret_cast<uintptr_t>(buf));
	std::unique_ptr<ib_uverbs_rereg_mr> seen{new ib_uverbs_rereg_mr()};
	kernel.on(IB_USER_VERBS_CMD_REREG_MR,
		  [&](const uint8_t *cmd, size_t) {
		*seen = payload<ib_uverbs_rereg_mr>(cmd);
		ib_uverbs_rereg_mr_resp r{};
		r.lkey = r.rkey = 0x1302;
		return FakeKernel::answer<ib_uverbs_rereg_mr>(cmd, r);
	});
	ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
			       buf + 8, 32, 0), 0);
	EXPECT_EQ(mr->rkey, 0x1302u);
	EXPECT_EQ(seen->mr_handle, 4u);
	EXPECT_EQ(seen->flags, uint32_t{IBV_REREG_MR_CHANGE_TRANSLATION});
	EXPECT_EQ(seen->start, reinterpret_cast<uintptr_t>(buf + 8));
	EXPECT_EQ(seen->hca_va, seen->start);
	EXPECT_EQ(seen->length, 32u);
	EXPECT_EQ(ibv_dereg_mr(mr), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, QueriesPortAndQp)
{
	ASSERT_TRUE(open());
	ib_uverbs_query_port_resp port{};
	port.state = IBV_PORT_ACTIVE;
	port.active_mtu = IBV_MTU_4096;
	port.gid_tbl_len = 16;
	port.link_layer = IBV_LINK_LAYER_ETHERNET;
	reply<ib_uverbs_query_port>(IB_USER_VERBS_CMD_QUERY_PORT, port);
	ibv_port_attr attr{};
	ASSERT_EQ(ibv_query_port(ctx, 1, &attr), 0);
	EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
	EXPECT_EQ(attr.active_mtu, IBV_MTU_4096);
	EXPECT_EQ(attr.gid_tbl_len, 16);
	EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET);

	ibv_cq *cq = ibv_create_cq(ctx, 10, nullptr, nullptr, 0);
	ibv_qp *qp = make_qp(cq);
	ASSERT_NE(qp, nullptr);
	kernel.on(IB_USER_VERBS_CMD_QUERY_QP,
		  [](const uint8_t *cmd, size_t) {
		EXPECT_EQ(payload<ib_uverbs_query_qp>(cmd).qp_handle, 8u);
		ib_uverbs_query_qp_resp r{};
		r.qp_state = IBV_QPS_ERR;
		r.dest_qp_num = 9;
		return FakeKernel::answer<ib_uverbs_query_qp>(cmd, r);
	});
	ibv_qp_attr qp_attr{};
	ibv_qp_init_attr init{};
	ASSERT_EQ(ibv_query_qp(qp, &qp_attr, IBV_QP_STATE, &init), 0);
	EXPECT_EQ(qp_attr.qp_state, IBV_QPS_ERR);
	EXPECT_EQ(qp_attr.dest_qp_num, 9u);
	EXPECT_EQ(ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0), 0);
	EXPECT_EQ(ibv_destroy_qp(qp), 0);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, SendGoesThroughAndComes)
{
	ASSERT_TRUE(open());
	ibv_cq *cq = ibv_create_cq(ctx, 10, nullptr, nullptr, 0);
	ASSERT_NE(cq, nullptr);
	EXPECT_EQ(cq->cqe, 15);
	ibv_qp *qp = make_qp(cq);
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(qp->qp_num, kQpn);
	EXPECT_EQ(granted.max_send_wr, 8u);
	EXPECT_EQ(granted.max_inline_data, 128u);
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);

	ibv_recv_wr recv{}, *bad_recv;
	recv.wr_id = 41;
	ASSERT_EQ(ibv_post_recv(qp, &recv, &bad_recv), 0);
	EXPECT_EQ(header(rq_ring)->producer, 1u);
	EXPECT_EQ(slot<mroce_recv_wqe>(rq_ring, 0)->wr_id, 41u);

	ibv_send_wr wr{}, *bad;
	wr.wr_id = 42;
	wr.opcode = IBV_WR_SEND;
	ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
	EXPECT_EQ(header(sq_ring)->producer, 1u);
	EXPECT_EQ(slot<mroce_send_wqe>(sq_ring, 0)->wr_id, 42u);
	EXPECT_EQ(kernel.count(IB_USER_VERBS_CMD_POST_SEND), 1);
	EXPECT_EQ(kernel.count(IB_USER_VERBS_CMD_POST_RECV), 0);

	ibv_wc wc{};
	EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	complete(42);
	ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
	EXPECT_EQ(wc.wr_id, 42u);
	EXPECT_EQ(header(cq_ring)->consumer, 1u);

	EXPECT_EQ(ibv_destroy_qp(qp), 0);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, ResetForgetsWorkAndCompletions)
{
	ASSERT_TRUE(open());
	ibv_cq *cq = ibv_create_cq(ctx, 10, nullptr, nullptr, 0);
	ibv_qp *qp = make_qp(cq);
	ASSERT_NE(qp, nullptr);
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	ibv_send_wr wr{}, *bad;
	wr.opcode = IBV_WR_SEND;
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
	ASSERT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
	complete(1);

	ASSERT_EQ(set_state(qp, IBV_QPS_RESET), 0);
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	wr.wr_id = 7;
	ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
	EXPECT_EQ(header(sq_ring)->producer, 1u);
	EXPECT_EQ(slot<mroce_send_wqe>(sq_ring, 0)->wr_id, 7u);

	complete(2);
	EXPECT_EQ(ibv_destroy_qp(qp), 0);
	EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, ExtendedQpAndCq)
{
	ASSERT_TRUE(open());
	ibv_cq_init_attr_ex cq_attr{};
	cq_attr.cqe = 10;
	cq_attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	ibv_cq_ex *cq = mroce_create_cq_ex(ctx, &cq_attr);
	ASSERT_NE(cq, nullptr);
	// The kernel reads its clock for those CQs only that ask for it.
	EXPECT_EQ(cq_flags, std::vector<uint64_t>{
				    IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION});

	ibv_qp_init_attr_ex attr{};
	attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(cq);
	attr.qp_type = IBV_QPT_RC;
	attr.cap = {4, 4, 1, 1, 64};
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.pd = pd;
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);
	ASSERT_NE(qp, nullptr);
	EXPECT_EQ(attr.cap.max_inline_data, 128u);
	// The library itself must find the extended interface.
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	ASSERT_NE(ex, nullptr);
	ASSERT_EQ(set_state(qp, IBV_QPS_RTS), 0);
	ibv_wr_start(ex);
	ex->wr_id = 9;
	ibv_wr_rdma_write(ex, 1, 2);
	ASSERT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(slot<mroce_send_wqe>(sq_ring, 0)->wr_id, 9u);

	complete(9);
	ibv_poll_cq_attr poll{};
	ASSERT_EQ(ibv_start_poll(cq, &poll), 0);
	EXPECT_EQ(cq->wr_id, 9u);
	ibv_end_poll(cq);

	// A QP made the classic way has no extended interface.
	ibv_qp *plain = make_qp(ibv_cq_ex_to_cq(cq));
	EXPECT_EQ(ibv_qp_to_qp_ex(plain), nullptr);
	EXPECT_EQ(ibv_destroy_qp(plain), 0);
	EXPECT_EQ(ibv_destroy_qp(qp), 0);
	EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, WhatIsNotThereIsNotSupported)
{
	ASSERT_TRUE(open());
	ibv_cq_init_attr_ex cq_attr{};
	cq_attr.cqe = 1;
	cq_attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	EXPECT_EQ(mroce_create_cq_ex(ctx, &cq_attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	cq_attr.wc_flags = 0;
	cq_attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	cq_attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	EXPECT_EQ(mroce_create_cq_ex(ctx, &cq_attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);

	ibv_cq *cq = ibv_create_cq(ctx, 1, nullptr, nullptr, 0);
	ibv_qp_init_attr_ex attr{};
	attr.send_cq = attr.recv_cq = cq;
	attr.pd = pd;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RC;
	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	EXPECT_EQ(ibv_create_qp_ex(ctx, &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(qps_made,
		  kernel.count(IB_USER_VERBS_CMD_DESTROY_QP));
	// Programs probe with a bad descriptor and look at errno.
	EXPECT_EQ(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, SlotsTooSmallForTheGrantAreRefused)
{
	ASSERT_TRUE(open());
	ibv_cq *cq = ibv_create_cq(ctx, 10, nullptr, nullptr, 0);
	sq_entry_size = sizeof(mroce_send_wqe) + 120;
	EXPECT_EQ(make_qp(cq), nullptr);
	EXPECT_EQ(errno, EPROTO);
	EXPECT_EQ(kernel.count(IB_USER_VERBS_CMD_DESTROY_QP), 1);
	cqe_size = 32;
	EXPECT_EQ(ibv_create_cq(ctx, 10, nullptr, nullptr, 0), nullptr);
	EXPECT_EQ(errno, EPROTO);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, ResizeKeepsWhatWasNotPolled)
{
	ASSERT_TRUE(open());
	ibv_cq *cq = ibv_create_cq(ctx, 10, nullptr, nullptr, 0);
	for (uint64_t i = 0; i < 3; i++)
		complete(i);
	ibv_wc wc;
	ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
	kernel.on(IB_USER_VERBS_CMD_RESIZE_CQ,
		  [this](const uint8_t *cmd, size_t) {
		Answer<ib_uverbs_resize_cq_resp, mroce_resize_cq_resp> a{};
		mroce_ring_info old = cq_ring;
		cq_ring = make_ring(64, sizeof(mroce_cqe));
		uint32_t from = header(old)->consumer, to = header(old)->producer;
		for (uint32_t i = from; i != to; i++)
			*slot<mroce_cqe>(cq_ring, i) = *slot<mroce_cqe>(old, i);
		header(cq_ring)->consumer = from;
		header(cq_ring)->producer = to;
		a.ib()->cqe = 63;
		a.drv.cq = cq_ring;
		return FakeKernel::answer<ib_uverbs_resize_cq>(cmd, a);
	});
	ASSERT_EQ(ibv_resize_cq(cq, 50), 0);
	EXPECT_EQ(cq->cqe, 63);
	complete(3);
	for (uint64_t i = 1; i < 4; i++) {
		ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
		EXPECT_EQ(wc.wr_id, i);
	}
	EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, SharedReceiveQueue)
{
	ASSERT_TRUE(open());
	ibv_cq *cq = ibv_create_cq(ctx, 10, nullptr, nullptr, 0);
	ibv_srq_init_attr attr{};
	attr.attr = {10, 1, 0};
	ibv_srq *srq = ibv_create_srq(pd, &attr);
	ASSERT_NE(srq, nullptr);
	EXPECT_EQ(attr.attr.max_sge, 2u);
	ibv_qp *qp = make_qp(cq, srq);
	ASSERT_NE(qp, nullptr);
	ibv_recv_wr wr{}, *bad;
	EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	EXPECT_EQ(header(rq_ring)->producer, 1u);
	EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);

	uint32_t limit = 0;
	size_t size = 0;
	kernel.on(IB_USER_VERBS_CMD_MODIFY_SRQ,
		  [&](const uint8_t *cmd, size_t n) {
		limit = payload<ib_uverbs_modify_srq>(cmd).srq_limit;
		size = n;
		return 0;
	});
	ibv_srq_attr srq_attr{20, 1, 5};
	EXPECT_EQ(ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT), 0);
	EXPECT_EQ(limit, 5u);
	EXPECT_EQ(size, sizeof(struct ibv_modify_srq) +
				sizeof(mroce_modify_srq_cmd));
	EXPECT_EQ(ibv_modify_srq(srq, &srq_attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);

	EXPECT_EQ(ibv_destroy_qp(qp), 0);
	EXPECT_EQ(ibv_destroy_srq(srq), 0);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, AddressHandleKeepsItsNumber)
{
	ASSERT_TRUE(open());
	ibv_ah_attr attr{};
	attr.port_num = 1;
	ibv_ah *ah = ibv_create_ah(pd, &attr);
	ASSERT_NE(ah, nullptr);
	EXPECT_EQ(to_mah(ah)->ah_num, 66u);
	EXPECT_EQ(ibv_destroy_ah(ah), 0);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ProviderTest, RawClockIsInNanoseconds)
{
	ASSERT_TRUE(open());
	ibv_values_ex before{}, after{};
	before.comp_mask = after.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	ASSERT_EQ(ibv_query_rt_values_ex(ctx, &before), 0);
	ASSERT_EQ(ibv_query_rt_values_ex(ctx, &after), 0);
	EXPECT_GT(before.raw_clock.tv_nsec, 0);
	EXPECT_GE(after.raw_clock.tv_nsec, before.raw_clock.tv_nsec);
	before.comp_mask = 1u << 31;
	EXPECT_EQ(ibv_query_rt_values_ex(ctx, &before), EINVAL);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

} // namespace
