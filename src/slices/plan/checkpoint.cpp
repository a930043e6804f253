#include "slices/plan/checkpoint.h"

#include <string>

#include "base/units.h"

namespace wq::slices::plan {

Status check_fits(const Checkpoint& checkpoint, const std::string& name, const Plan& plan, bool shuffle,
                  std::optional<std::uint64_t> seed) {
    const auto refused = [&](const std::string& why) {
        return Error{ExitCode::bad_input, "cannot restore " + name + ": " + why};
    };
    if (checkpoint.slices != plan.size())
        return refused(
            "it is of other works or of another num_slices: " + count_of(checkpoint.slices, "slice") +
            " there, " + std::to_string(plan.size()) + " here");
    if (checkpoint.digest != plan.digest()) return refused("it is of other works (names, records or order)");
    if (checkpoint.shuffle != shuffle)
        return refused(checkpoint.shuffle ? "its slices are shuffled" : "its slices are not shuffled");
    if (seed && *seed != checkpoint.seed)
        return refused("its seed is " + std::to_string(checkpoint.seed) + ", not " + std::to_string(*seed) +
                       "; leave the seed out to use that");
    return success();
}

}  // namespace wq::slices::plan
