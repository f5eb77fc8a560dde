// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Messages as the kernel makes them, and some that it would not.
#include "attrs.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rdma/metaroce_netlink.h>

#include <array>
#include <cstring>

#include "netlink.h"

namespace mroce::cli {
namespace {

struct Message {
  alignas(nlmsghdr) std::array<char, 2048> buffer{};
  nlmsghdr* nlh;

  explicit Message(uint8_t cmd) : nlh(mnl_nlmsg_put_header(buffer.data())) {
    static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(nlh, sizeof(genlmsghdr)))->cmd = cmd;
  }
};

TEST(Attrs, Device) {
  Message m(MROCE_CMD_DEV_GET);
  mnl_attr_put_u32(m.nlh, MROCE_A_DEV_INDEX, 3);
  mnl_attr_put_strz(m.nlh, MROCE_A_DEV_NAME, "mr0");
  mnl_attr_put_u64(m.nlh, MROCE_A_DEV_ID, 0xfedcba9876543210);
  mnl_attr_put_u32(m.nlh, MROCE_A_DEV_EPOCH, 0x1f);
  nlattr* nest = mnl_attr_nest_start(m.nlh, MROCE_A_DEV_PARAMS);
  mnl_attr_put_u32(m.nlh, MROCE_A_PARAMS_MAX_BURST, 44);
  mnl_attr_nest_end(m.nlh, nest);
  EXPECT_EQ(ParseMessage(m.nlh).dump(),
            R"({"index":3,"name":"mr0","id":"0xfedcba9876543210","epoch":"0x0000001f","params":{"max_burst":44}})");
}

TEST(Attrs, Connection) {
  Message m(MROCE_CMD_CONN_GET);
  mnl_attr_put_u32(m.nlh, MROCE_A_CONN_CID, 0xbeef);
  mnl_attr_put_u32(m.nlh, MROCE_A_CONN_STATE, MROCE_NL_CONN_UP);
  mnl_attr_put_u32(m.nlh, MROCE_A_CONN_SADDR4, htonl(0x0a000101));
  const uint8_t v6[16] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  mnl_attr_put(m.nlh, MROCE_A_CONN_DADDR6, sizeof(v6), v6);
  nlattr* pair = mnl_attr_nest_start(m.nlh, MROCE_A_CONN_ALSO);
  mnl_attr_put_u32(m.nlh, MROCE_A_PAIR_SADDR4, htonl(0x0a000102));
  mnl_attr_nest_end(m.nlh, pair);
  mnl_attr_put_u8(m.nlh, MROCE_A_CONN_TCLASS, 8);
  mnl_attr_put(m.nlh, MROCE_A_CONN_SELF, 0, nullptr);
  for (const char* name : {"tx_pkts", "rx_ce"}) {
    nlattr* nest = mnl_attr_nest_start(m.nlh, MROCE_A_CONN_COUNTER);
    mnl_attr_put_strz(m.nlh, MROCE_A_COUNTER_NAME, name);
    mnl_attr_put_u64(m.nlh, MROCE_A_COUNTER_VALUE, 7);
    mnl_attr_nest_end(m.nlh, nest);
  }
  EXPECT_EQ(ParseMessage(m.nlh).dump(),
            R"({"cid":"0x0000beef","state":"UP","saddr":"10.0.1.1","daddr":"fd00::1","also":[{"saddr":"10.0.1.2"}],"tclass":8,"self":true,)"
            R"("counters":{"tx_pkts":7,"rx_ce":7}})");
}

TEST(Attrs, PathAndEvent) {
  Message m(MROCE_CMD_PATH_EVENT);
  mnl_attr_put_u16(m.nlh, MROCE_A_PATH_SPORT, 50000);
  mnl_attr_put_u32(m.nlh, MROCE_A_PATH_STATE, MROCE_NL_PATH_FAILED);
  mnl_attr_put_u32(m.nlh, MROCE_A_PATH_OLD_STATE, 17);
  EXPECT_EQ(ParseMessage(m.nlh).dump(), R"({"sport":50000,"state":"FAILED","old_state":"17"})");
}

TEST(Attrs, WhatIsNotKnownOrWrongIsLeftOut) {
  Message m(MROCE_CMD_PATH_GET);
  mnl_attr_put_u32(m.nlh, 1000, 1);
  mnl_attr_put(m.nlh, MROCE_A_PATH_SRTT, 3, "abc");
  mnl_attr_put_u16(m.nlh, MROCE_A_PATH_DADDR4, 1);
  mnl_attr_put_u32(m.nlh, MROCE_A_PATH_CWND, 9);
  EXPECT_EQ(ParseMessage(m.nlh).dump(), R"({"cwnd":9})");
  Message other(99);
  EXPECT_TRUE(ParseMessage(other.nlh).empty());
}

TEST(Attrs, EndsWhereTheNextWouldNotFit) {
  Message m(MROCE_CMD_PATH_GET);
  mnl_attr_put_u32(m.nlh, MROCE_A_PATH_CWND, 9);
  mnl_attr_put_u32(m.nlh, MROCE_A_PATH_SRTT, 9);
  m.nlh->nlmsg_len -= 4;
  EXPECT_EQ(ParseMessage(m.nlh).dump(), R"({"cwnd":9})");
  m.nlh->nlmsg_len = sizeof(nlmsghdr) + 2;
  EXPECT_TRUE(ParseMessage(m.nlh).empty());
}

// As the kernel answers @request with @error.
nlmsghdr* Answer(Message* m, int error, uint16_t flags, size_t request) {
  m->nlh = mnl_nlmsg_put_header(m->buffer.data());
  m->nlh->nlmsg_type = NLMSG_ERROR;
  m->nlh->nlmsg_flags = flags;
  auto* e = static_cast<nlmsgerr*>(mnl_nlmsg_put_extra_header(m->nlh, sizeof(nlmsgerr)));
  e->error = error;
  e->msg.nlmsg_len = static_cast<uint32_t>(sizeof(nlmsghdr) + request);
  if (!(flags & NLM_F_CAPPED) && request) mnl_nlmsg_put_extra_header(m->nlh, request);
  return m->nlh;
}

TEST(Errors, TextAndRange) {
  for (const uint16_t flags : {NLM_F_ACK_TLVS, NLM_F_ACK_TLVS | NLM_F_CAPPED}) {
    Message m(0);
    nlmsghdr* nlh = Answer(&m, -ERANGE, flags, 36);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "integer out of range");
    nlattr* nest = mnl_attr_nest_start(nlh, NLMSGERR_ATTR_POLICY);
    mnl_attr_put_u64(nlh, NL_POLICY_TYPE_ATTR_MIN_VALUE_U, 1);
    mnl_attr_put_u64(nlh, NL_POLICY_TYPE_ATTR_MAX_VALUE_U, 64);
    mnl_attr_nest_end(nlh, nest);
    const KernelError e = ParseError(nlh);
    EXPECT_EQ(e.error, ERANGE);
    EXPECT_EQ(ErrorText(e), "integer out of range (1 to 64 is allowed)");
  }
}

TEST(Errors, WithoutText) {
  Message m(0);
  EXPECT_NE(ErrorText(ParseError(Answer(&m, -EPERM, 0, 36))).find("CAP_NET_ADMIN"), std::string::npos);
  EXPECT_EQ(ErrorText(ParseError(Answer(&m, -ENOMEM, 0, 36))), std::strerror(ENOMEM));
  EXPECT_EQ(ParseError(Answer(&m, 0, 0, 0)).error, 0);
}

TEST(Errors, EndOfADump) {
  Message m(0);
  m.nlh = mnl_nlmsg_put_header(m.buffer.data());
  m.nlh->nlmsg_type = NLMSG_DONE;
  m.nlh->nlmsg_flags = NLM_F_ACK_TLVS;
  *static_cast<int*>(mnl_nlmsg_put_extra_header(m.nlh, sizeof(int))) = -ENODEV;
  mnl_attr_put_strz(m.nlh, NLMSGERR_ATTR_MSG, "no such device");
  const KernelError e = ParseError(m.nlh);
  EXPECT_EQ(e.error, ENODEV);
  EXPECT_EQ(e.text, "no such device");
}

TEST(Errors, TooShortToBeTrue) {
  Message m(0);
  nlmsghdr* nlh = Answer(&m, -EINVAL, NLM_F_ACK_TLVS, 0);
  static_cast<nlmsgerr*>(mnl_nlmsg_get_payload(nlh))->msg.nlmsg_len = 4000;
  EXPECT_EQ(ParseError(nlh).error, EINVAL);
  nlh->nlmsg_len = sizeof(nlmsghdr);
  EXPECT_EQ(ParseError(nlh).error, 0);
}

TEST(Params, Names) {
  EXPECT_EQ(ParamNames(), "max-burst, probe-floor, delay-target, init-paths, max-paths");
  EXPECT_EQ(FindParam("max_burst"), nullptr);
}

}  // namespace
}  // namespace mroce::cli
