// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Messages of the netlink family "metaroce" as JSON objects. Keys are the names of
// Documentation/netlink/specs/metaroce.yaml, with underscores; ids are strings in hex.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace mroce::cli {

using Json = nlohmann::ordered_json;

// The attributes of a message, or in one, for a range-based loop (libmnl's macros are C only). Ends
// where the next one would not fit.
class Attrs {
 public:
  // Behind the first @offset bytes of the payload.
  Attrs(const nlmsghdr* nlh, size_t offset)
      : first_(static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(nlh, offset))),
        end_(static_cast<const char*>(mnl_nlmsg_get_payload_tail(nlh))) {}
  explicit Attrs(const nlattr* nest)
      : first_(static_cast<const nlattr*>(mnl_attr_get_payload(nest))),
        end_(reinterpret_cast<const char*>(first_) + mnl_attr_get_payload_len(nest)) {}

  class Iterator {
   public:
    Iterator(const nlattr* at, const char* end) : at_(at), end_(end) { Check(); }
    const nlattr* operator*() const { return at_; }
    Iterator& operator++() {
      at_ = mnl_attr_next(at_);
      Check();
      return *this;
    }
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }

   private:
    void Check() {
      if (at_ && !mnl_attr_ok(at_, static_cast<int>(end_ - reinterpret_cast<const char*>(at_)))) at_ = nullptr;
    }
    const nlattr* at_;  // nullptr: the end
    const char* end_;
  };
  Iterator begin() const { return {first_, end_}; }
  Iterator end() const { return {nullptr, end_}; }

 private:
  const nlattr* first_;
  const char* end_;
};

// A message of the family; an empty object if its command is not known here. Attributes that are
// not known, or too short, are left out: a newer kernel may send more.
Json ParseMessage(const nlmsghdr* nlh);

// A device's parameters, as a user names them.
struct Param {
  uint16_t attr;  // MROCE_A_PARAMS_*
  const char* name;
  const char* key;  // in JSON
  bool is_time;     // in microseconds
};
// Return: nullptr if there is none of this name.
const Param* FindParam(const std::string& name);
// Their names, for messages.
std::string ParamNames();
// All of them, ended by one without a name.
const Param* Params();

}  // namespace mroce::cli
