// Whether two arithmetic progressions meet, without walking along them.
#pragma once

#include <cstdint>
#include <optional>

#include "taskfile/sources.h"

namespace wq::taskfile {

// The least index that both ranges hold. Indexes and steps are below 2^63.
std::optional<std::uint64_t> first_common(const IndexRange& a, const IndexRange& b);

}  // namespace wq::taskfile
