/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// Rings in plain memory, and a kernel that answers uverbs commands: the tests'
// executable defines write() and ioctl(), which libibverbs then calls.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "metaroce.h"

namespace mroce_test {

// A ring as the kernel would map it; slots start as garbage of the last lap.
class MemoryRing {
 public:
	MemoryRing(uint32_t entries, uint32_t entry_size)
	    : bytes_(MROCE_RING_HEADER_SIZE + size_t{entries} * entry_size)
	{
		base_.reset(static_cast<uint8_t *>(
			::operator new(bytes_, std::align_val_t{4096})));
		std::memset(base_.get(), 0xa5, bytes_);
		std::memset(base_.get(), 0, MROCE_RING_HEADER_SIZE);
		mroce_ring_info info{};
		info.mmap_size = static_cast<uint32_t>(bytes_);
		info.entries = entries;
		info.entry_size = entry_size;
		mroce_ring_init(&ring, base_.get(), &info);
	}

	// Both indices stand at @index, as after that many laps.
	void start_at(uint32_t index)
	{
		ring.hdr->producer = ring.hdr->consumer = index;
		ring.pos = ring.peer = index;
	}

	template <typename T> T *slot(uint32_t index)
	{
		return static_cast<T *>(mroce_ring_slot(&ring, index));
	}

	mroce_ring ring{};

 private:
	struct Free {
		void operator()(uint8_t *p) const
		{
			::operator delete(p, std::align_val_t{4096});
		}
	};
	size_t bytes_;
	std::unique_ptr<uint8_t, Free> base_;
};

// One command of the ioctl interface: a header and attributes.
class IoctlCommand {
 public:
	explicit IoctlCommand(ib_uverbs_ioctl_hdr *hdr) : hdr_(hdr) {}

	uint16_t object() const { return hdr_->object_id; }
	uint16_t method() const { return hdr_->method_id; }
	uint32_t driver() const { return hdr_->driver_id; }
	ib_uverbs_attr *find(uint16_t id);
	void put_handle(uint16_t id, uint32_t handle) { find(id)->data = handle; }
	// Fails the test when the caller has less room than @value takes.
	template <typename T> void put(uint16_t id, const T &value)
	{
		put_bytes(id, &value, sizeof(value));
	}

 private:
	void put_bytes(uint16_t id, const void *value, size_t size);
	ib_uverbs_ioctl_hdr *hdr_;
};

// Answers the commands that come to one file descriptor.
class FakeKernel {
 public:
	using Handler = std::function<int(const uint8_t *cmd, size_t size)>;
	using IoctlHandler = std::function<int(IoctlCommand &cmd)>;

	FakeKernel();
	~FakeKernel();
	FakeKernel(const FakeKernel &) = delete;

	int fd() const { return fd_; }
	// Commands seen so far, doorbells too.
	int count(uint32_t command) const;
	// Called for @command; returns 0 or an errno value.
	void on(uint32_t command, Handler handler);
	// The same for ioctl commands; those without fall back to write().
	void on_ioctl(uint16_t object, uint16_t method, IoctlHandler handler);

	// Copies @answer to where the command wants its response.
	template <typename Cmd, typename Resp>
	static int answer(const uint8_t *cmd, const Resp &resp)
	{
		Cmd payload;
		std::memcpy(&payload, cmd + sizeof(ib_uverbs_cmd_hdr),
			    sizeof(payload));
		return respond(cmd, payload.response, &resp, sizeof(resp));
	}

	int handle(const void *buf, size_t size);
	int handle_ioctl(ib_uverbs_ioctl_hdr *hdr);

 private:
	static int respond(const uint8_t *cmd, uint64_t where,
			   const void *resp, size_t size);
	int fd_;
	std::map<uint32_t, int> seen_;
	std::map<uint32_t, Handler> handlers_;
	std::map<std::pair<uint16_t, uint16_t>, IoctlHandler> ioctls_;
};

// A QP in RTS with rings in memory, whose doorbells reach a FakeKernel.
struct QpFixture {
	explicit QpFixture(ibv_qp_type type = IBV_QPT_RC,
			   uint32_t sq_entries = 8, uint32_t rq_entries = 8);
	~QpFixture();

	static constexpr uint32_t kMaxSge = 4;
	static constexpr uint32_t kMaxInline = 256;

	ibv_qp *ibqp() { return &qp.vqp.qp; }
	ibv_qp_ex *ex() { return &qp.vqp.qp_ex; }
	mroce_send_wqe *wqe(uint32_t i) { return sq.slot<mroce_send_wqe>(i); }
	const mroce_sge *sge(uint32_t i)
	{
		return reinterpret_cast<const mroce_sge *>(wqe(i) + 1);
	}
	const char *data(uint32_t i)
	{
		return reinterpret_cast<const char *>(wqe(i) + 1);
	}
	int doorbells() { return kernel.count(IB_USER_VERBS_CMD_POST_SEND); }

	FakeKernel kernel;
	ibv_context context{};
	MemoryRing sq, rq;
	mroce_qp qp{};
};

} // namespace mroce_test
