// The usage of an attempt and the limits it exceeded, with the names and units of Work Queue's resource
// monitor. For the transactions log and for reports on tasks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/outcome.h"
#include "engine/model/resources.h"

namespace wq::records::journal {

struct Quantity {
    std::string_view name;
    std::int64_t amount = 0;  // in 1/parts of the unit, not negative
    std::int64_t parts = 1;   // of a unit: 1, 1000 or 1'000'000
    std::string_view unit;
    bool operator==(const Quantity&) const = default;
};
using Quantities = std::vector<Quantity>;

// Only what was measured. If the process tree was not watched: the usage of the process and its reaped
// children.
Quantities quantities_of(const engine::model::Outcome& outcome);
// Of a tree at one time.
Quantities quantities_of(const engine::model::Usage& usage);
// When each peak was reached, under the names of the peaks.
Quantities times_of(const engine::model::Usage& peak_us);
// The limits for which it was killed; for the time limit, its run time.
Quantities exceeded_limits(const engine::model::Outcome& outcome, const engine::model::Resources& given);
// All specified amounts.
Quantities quantities_of(const engine::model::Sizes& sizes);

// `{"cores":[1.5,"cores"],"memory":[800,"MB"]}`
void put_quantities(std::string& out, const Quantities& quantities);

}  // namespace wq::records::journal
