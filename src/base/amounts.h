// The maximum amount of each resource. Larger requests are refused everywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace wq {

inline constexpr std::int64_t most_cores = 100'000;  // and as many GPUs
// For memory and disk, in MB of 2^20 bytes: 1 EiB. Sums over a hundred thousand workers cannot overflow.
inline constexpr std::int64_t most_mb = std::int64_t{1} << 40;

// "4G" as MB of 2^20 bytes, rounded up; a bare number is in MB. Error (usage): not a size, or above most_mb.
Result<std::int64_t> parse_amount_mb(std::string_view text);

}  // namespace wq
