// Ranks have no manager but that of their job.
#pragma once

#include <cstdint>
#include <string>

#include "net/transport.h"

namespace wq::api {

// Tells the `count` ranks of a job without a manager to end.
void dismiss_ranks(net::Transport& ranks, std::uint32_t count, const std::string& why);

}  // namespace wq::api
