// Asks managers for their status, all at once: one connection each, one answer, and the connection ends.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/tcp_dialer.h"
#include "wire/messages.h"

namespace wq::factory {

// The answers, in the order of `managers`. Errors: unreachable: no answer within `limit`, or before `stop`
// became readable; not_allowed: another key, version or certificate. They do not name the manager.
std::vector<Result<wire::StatusReport>> ask_status(const std::vector<net::TcpDialOptions>& managers,
                                                   Duration limit, int stop = -1);

}  // namespace wq::factory
