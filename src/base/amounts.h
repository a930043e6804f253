// A number of cores or GPUs with fractions: thousandths, so that sums are exact.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wq {

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
