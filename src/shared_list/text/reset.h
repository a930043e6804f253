// `runtask --reset`: a list as it was before any worker came.
#pragma once

#include <cstdint>
#include <string>

#include "shared_list/text/document.h"

namespace wq::shared_list::text {

// The list without marks from line `from` on; lines above stay as they are. 0: all.
std::string reset(const Document& list, std::uint64_t from);

// How many lines it makes wait again.
std::uint64_t lines_reset(const Document& list, std::uint64_t from);

}  // namespace wq::shared_list::text
