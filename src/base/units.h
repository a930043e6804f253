// Parses and formats durations, sizes and counts as users write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace wq {

inline constexpr std::int64_t bytes_per_mb = std::int64_t{1}
                                             << 20;  // MB of memory and disk: Work Queue's unit
inline constexpr std::int64_t kb_per_mb = 1024;

// "90" (seconds), "1.5", "90s", "10m", "1h30m", "2d", "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS".
// Error (usage) for anything else, negative values, or more than 100 years.
Result<Duration> parse_duration(std::string_view text);

// Bytes from "512M", "4G", "1.5T", "100k", "4GiB", "512MB" (all powers of 1024); a bare number counts
// `bare_unit` bytes. Error (usage) for anything else, negative values, or more than 2^62.
Result<std::int64_t> parse_size(std::string_view text, std::int64_t bare_unit = 1 << 20);

// A whole number in [low, high], digits only. Error (usage) that names the bounds.
Result<std::int64_t> parse_count(std::string_view text, std::int64_t low, std::int64_t high);

std::string format_duration(Duration value);                       // "0.42s" "12s" "3m05s" "1h30m" "2d04h"
std::string format_size(std::int64_t bytes);                       // "512 B" "4.0 KiB" "1.5 GiB"
std::string format_count(std::uint64_t value);                     // "1,234,567"
std::string count_of(std::uint64_t value, std::string_view noun);  // "1 task" "1,234 tasks"
std::string quote_for_message(std::string_view text);  // 'text', control bytes as \xNN, at most 80 characters
// The same without the quotes, truncated with "..." to `most` bytes.
std::string line_for_message(std::string_view text, std::size_t most = 160);

}  // namespace wq
