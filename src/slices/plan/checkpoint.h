// What is left of a pass over slices after a program ends: a later one goes on from there, with any number of
// ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "base/interval_set.h"
#include "base/result.h"
#include "slices/plan/plan.h"

namespace wq::slices::plan {

struct Checkpoint {
    std::uint64_t digest = 0;  // Plan::digest()
    std::uint64_t slices = 0;  // of an epoch
    bool shuffle = true;
    std::uint64_t seed = 0;
    IntervalSet committed;  // positions
    bool operator==(const Checkpoint&) const = default;
};

// Error bad_input, in words for `name`: it is of other works, of another order, or of another seed than the
// program asks for. Another number of epochs fits.
Status check_fits(const Checkpoint& checkpoint, const std::string& name, const Plan& plan, bool shuffle,
                  std::optional<std::uint64_t> seed);

}  // namespace wq::slices::plan
