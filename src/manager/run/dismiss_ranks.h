// Ends the worker ranks of a job that has no manager, since they have no other.
#pragma once

#include <cstdint>
#include <string>

#include "net/frames/transport.h"

namespace wq::manager::run {

// `count`: of all ranks, with rank 0, which calls it.
void dismiss_ranks(net::frames::Transport& ranks, std::uint32_t count, const std::string& why);

}  // namespace wq::manager::run
