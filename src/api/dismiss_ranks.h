// Ranks have no other manager than that of their job.
#pragma once

#include <cstdint>
#include <string>

#include "net/transport.h"

namespace wq::api {

// Tells the ranks of a job with so many of them, without their manager, to end.
void dismiss_ranks(net::Transport& ranks, std::uint32_t count, const std::string& why);

}  // namespace wq::api
