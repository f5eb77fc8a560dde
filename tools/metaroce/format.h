// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Text for people, made of the JSON objects of attrs.h.
#pragma once

#include <cstdint>
#include <string>

#include "attrs.h"

namespace mroce::cli {

// "9.87 Gb/s"
std::string BitRate(double bits_per_second);
// "25ms", "1.5ms", "20us"
std::string Time(uint64_t us);
// "1.5 MiB"
std::string Bytes(uint64_t bytes);
// "0.1%", "-" of nothing
std::string Percent(double part, double whole);

uint64_t Number(const Json& j, const char* key);
// "-" if it is absent
std::string Text(const Json& j, const char* key);

// Each without the last newline.
std::string DeviceText(const Json& dev);
std::string ConnText(const Json& conn);
std::string PlaneText(const Json& plane);
std::string PathHead();
std::string PathText(const Json& path);
std::string EventText(const Json& event);

}  // namespace mroce::cli
