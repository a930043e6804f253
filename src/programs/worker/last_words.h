// When a worker's process is killed, its zygote (node/launcher/zygote.h) tells the manager, over a connection
// of its own, that the worker's tasks have ended, so that they can run elsewhere at once.
#pragma once

#include <string>

#include "base/time.h"
#include "net/frames/tcp_dialer.h"
#include "net/messages/messages.h"

namespace wq::programs::worker {

// What the zygote needs, as bytes: how to reach the manager, the session, and how long the manager waits.
std::string encode_last_words(const net::frames::TcpDialOptions& manager,
                              const net::messages::LastWords& words, Duration grace);

// As node::launcher::LastWords. Returns when the manager has heard them, cannot be reached, or waits no
// longer.
void send_last_words(const std::string& encoded, bool all_ended);

}  // namespace wq::programs::worker
