// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

#include "datagram.h"
#include "negative.h"
#include "oob.h"
#include "options.h"
#include "report.h"
#include "scribble.h"
#include "session.h"
#include "transfer.h"

namespace mroce::verify {
namespace {

void TellPeer(Channel* channel, const std::string& text) {
  try {
    channel->Send(FrameType::kError, {text.begin(), text.end()});
  } catch (const std::exception&) {
    // It knows already, or is gone.
  }
}

int RunRc(Options* o, Channel channel) {
  Summary summary;
  Session session(*o, std::move(channel));
  fmt::print(stderr, "{} {} gid {} ({}), mtu {}, {} QPs, inline {}, ring {} KiB, messages up to {} KiB\n",
             session.device.name, o->listen ? "server" : "client", session.device.gid_index,
             GidText(session.device.gid), MtuBytes(session.attributes.mtu), o->qps, session.connections[0].max_inline,
             o->plan.ring >> 10, (o->plan.sizes == "mixed" ? o->plan.max_size : ParseSizes(o->plan.sizes).hi) >> 10);
  try {
    RunTransfer(session, &summary);
  } catch (const VerifyError& e) {
    summary.error = e.what();
    TellPeer(&session.channel, summary.error);
  }
  PrintSummary(*o, session.device.name, summary);
  return summary.error.empty() ? 0 : 1;
}

int RunUd(Options* o, Channel channel) {
  Summary summary;
  std::string device;
  try {
    RunDatagrams(*o, std::move(channel), &summary, &device);
  } catch (const VerifyError& e) {
    summary.error = e.what();
  }
  PrintSummary(*o, device, summary);
  return summary.error.empty() ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  switch (ParseOptions(argc, argv, &options)) {
    case Mode::kHelp:
      return 0;
    case Mode::kNegative:
      return RunNegative(options);
    case Mode::kScribble:
      return RunScribble(options);
    case Mode::kTransfer:
      break;
  }
  Channel channel = Greet(&options);
  return options.ud ? RunUd(&options, std::move(channel)) : RunRc(&options, std::move(channel));
}

}  // namespace
}  // namespace mroce::verify

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return mroce::verify::Main(argc, argv);
  } catch (const mroce::VerifyError& e) {
    fmt::print(stderr, "metaroce-verify: FAILED: {}\n", e.what());
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "metaroce-verify: {}\n", e.what());
    return 2;
  }
}
