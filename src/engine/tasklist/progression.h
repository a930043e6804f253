// Whether two arithmetic progressions have a common element, without enumerating them.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/tasklist/sources.h"

namespace wq::engine::tasklist {

// The smallest common index. Indexes and steps are below 2^63.
std::optional<std::uint64_t> first_common(const IndexRange& a, const IndexRange& b);

}  // namespace wq::engine::tasklist
