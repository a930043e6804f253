// The maximum amount of any resource; larger requests are refused everywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace wq {

inline constexpr std::int64_t most_cores = 100'000;  // and as many GPUs
// Of memory and of disk, in MB of 2^20 bytes: 1 EiB. Sums of a hundred thousand workers stay far from
// overflow.
inline constexpr std::int64_t most_mb = std::int64_t{1} << 40;

// "4G" as MB of 2^20 bytes, rounded up; a bare number is in MB. Error (usage): no size, or above the most.
Result<std::int64_t> parse_amount_mb(std::string_view text);

}  // namespace wq
