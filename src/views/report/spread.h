// How the values of many attempts are distributed: the five figures of a box plot, and those of its tail.
#pragma once

#include <cstdint>
#include <vector>

namespace wq::views::report {

struct Spread {
    std::uint64_t count = 0;  // 0: no value was recorded, and the others mean nothing
    double least = 0;
    double lower_quartile = 0;
    double median = 0;
    double upper_quartile = 0;
    double percentile_95 = 0;
    double most = 0;
    double mean = 0;
    bool operator==(const Spread&) const = default;
};

// A value that `count` attempts have.
struct Repeated {
    double value = 0;
    std::uint64_t count = 1;
};

// Between two values, a quantile is interpolated linearly, as numpy and R do it. Sorts the values, so that
// they need no second memory, and makes their counts sums.
Spread spread_of(std::vector<Repeated>& values);

}  // namespace wq::views::report
