// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A socket that speaks to the netlink family "metaroce".
#pragma once

#include <libmnl/libmnl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "attrs.h"
#include "words.h"

namespace mroce::cli {

// What went wrong, in words for the user: the kernel's own, where it has some.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a message of the kernel says of a failed request.
struct KernelError {
  int error = 0;  // positive errno, 0: none
  std::string text;
};
// Of an NLMSG_ERROR, or of the NLMSG_DONE that ends a dump.
KernelError ParseError(const nlmsghdr* nlh);
// For the user.
std::string ErrorText(const KernelError& e);

class Netlink {
 public:
  // Throws Failure if there is no such family.
  Netlink();

  // Throw Failure.
  std::vector<Json> Devices();
  Json Device(const std::string& name);
  std::vector<Json> Conns(const Filter& filter);
  std::vector<Json> Paths(const Filter& filter);
  // Of all devices, if none is named.
  std::vector<Json> Planes(const std::string& dev);
  void AddPlane(const std::string& dev, const std::string& netdev);
  void DelPlane(const std::string& dev, const std::string& netdev);
  void Set(const std::string& dev, const std::vector<Setting>& settings);

  // Join the group of events.
  void Subscribe();
  // Waits for events. @lost: some did not fit into the socket's buffer.
  std::vector<Json> Events(bool* lost);

 private:
  struct Closer {
    void operator()(mnl_socket* s) const { mnl_socket_close(s); }
  };

  nlmsghdr* Begin(uint16_t type, uint8_t cmd, uint16_t flags);
  // Sends what was begun, hands each message of the answer to @take.
  void Talk(nlmsghdr* nlh, const std::function<void(const nlmsghdr*)>& take);
  std::vector<Json> Ask(nlmsghdr* nlh);
  void ChangePlane(uint8_t cmd, const std::string& dev, const std::string& netdev);
  void FindFamily();

  std::unique_ptr<mnl_socket, Closer> socket_;
  std::vector<char> out_, in_;
  uint16_t family_ = 0;
  uint32_t group_ = 0;
  uint32_t seq_ = 0;
};

}  // namespace mroce::cli
