// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "netlink.h"

#include <net/if.h>
#include <fmt/format.h>
#include <linux/genetlink.h>
#include <rdma/metaroce_netlink.h>

#include <cerrno>
#include <cstring>

namespace mroce::cli {
namespace {

constexpr size_t kBufferSize = 32768;  // the largest part of a dump
constexpr size_t kRequestSize = 1024;

void ParsePolicy(const nlattr* nest, std::string* text) {
  uint64_t min = 0, max = UINT64_MAX;
  bool range = false;
  for (const nlattr* a : Attrs(nest)) {
    const uint16_t type = mnl_attr_get_type(a);
    if (mnl_attr_get_payload_len(a) != sizeof(uint64_t)) continue;
    if (type == NL_POLICY_TYPE_ATTR_MIN_VALUE_U) std::memcpy(&min, mnl_attr_get_payload(a), sizeof(min));
    if (type == NL_POLICY_TYPE_ATTR_MAX_VALUE_U) std::memcpy(&max, mnl_attr_get_payload(a), sizeof(max));
    range |= type == NL_POLICY_TYPE_ATTR_MAX_VALUE_U;
  }
  if (range) *text += fmt::format(" ({} to {} is allowed)", min, max);
}

}  // namespace

KernelError ParseError(const nlmsghdr* nlh) {
  KernelError e;
  size_t used = sizeof(int);
  int error = 0;
  if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(error)) std::memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
  e.error = error < 0 ? -error : 0;
  if (nlh->nlmsg_type == NLMSG_ERROR) {
    // the request comes back, all of it unless the kernel says that it was cut
    used = sizeof(nlmsgerr);
    if (mnl_nlmsg_get_payload_len(nlh) < used) return e;
    const auto* err = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(nlh));
    if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) used += MNL_ALIGN(err->msg.nlmsg_len) - sizeof(nlmsghdr);
  }
  if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) || mnl_nlmsg_get_payload_len(nlh) < used) return e;
  const nlattr* policy = nullptr;
  for (const nlattr* a : Attrs(nlh, used)) {
    if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG)
      e.text.assign(mnl_attr_get_str(a), strnlen(mnl_attr_get_str(a), mnl_attr_get_payload_len(a)));
    if (mnl_attr_get_type(a) == NLMSGERR_ATTR_POLICY) policy = a;
  }
  if (policy) ParsePolicy(policy, &e.text);
  return e;
}

std::string ErrorText(const KernelError& e) {
  if (!e.text.empty()) return e.text;
  if (e.error == EPERM) return "not permitted: it needs root (CAP_NET_ADMIN)";
  if (e.error == EOPNOTSUPP) return "the kernel's module does not know this: is it older than this program?";
  return std::strerror(e.error);
}

Netlink::Netlink() : out_(kRequestSize), in_(kBufferSize) {
  socket_.reset(mnl_socket_open(NETLINK_GENERIC));
  if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0)
    throw Failure(fmt::format("netlink socket: {}", std::strerror(errno)));
  int one = 1;
  // an old kernel has shorter errors, that is all
  mnl_socket_setsockopt(socket_.get(), NETLINK_EXT_ACK, &one, sizeof(one));
  FindFamily();
}

nlmsghdr* Netlink::Begin(uint16_t type, uint8_t cmd, uint16_t flags) {
  nlmsghdr* nlh = mnl_nlmsg_put_header(out_.data());
  nlh->nlmsg_type = type;
  nlh->nlmsg_flags = NLM_F_REQUEST | flags;
  nlh->nlmsg_seq = ++seq_;
  auto* genl = static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(nlh, sizeof(genlmsghdr)));
  genl->cmd = cmd;
  genl->version = 1;
  return nlh;
}

void Netlink::Talk(nlmsghdr* nlh, const std::function<void(const nlmsghdr*)>& take) {
  const bool dump = (nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  if (mnl_socket_sendto(socket_.get(), nlh, nlh->nlmsg_len) < 0)
    throw Failure(fmt::format("netlink: {}", std::strerror(errno)));
  for (;;) {
    const ssize_t got = mnl_socket_recvfrom(socket_.get(), in_.data(), in_.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      throw Failure(fmt::format("netlink: {}", std::strerror(errno)));
    }
    int len = static_cast<int>(got);
    for (auto* m = reinterpret_cast<const nlmsghdr*>(in_.data()); mnl_nlmsg_ok(m, len); m = mnl_nlmsg_next(m, &len)) {
      if (m->nlmsg_seq != seq_) continue;
      if (m->nlmsg_type == NLMSG_ERROR || m->nlmsg_type == NLMSG_DONE) {
        const KernelError e = ParseError(m);
        if (e.error) throw Failure(ErrorText(e));
        return;
      }
      take(m);
      if (!dump && !(nlh->nlmsg_flags & NLM_F_ACK)) return;
    }
  }
}

std::vector<Json> Netlink::Ask(nlmsghdr* nlh) {
  std::vector<Json> all;
  Talk(nlh, [&](const nlmsghdr* m) { all.push_back(ParseMessage(m)); });
  return all;
}

void Netlink::FindFamily() {
  nlmsghdr* nlh = Begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
  mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, MROCE_GENL_NAME);
  try {
    Talk(nlh, [&](const nlmsghdr* m) {
      for (const nlattr* a : Attrs(m, sizeof(genlmsghdr))) {
        if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID) family_ = mnl_attr_get_u16(a);
        if (mnl_attr_get_type(a) != CTRL_ATTR_MCAST_GROUPS) continue;
        // it has one group
        for (const nlattr* group : Attrs(a)) {
          for (const nlattr* b : Attrs(group)) {
            if (mnl_attr_get_type(b) == CTRL_ATTR_MCAST_GRP_ID) group_ = mnl_attr_get_u32(b);
          }
        }
      }
    });
  } catch (const Failure&) {
    family_ = 0;
  }
  if (!family_) throw Failure("the kernel knows no metaroce: is the module loaded? (modprobe metaroce)");
}

std::vector<Json> Netlink::Devices() { return Ask(Begin(family_, MROCE_CMD_DEV_GET, NLM_F_DUMP)); }

Json Netlink::Device(const std::string& name) {
  nlmsghdr* nlh = Begin(family_, MROCE_CMD_DEV_GET, 0);
  mnl_attr_put_strz(nlh, MROCE_A_DEV_NAME, name.c_str());
  std::vector<Json> all = Ask(nlh);
  if (all.empty()) throw Failure("the kernel gave no answer");
  return all[0];
}

std::vector<Json> Netlink::Conns(const Filter& filter) {
  nlmsghdr* nlh = Begin(family_, MROCE_CMD_CONN_GET, NLM_F_DUMP);
  if (!filter.dev.empty()) mnl_attr_put_strz(nlh, MROCE_A_CONN_DEV_NAME, filter.dev.c_str());
  if (filter.cid) mnl_attr_put_u32(nlh, MROCE_A_CONN_CID, filter.cid);
  return Ask(nlh);
}

std::vector<Json> Netlink::Paths(const Filter& filter) {
  nlmsghdr* nlh = Begin(family_, MROCE_CMD_PATH_GET, NLM_F_DUMP);
  if (!filter.dev.empty()) mnl_attr_put_strz(nlh, MROCE_A_PATH_DEV_NAME, filter.dev.c_str());
  if (filter.cid) mnl_attr_put_u32(nlh, MROCE_A_PATH_CID, filter.cid);
  return Ask(nlh);
}

std::vector<Json> Netlink::Planes(const std::string& dev) {
  nlmsghdr* nlh = Begin(family_, MROCE_CMD_PLANE_GET, NLM_F_DUMP);
  if (!dev.empty()) mnl_attr_put_strz(nlh, MROCE_A_PLANE_DEV_NAME, dev.c_str());
  return Ask(nlh);
}

void Netlink::ChangePlane(uint8_t cmd, const std::string& dev, const std::string& netdev) {
  const unsigned int ifindex = if_nametoindex(netdev.c_str());
  if (!ifindex) throw Failure(fmt::format("{}: there is no such netdev here", netdev));
  nlmsghdr* nlh = Begin(family_, cmd, NLM_F_ACK);
  mnl_attr_put_strz(nlh, MROCE_A_PLANE_DEV_NAME, dev.c_str());
  mnl_attr_put_u32(nlh, MROCE_A_PLANE_IFINDEX, ifindex);
  Talk(nlh, [](const nlmsghdr*) {});
}

void Netlink::AddPlane(const std::string& dev, const std::string& netdev) {
  ChangePlane(MROCE_CMD_PLANE_ADD, dev, netdev);
}

void Netlink::DelPlane(const std::string& dev, const std::string& netdev) {
  ChangePlane(MROCE_CMD_PLANE_DEL, dev, netdev);
}

void Netlink::Set(const std::string& dev, const std::vector<Setting>& settings) {
  nlmsghdr* nlh = Begin(family_, MROCE_CMD_DEV_SET, NLM_F_ACK);
  mnl_attr_put_strz(nlh, MROCE_A_DEV_NAME, dev.c_str());
  nlattr* nest = mnl_attr_nest_start(nlh, MROCE_A_DEV_PARAMS);
  for (const Setting& s : settings) mnl_attr_put_u32(nlh, s.attr, s.value);
  mnl_attr_nest_end(nlh, nest);
  Talk(nlh, [](const nlmsghdr*) {});
}

void Netlink::Subscribe() {
  if (mnl_socket_setsockopt(socket_.get(), NETLINK_ADD_MEMBERSHIP, &group_, sizeof(group_)) < 0)
    throw Failure(fmt::format("joining the group of events: {}", std::strerror(errno)));
}

std::vector<Json> Netlink::Events(bool* lost) {
  std::vector<Json> all;
  *lost = false;
  const ssize_t got = mnl_socket_recvfrom(socket_.get(), in_.data(), in_.size());
  if (got < 0) {
    *lost = errno == ENOBUFS;
    if (*lost || errno == EINTR) return all;
    throw Failure(fmt::format("netlink: {}", std::strerror(errno)));
  }
  int len = static_cast<int>(got);
  for (auto* m = reinterpret_cast<const nlmsghdr*>(in_.data()); mnl_nlmsg_ok(m, len); m = mnl_nlmsg_next(m, &len))
    if (m->nlmsg_type == family_) all.push_back(ParseMessage(m));
  return all;
}

}  // namespace mroce::cli
