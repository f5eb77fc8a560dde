// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "attrs.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <rdma/metaroce_netlink.h>

#include <cstring>
#include <iterator>

namespace mroce::cli {
namespace {

enum class Kind : uint8_t { kNumber, kHex, kString, kFlag, kAddr4, kAddr6, kConnState, kPathState, kParams, kCounter, kPair };

struct Field {
  uint16_t attr;
  const char* key;
  Kind kind;
};

constexpr const char* kConnStates[] = {"CONNECTING", "UP", "DEAD"};
static_assert(std::size(kConnStates) == MROCE_NL_CONN_DEAD + 1);
constexpr const char* kPathStates[] = {"PROBING", "ACTIVE", "SUSPECT", "FAILED"};
static_assert(std::size(kPathStates) == MROCE_NL_PATH_FAILED + 1);

constexpr Param kParams[] = {
    {MROCE_A_PARAMS_MAX_BURST, "max-burst", "max_burst", false},
    {MROCE_A_PARAMS_PROBE_FLOOR, "probe-floor", "probe_floor", true},
    {MROCE_A_PARAMS_DELAY_TARGET, "delay-target", "delay_target", true},
    {MROCE_A_PARAMS_INIT_PATHS, "init-paths", "init_paths", false},
    {MROCE_A_PARAMS_MAX_PATHS, "max-paths", "max_paths", false},
    {0, nullptr, nullptr, false},
};
static_assert(std::size(kParams) == MROCE_A_PARAMS_MAX + 1);

constexpr Field kDev[] = {
    {MROCE_A_DEV_INDEX, "index", Kind::kNumber},
    {MROCE_A_DEV_NAME, "name", Kind::kString},
    {MROCE_A_DEV_IFINDEX, "ifindex", Kind::kNumber},
    {MROCE_A_DEV_IFNAME, "ifname", Kind::kString},
    {MROCE_A_DEV_ID, "id", Kind::kHex},
    {MROCE_A_DEV_EPOCH, "epoch", Kind::kHex},
    {MROCE_A_DEV_CONNS, "conns", Kind::kNumber},
    {MROCE_A_DEV_QPS, "qps", Kind::kNumber},
    {MROCE_A_DEV_EVENTS_DROPPED, "events_dropped", Kind::kNumber},
    {MROCE_A_DEV_PARAMS, "params", Kind::kParams},
};

constexpr Field kPair[] = {
    {MROCE_A_PAIR_SADDR4, "saddr", Kind::kAddr4},
    {MROCE_A_PAIR_DADDR4, "daddr", Kind::kAddr4},
    {MROCE_A_PAIR_SADDR6, "saddr", Kind::kAddr6},
    {MROCE_A_PAIR_DADDR6, "daddr", Kind::kAddr6},
};

constexpr Field kConn[] = {
    {MROCE_A_CONN_DEV_INDEX, "dev_index", Kind::kNumber},
    {MROCE_A_CONN_DEV_NAME, "dev_name", Kind::kString},
    {MROCE_A_CONN_CID, "cid", Kind::kHex},
    {MROCE_A_CONN_PEER_CID, "peer_cid", Kind::kHex},
    {MROCE_A_CONN_STATE, "state", Kind::kConnState},
    {MROCE_A_CONN_SADDR4, "saddr", Kind::kAddr4},
    {MROCE_A_CONN_DADDR4, "daddr", Kind::kAddr4},
    {MROCE_A_CONN_SADDR6, "saddr", Kind::kAddr6},
    {MROCE_A_CONN_DADDR6, "daddr", Kind::kAddr6},
    {MROCE_A_CONN_ALSO, "also", Kind::kPair},
    {MROCE_A_CONN_SCOPE_ID, "scope_id", Kind::kNumber},
    {MROCE_A_CONN_TCLASS, "tclass", Kind::kNumber},
    {MROCE_A_CONN_SELF, "self", Kind::kFlag},
    {MROCE_A_CONN_PEER_DEV_ID, "peer_dev_id", Kind::kHex},
    {MROCE_A_CONN_PEER_EPOCH, "peer_epoch", Kind::kHex},
    {MROCE_A_CONN_PAYLOAD, "payload", Kind::kNumber},
    {MROCE_A_CONN_STREAMS, "streams", Kind::kNumber},
    {MROCE_A_CONN_PATHS, "paths", Kind::kNumber},
    {MROCE_A_CONN_ACTIVE_PATHS, "active_paths", Kind::kNumber},
    {MROCE_A_CONN_WINDOW, "window", Kind::kNumber},
    {MROCE_A_CONN_IN_FLIGHT, "in_flight", Kind::kNumber},
    {MROCE_A_CONN_RESEND, "resend", Kind::kNumber},
    {MROCE_A_CONN_RATE, "rate", Kind::kNumber},
    {MROCE_A_CONN_BASE_RTT, "base_rtt", Kind::kNumber},
    {MROCE_A_CONN_MEMORY, "memory", Kind::kNumber},
    {MROCE_A_CONN_SCHEDULER, "scheduler", Kind::kString},
    {MROCE_A_CONN_CC, "cc", Kind::kString},
    {MROCE_A_CONN_COUNTER, "counters", Kind::kCounter},
};

constexpr Field kPath[] = {
    {MROCE_A_PATH_DEV_INDEX, "dev_index", Kind::kNumber},
    {MROCE_A_PATH_DEV_NAME, "dev_name", Kind::kString},
    {MROCE_A_PATH_CID, "cid", Kind::kHex},
    {MROCE_A_PATH_ID, "id", Kind::kNumber},
    {MROCE_A_PATH_SPORT, "sport", Kind::kNumber},
    {MROCE_A_PATH_STATE, "state", Kind::kPathState},
    {MROCE_A_PATH_OLD_STATE, "old_state", Kind::kPathState},
    {MROCE_A_PATH_DADDR4, "daddr", Kind::kAddr4},
    {MROCE_A_PATH_DADDR6, "daddr", Kind::kAddr6},
    {MROCE_A_PATH_SRTT, "srtt", Kind::kNumber},
    {MROCE_A_PATH_RTTVAR, "rttvar", Kind::kNumber},
    {MROCE_A_PATH_BASE_RTT, "base_rtt", Kind::kNumber},
    {MROCE_A_PATH_CWND, "cwnd", Kind::kNumber},
    {MROCE_A_PATH_IN_FLIGHT, "in_flight", Kind::kNumber},
    {MROCE_A_PATH_ECN_FRACTION, "ecn_fraction", Kind::kNumber},
    {MROCE_A_PATH_PROBES, "probes", Kind::kNumber},
    {MROCE_A_PATH_REORDERING, "reordering", Kind::kNumber},
    {MROCE_A_PATH_TX_PACKETS, "tx_packets", Kind::kNumber},
    {MROCE_A_PATH_RETX_PACKETS, "retx_packets", Kind::kNumber},
    {MROCE_A_PATH_MARKS, "marks", Kind::kNumber},
    {MROCE_A_PATH_PLANE, "plane", Kind::kNumber},
};

constexpr Field kPlane[] = {
    {MROCE_A_PLANE_DEV_INDEX, "dev_index", Kind::kNumber}, {MROCE_A_PLANE_DEV_NAME, "dev_name", Kind::kString},
    {MROCE_A_PLANE_INDEX, "index", Kind::kNumber},         {MROCE_A_PLANE_IFINDEX, "ifindex", Kind::kNumber},
    {MROCE_A_PLANE_IFNAME, "ifname", Kind::kString},       {MROCE_A_PLANE_UP, "up", Kind::kFlag},
};

// An unsigned number of 1, 2, 4 or 8 bytes. Return: false: it is none.
bool Number(const nlattr* a, uint64_t* value) {
  const uint16_t len = mnl_attr_get_payload_len(a);
  const void* data = mnl_attr_get_payload(a);
  switch (len) {
    case 1: {
      *value = mnl_attr_get_u8(a);
      return true;
    }
    case 2: {
      *value = mnl_attr_get_u16(a);
      return true;
    }
    case 4: {
      *value = mnl_attr_get_u32(a);
      return true;
    }
    case 8: {
      std::memcpy(value, data, sizeof(*value));
      return true;
    }
    default:
      return false;
  }
}

std::string String(const nlattr* a) {
  const char* data = static_cast<const char*>(mnl_attr_get_payload(a));
  return {data, strnlen(data, mnl_attr_get_payload_len(a))};
}

template <size_t N>
std::string StateName(const char* const (&names)[N], uint64_t state) {
  return state < N ? names[state] : fmt::format("{}", state);
}

void ParseParams(const nlattr* nest, Json* out) {
  for (const nlattr* a : Attrs(nest)) {
    uint64_t value;
    for (const Param* p = kParams; p->name; p++)
      if (p->attr == mnl_attr_get_type(a) && Number(a, &value)) (*out)[p->key] = value;
  }
}

void ParseCounter(const nlattr* nest, Json* out) {
  std::string name;
  uint64_t value = 0;
  for (const nlattr* a : Attrs(nest)) {
    if (mnl_attr_get_type(a) == MROCE_A_COUNTER_NAME) name = String(a);
    if (mnl_attr_get_type(a) == MROCE_A_COUNTER_VALUE && !Number(a, &value)) return;
  }
  if (!name.empty()) (*out)[name] = value;
}

template <size_t N>
Json Parse(const Field (&fields)[N], const Attrs& attrs);

void ParseField(const Field& f, const nlattr* a, Json* out) {
  const uint16_t len = mnl_attr_get_payload_len(a);
  char text[INET6_ADDRSTRLEN];
  uint64_t value;
  Json& j = *out;
  switch (f.kind) {
    case Kind::kString:
      j[f.key] = String(a);
      return;
    case Kind::kFlag:
      j[f.key] = true;
      return;
    case Kind::kAddr4:
      if (len == 4) j[f.key] = inet_ntop(AF_INET, mnl_attr_get_payload(a), text, sizeof(text));
      return;
    case Kind::kAddr6:
      if (len == 16) j[f.key] = inet_ntop(AF_INET6, mnl_attr_get_payload(a), text, sizeof(text));
      return;
    case Kind::kParams:
      ParseParams(a, &(j[f.key] = Json::object()));
      return;
    case Kind::kCounter:
      if (!j.contains(f.key)) j[f.key] = Json::object();
      ParseCounter(a, &j[f.key]);
      return;
    case Kind::kPair:
      j[f.key].push_back(Parse(kPair, Attrs(a)));
      return;
    default:
      break;
  }
  if (!Number(a, &value)) return;
  if (f.kind == Kind::kHex)
    j[f.key] = fmt::format("{:#0{}x}", value, 2 * len + 2);
  else if (f.kind == Kind::kConnState)
    j[f.key] = StateName(kConnStates, value);
  else if (f.kind == Kind::kPathState)
    j[f.key] = StateName(kPathStates, value);
  else
    j[f.key] = value;
}

template <size_t N>
Json Parse(const Field (&fields)[N], const Attrs& attrs) {
  Json out = Json::object();
  for (const nlattr* a : attrs) {
    for (const Field& f : fields)
      if (f.attr == mnl_attr_get_type(a)) ParseField(f, a, &out);
  }
  return out;
}

}  // namespace

Json ParseMessage(const nlmsghdr* nlh) {
  if (mnl_nlmsg_get_payload_len(nlh) < sizeof(genlmsghdr)) return Json::object();
  const Attrs attrs(nlh, sizeof(genlmsghdr));
  switch (static_cast<const genlmsghdr*>(mnl_nlmsg_get_payload(nlh))->cmd) {
    case MROCE_CMD_DEV_GET:
      return Parse(kDev, attrs);
    case MROCE_CMD_CONN_GET:
    case MROCE_CMD_CONN_EVENT:
      return Parse(kConn, attrs);
    case MROCE_CMD_PATH_GET:
    case MROCE_CMD_PATH_EVENT:
      return Parse(kPath, attrs);
    case MROCE_CMD_PLANE_GET:
      return Parse(kPlane, attrs);
    default:
      return Json::object();
  }
}

const Param* Params() { return kParams; }

const Param* FindParam(const std::string& name) {
  for (const Param* p = kParams; p->name; p++)
    if (name == p->name) return p;
  return nullptr;
}

std::string ParamNames() {
  std::string out;
  for (const Param* p = kParams; p->name; p++) out += fmt::format("{}{}", out.empty() ? "" : ", ", p->name);
  return out;
}

}  // namespace mroce::cli
