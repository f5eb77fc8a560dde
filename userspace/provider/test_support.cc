// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "test_support.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdarg>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
mroce_test::FakeKernel *current;
}

// Before the C library's own, for this program and the libraries under it.
extern "C" ssize_t write(int fd, const void *buf, size_t size)
{
	if (!current || fd != current->fd())
		return syscall(SYS_write, fd, buf, size);
	int err = current->handle(buf, size);
	if (err) {
		errno = err;
		return -1;
	}
	return static_cast<ssize_t>(size);
}

extern "C" int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	va_start(args, request);
	void *arg = va_arg(args, void *);
	va_end(args);
	if (current && fd == current->fd()) {
		int err = request == RDMA_VERBS_IOCTL ?
			current->handle_ioctl(
				static_cast<ib_uverbs_ioctl_hdr *>(arg)) :
			ENOTTY;
		errno = err;
		return err ? -1 : 0;
	}
	return static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
}

namespace mroce_test {

FakeKernel::FakeKernel() : fd_(memfd_create("uverbs", MFD_CLOEXEC))
{
	current = this;
}

FakeKernel::~FakeKernel()
{
	current = nullptr;
	close(fd_);
}

int FakeKernel::count(uint32_t command) const
{
	auto it = seen_.find(command);
	return it == seen_.end() ? 0 : it->second;
}

void FakeKernel::on(uint32_t command, Handler handler)
{
	handlers_[command] = std::move(handler);
}

int FakeKernel::handle(const void *buf, size_t size)
{
	auto *cmd = static_cast<const uint8_t *>(buf);
	ib_uverbs_cmd_hdr hdr;
	if (size < sizeof(hdr))
		return EINVAL;
	std::memcpy(&hdr, cmd, sizeof(hdr));
	bool extended = hdr.command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	// The kernel's own rule on the sizes in the header.
	if (extended) {
		ib_uverbs_ex_cmd_hdr ex;
		std::memcpy(&ex, cmd + sizeof(hdr), sizeof(ex));
		if ((hdr.in_words + ex.provider_in_words) * 8 +
			    sizeof(hdr) + sizeof(ex) != size)
			return EINVAL;
	} else if (hdr.in_words * 4u != size) {
		return EINVAL;
	}
	seen_[hdr.command]++;
	auto it = handlers_.find(hdr.command);
	return it == handlers_.end() ? EOPNOTSUPP : it->second(cmd, size);
}

void FakeKernel::on_ioctl(uint16_t object, uint16_t method,
			  IoctlHandler handler)
{
	ioctls_[{object, method}] = std::move(handler);
}

int FakeKernel::handle_ioctl(ib_uverbs_ioctl_hdr *hdr)
{
	IoctlCommand cmd(hdr);
	// The real one demands the driver's own number in every header.
	EXPECT_EQ(cmd.driver(), uint32_t{MROCE_DRIVER_ID});
	auto it = ioctls_.find({cmd.object(), cmd.method()});
	return it == ioctls_.end() ? EPROTONOSUPPORT : it->second(cmd);
}

ib_uverbs_attr *IoctlCommand::find(uint16_t id)
{
	for (uint16_t i = 0; i < hdr_->num_attrs; i++)
		if (hdr_->attrs[i].attr_id == id)
			return &hdr_->attrs[i];
	return nullptr;
}

void IoctlCommand::put_bytes(uint16_t id, const void *value, size_t size)
{
	ib_uverbs_attr *attr = find(id);
	ASSERT_NE(attr, nullptr) << "attribute " << id;
	ASSERT_GE(attr->len, size) << "attribute " << id;
	std::memcpy(reinterpret_cast<void *>(attr->data), value, size);
}

int FakeKernel::respond(const uint8_t *cmd, uint64_t where, const void *resp,
			size_t size)
{
	ib_uverbs_cmd_hdr hdr;
	std::memcpy(&hdr, cmd, sizeof(hdr));
	if (hdr.out_words * 4u < size)
		return ENOSPC;
	std::memcpy(reinterpret_cast<void *>(where), resp, size);
	return 0;
}

QpFixture::QpFixture(ibv_qp_type type, uint32_t sq_entries, uint32_t rq_entries)
    : sq(sq_entries, sizeof(mroce_send_wqe) + kMaxInline),
      rq(rq_entries, sizeof(mroce_recv_wqe) + kMaxSge * sizeof(mroce_sge))
{
	context.cmd_fd = kernel.fd();
	for (uint32_t command : {IB_USER_VERBS_CMD_POST_SEND,
				 IB_USER_VERBS_CMD_POST_RECV,
				 IB_USER_VERBS_CMD_POST_SRQ_RECV})
		kernel.on(command, [](const uint8_t *, size_t) { return 0; });
	ibqp()->context = &context;
	ibqp()->qp_type = type;
	ibqp()->state = IBV_QPS_RTS;
	ibqp()->handle = 77;
	pthread_spin_init(&qp.sq_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp.rq_lock, PTHREAD_PROCESS_PRIVATE);
	qp.sq = sq.ring;
	qp.rq = rq.ring;
	qp.max_send_sge = qp.max_recv_sge = kMaxSge;
	qp.max_inline = kMaxInline;
}

QpFixture::~QpFixture()
{
	pthread_spin_destroy(&qp.sq_lock);
	pthread_spin_destroy(&qp.rq_lock);
}

} // namespace mroce_test
