// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "device.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "oob.h"

namespace mroce {

namespace {

[[noreturn]] void Fail(const std::string& what, int error) {
  throw SetupError(fmt::format("{}: {}", what, std::strerror(error)));
}

ibv_context* OpenByName(const std::string& name) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (!list) Fail("cannot list RDMA devices (is ib_uverbs loaded?)", errno);
  ibv_context* context = nullptr;
  std::string names;
  for (int i = 0; i < count; i++) {
    const std::string have = ibv_get_device_name(list[i]);
    names += " " + have;
    if (!context && (name.empty() || have == name)) {
      context = ibv_open_device(list[i]);
      if (!context) {
        const int error = errno;
        ibv_free_device_list(list);
        Fail(fmt::format("cannot open {} (rights on /dev/infiniband/uverbs*?)", have), error);
      }
    }
  }
  ibv_free_device_list(list);
  if (!context)
    throw SetupError(fmt::format("no RDMA device {}; there are:{}. 'rdma link add NAME type metaroce "
                                 "netdev DEV' makes one",
                                 name.empty() ? "at all" : "'" + name + "'",
                                 names.empty() ? " none" : names));
  return context;
}

bool LinkLocal(const ibv_gid& gid) { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

// Lower is better.
int GidRank(const ibv_gid_entry& e, bool ipv6) {
  if (IsIpv4(e.gid)) return ipv6 ? 2 : 0;
  if (!LinkLocal(e.gid)) return ipv6 ? 0 : 1;
  return ipv6 ? 1 : 2;
}

void PickGid(Device* d, int wanted, bool ipv6) {
  std::vector<ibv_gid_entry> table(static_cast<size_t>(std::max(d->port_attr.gid_tbl_len, 1)));
  const ssize_t n = ibv_query_gid_table(d->context.get(), table.data(), table.size(), 0);
  if (n < 0) Fail("cannot read the GID table", static_cast<int>(-n));
  table.resize(static_cast<size_t>(n));
  const ibv_gid_entry* best = nullptr;
  for (const ibv_gid_entry& e : table) {
    if (e.port_num != d->port) continue;
    if (wanted >= 0) {
      if (e.gid_index == static_cast<uint32_t>(wanted)) best = &e;
    } else if (e.gid_type == IBV_GID_TYPE_ROCE_V2 &&
               (!best || GidRank(e, ipv6) < GidRank(*best, ipv6))) {
      best = &e;
    }
  }
  if (!best && wanted >= 0)
    throw SetupError(fmt::format("{} port {} has no GID at index {}: see 'ibv_devinfo -v'", d->name,
                                 d->port, wanted));
  if (!best)
    throw SetupError(fmt::format("{} port {} has no RoCE v2 GID: give its netdev an address and set it up",
                                 d->name, d->port));
  d->gid_index = static_cast<uint8_t>(best->gid_index);
  d->gid = best->gid;
}

}  // namespace

bool IsIpv4(const ibv_gid& gid) {
  static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return !std::memcmp(gid.raw, kMapped, sizeof kMapped);
}

std::string GidText(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN];
  const bool v4 = IsIpv4(gid);
  return inet_ntop(v4 ? AF_INET : AF_INET6, gid.raw + (v4 ? 12 : 0), text, sizeof text);
}

Device OpenDevice(const std::string& name, uint32_t port, int gid_index, bool ipv6) {
  Device d;
  d.context.reset(OpenByName(name));
  d.name = ibv_get_device_name(d.context->device);
  d.port = static_cast<uint8_t>(port);
  if (const int rc = ibv_query_device(d.context.get(), &d.attr)) Fail("ibv_query_device", rc);
  if (const int rc = ibv_query_port(d.context.get(), d.port, &d.port_attr))
    Fail(fmt::format("{} has no port {}", d.name, port), rc);
  if (d.port_attr.state != IBV_PORT_ACTIVE)
    throw SetupError(fmt::format("{} port {} is {}, not ACTIVE: set its netdev up", d.name, port,
                                 ibv_port_state_str(d.port_attr.state)));
  PickGid(&d, gid_index, ipv6);
  d.pd.reset(ibv_alloc_pd(d.context.get()));
  if (!d.pd) Fail("ibv_alloc_pd", errno);
  return d;
}

Region::Region(const Device& device, size_t length, int access)
    : length_((std::max<size_t>(length, 1) + 4095) / 4096 * 4096) {
  void* p = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) Fail(fmt::format("no memory for {} bytes: lower --memory", length_), errno);
  data_ = static_cast<uint8_t*>(p);
  mr_.reset(ibv_reg_mr(device.pd.get(), data_, length_, access));
  if (!mr_) {
    const int error = errno;
    munmap(data_, length_);
    Fail(fmt::format("cannot register {} bytes (ulimit -l?)", length_), error);
  }
}
Region::~Region() {
  mr_.reset();
  if (data_) munmap(data_, length_);
}

uint32_t MtuBytes(ibv_mtu mtu) { return 128u << mtu; }
ibv_mtu MtuEnum(uint32_t bytes) {
  for (const ibv_mtu m : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048})
    if (bytes <= MtuBytes(m)) return m;
  return IBV_MTU_4096;
}

ibv_ah_attr AddressOf(const Device& device, const ibv_gid& gid, const QpAttributes& a) {
  ibv_ah_attr ah{};
  ah.is_global = 1;
  ah.port_num = device.port;
  ah.sl = static_cast<uint8_t>(a.sl);
  ah.grh.dgid = gid;
  ah.grh.sgid_index = device.gid_index;
  ah.grh.hop_limit = 64;
  ah.grh.traffic_class = static_cast<uint8_t>(a.tclass);
  return ah;
}

void ToInit(ibv_qp* qp, const Device& device, const QpAttributes& a) {
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_INIT;
  q.port_num = device.port;
  q.qp_access_flags = static_cast<unsigned>(a.access);
  const int rc = ibv_modify_qp(qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (rc) Fail("QP to INIT", rc);
}

void ToRtr(ibv_qp* qp, const Device& device, const QpAttributes& a, const Remote& remote) {
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_RTR;
  q.ah_attr = AddressOf(device, remote.gid, a);
  q.path_mtu = a.mtu;
  q.dest_qp_num = remote.qpn;
  q.rq_psn = remote.psn;
  q.max_dest_rd_atomic = static_cast<uint8_t>(a.rd_atomic);
  q.min_rnr_timer = static_cast<uint8_t>(a.min_rnr_timer);
  const int rc = ibv_modify_qp(qp, &q, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (rc) Fail(fmt::format("QP to RTR towards {} (is there a route?)", GidText(remote.gid)), rc);
}

void ToRts(ibv_qp* qp, const QpAttributes& a, uint32_t psn) {
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_RTS;
  q.sq_psn = psn;
  q.timeout = static_cast<uint8_t>(a.timeout);
  q.retry_cnt = static_cast<uint8_t>(a.retry);
  q.rnr_retry = static_cast<uint8_t>(a.rnr_retry);
  q.max_rd_atomic = static_cast<uint8_t>(a.rd_atomic);
  const int rc = ibv_modify_qp(qp, &q, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                           IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  if (rc) Fail("QP to RTS", rc);
}

void ToError(ibv_qp* qp) {
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_ERR;
  const int rc = ibv_modify_qp(qp, &q, IBV_QP_STATE);
  if (rc) Fail("QP to ERR", rc);
}

void UdToRts(ibv_qp* qp, const Device& device, uint32_t qkey, uint32_t psn) {
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_INIT;
  q.port_num = device.port;
  q.qkey = qkey;
  int rc = ibv_modify_qp(qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  if (rc) Fail("UD QP to INIT", rc);
  q.qp_state = IBV_QPS_RTR;
  rc = ibv_modify_qp(qp, &q, IBV_QP_STATE);
  if (rc) Fail("UD QP to RTR", rc);
  q.qp_state = IBV_QPS_RTS;
  q.sq_psn = psn;
  rc = ibv_modify_qp(qp, &q, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (rc) Fail("UD QP to RTS", rc);
}

}  // namespace mroce
