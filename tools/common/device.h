// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Verbs objects with owners, and the way of a QP to RTS.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>

namespace mroce {

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    Destroy(object);
  }
};
using ContextPtr = std::unique_ptr<ibv_context, Destroyer<ibv_close_device>>;
using PdPtr = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using MrPtr = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
using CqPtr = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using CompChannelPtr = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;
using QpPtr = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;
using AhPtr = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;
using SrqPtr = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;

// An opened device with its port and the GID to use.
struct Device {
  ContextPtr context;
  ibv_device_attr attr{};
  ibv_port_attr port_attr{};
  uint8_t port = 1;
  uint8_t gid_index = 0;
  ibv_gid gid{};
  PdPtr pd;
  std::string name;
};

// Empty @name: the first device. @gid_index < 0: RoCE v2, IPv4 first, or IPv6 first with @ipv6.
// Throws SetupError.
Device OpenDevice(const std::string& name, uint32_t port, int gid_index, bool ipv6);
bool IsIpv4(const ibv_gid& gid);
std::string GidText(const ibv_gid& gid);

// Page-aligned anonymous memory, registered.
class Region {
 public:
  Region(const Device& device, size_t length, int access);
  ~Region();
  Region(const Region&) = delete;
  uint8_t* data() const { return data_; }
  size_t size() const { return length_; }
  uint64_t address() const { return reinterpret_cast<uintptr_t>(data_); }
  uint32_t lkey() const { return mr_->lkey; }
  uint32_t rkey() const { return mr_->rkey; }
  ibv_mr* mr() const { return mr_.get(); }
  void Deregister() { mr_.reset(); }

 private:
  uint8_t* data_;
  size_t length_;
  MrPtr mr_;
};

struct QpAttributes {
  uint32_t timeout = 14, retry = 7, rnr_retry = 7, min_rnr_timer = 12;
  uint32_t tclass = 0, sl = 0;
  ibv_mtu mtu = IBV_MTU_1024;
  uint32_t rd_atomic = 1;
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
};

struct Remote {
  ibv_gid gid{};
  uint32_t qpn = 0;
  uint32_t psn = 0;
};

uint32_t MtuBytes(ibv_mtu mtu);
ibv_mtu MtuEnum(uint32_t bytes);
ibv_ah_attr AddressOf(const Device& device, const ibv_gid& gid, const QpAttributes& a);
// Each throws SetupError naming the step and what to look at.
void ToInit(ibv_qp* qp, const Device& device, const QpAttributes& a);
void ToRtr(ibv_qp* qp, const Device& device, const QpAttributes& a, const Remote& remote);
void ToRts(ibv_qp* qp, const QpAttributes& a, uint32_t psn);
void ToError(ibv_qp* qp);
void UdToRts(ibv_qp* qp, const Device& device, uint32_t qkey, uint32_t psn);

}  // namespace mroce
