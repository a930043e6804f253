// What an attempt took, and what it took too much of, by the names and in the units of Work Queue's resource
// monitor: for the transactions log and for reports on one task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.h"
#include "core/resources.h"

namespace wq::stats {

struct Quantity {
    std::string_view name;
    std::int64_t amount = 0;  // in parts of the unit, not negative
    std::int64_t parts = 1;   // of one unit: 1, 1000 or 1'000'000
    std::string_view unit;
    bool operator==(const Quantity&) const = default;
};
using Quantities = std::vector<Quantity>;

// Without what nobody measured. Of one whose tree was not watched: what its process and the children that it
// waited for took.
Quantities quantities_of(const core::Outcome& outcome);
// The limits that it was ended for; of its time, how long it ran.
Quantities exceeded_limits(const core::Outcome& outcome, const core::Resources& given);
// All amounts that are said.
Quantities quantities_of(const core::Sizes& sizes);

// `{"cores":[1.5,"cores"],"memory":[800,"MB"]}`
void put_quantities(std::string& out, const Quantities& quantities);

}  // namespace wq::stats
