// Parses and formats durations, sizes and counts as users write them.
#pragma once

#include <algorithm>
#include <compare>
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

// A number of cores or GPUs with fractions: thousandths, so that sums are exact.
class Count {
  public:
    // More than any machine has.
    static constexpr std::int64_t most = std::int64_t{1} << 50;

    constexpr Count() = default;
    // Implicit, because whole numbers are counts. Clamped to +-`most`.
    constexpr Count(std::int64_t whole) : thousandths_(std::clamp(whole, -most, most) * 1000) {}
    static constexpr Count of_thousandths(std::int64_t thousandths) {
        Count count;
        count.thousandths_ = thousandths;
        return count;
    }

    constexpr std::int64_t thousandths() const { return thousandths_; }
    constexpr bool is_whole() const { return thousandths_ % 1000 == 0; }
    // For counts that are not negative.
    constexpr std::int64_t rounded_down() const { return thousandths_ / 1000; }
    constexpr std::int64_t rounded_up() const { return (thousandths_ + 999) / 1000; }
    constexpr double as_double() const { return static_cast<double>(thousandths_) / 1000; }

    constexpr auto operator<=>(const Count&) const = default;
    constexpr Count& operator+=(Count other) { return thousandths_ += other.thousandths_, *this; }
    constexpr Count& operator-=(Count other) { return thousandths_ -= other.thousandths_, *this; }
    friend constexpr Count operator+(Count a, Count b) { return a += b; }
    friend constexpr Count operator-(Count a, Count b) { return a -= b; }
    friend constexpr Count operator*(std::int64_t times, Count count) {
        return of_thousandths(times * count.thousandths_);
    }

  private:
    std::int64_t thousandths_ = 0;
};

// "2", "0.5", "1.25": up to three digits after the point. Error (usage) for anything else, or outside [low,
// high].
Result<Count> parse_count_with_fraction(std::string_view text, Count low, Count high);

std::string format_count_with_fraction(Count count);  // "2", "0.5", "-1"

// The maximum amount of each resource. Larger requests are refused everywhere.

inline constexpr std::int64_t most_cores = 100'000;  // and as many GPUs
// For memory and disk, in MB of 2^20 bytes: 1 EiB. Sums over a hundred thousand workers cannot overflow.
inline constexpr std::int64_t most_mb = std::int64_t{1} << 40;

// "4G" as MB of 2^20 bytes, rounded up; a bare number is in MB. Error (usage): not a size, or above most_mb.
Result<std::int64_t> parse_amount_mb(std::string_view text);

}  // namespace wq
