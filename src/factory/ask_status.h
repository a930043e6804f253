// Asks managers for their status: one connection each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/frames/tcp_dialer.h"
#include "net/messages/messages.h"

namespace wq::factory {

// All at once; an answer has at most 64 MiB, and TcpLimits::most_frame_bytes. The answers, in the order of
// `managers`. Errors: unreachable: no answer within `limit`, or before `stop` became readable; not_allowed:
// another key, version or certificate. They do not name the manager.
std::vector<Result<net::messages::StatusReport>> ask_status(
    const std::vector<net::frames::TcpDialOptions>& managers, Duration limit, int stop = -1);

// The same for a listing, which is none of the shapes. `take` gets its parts as they arrive, with the
// manager's place in `managers`: JSON objects separated by commas, or nothing. `limit`: for the first part
// and between two.
std::vector<Status> ask_listing(
    const std::vector<net::frames::TcpDialOptions>& managers, net::messages::StatusOf what, Duration limit,
    const std::function<void(std::size_t manager, const std::string& records)>& take);

// Whether each address of an error of these refused the connection: nobody listens there.
bool nobody_listens(const Error& error);

}  // namespace wq::factory
