// How much of a worker a task is given. Rules of the Work Queue manual, "Task Resources":
//
//  1. A task that asks for nothing gets the whole worker, without its GPUs.
//  2. It gets at least what it asks for.
//  3. GPUs that it does not ask for: none.
//  4. Cores that it does not ask for, where it asks for GPUs: none.
//  5. Cores, memory and disk otherwise: n of these tasks fit the worker by what they ask for, and each gets
//     one n-th; cores rounded down to whole ones, one at least.
//  6. What a task of an automatic category is given is never above the maximum of that.
//
// Beyond the manual: cores and GPUs may be fractions, which are given as they are asked for where no more
// than that is due; `cores=0` holds no core and gets what it says, no more. All in integers: n tasks of 1/n
// fill the worker for every n, where floating point loses one of 93, 99, 105, 117, 123...
#pragma once

#include <string>

#include "core/resources.h"
#include "core/sizes.h"

namespace wq::core {

struct AllocationRules {
    // False: not rule 5, but what it asks for and no more; of memory, where it does not say, the part that
    // its cores are of the worker's, and no disk.
    bool proportional = false;
    bool whole_tasks = true;  // false: not one n-th, but the part of what it asks for most
    auto operator<=>(const AllocationRules&) const = default;
};

// What a task asks for, with what its category says for it.
struct Ask {
    explicit Ask(const Needs& said, const Needs& least = {}) : needs(said), at_least(least) {}
    Needs needs;      // an amount; -1: nothing is said; whole_worker
    Needs at_least;   // of what is not an amount: no less is given, and a worker that has less will not do
    Needs at_most{};  // no more is given, whatever is due; not below an amount

    // What it asks for is what a task of no category could say, whatever it is given at most.
    bool plain() const;
    bool operator==(const Ask&) const = default;
};
std::string describe(const Ask& ask);  // "2 cores, 4.0 GiB memory": for messages

// More than `whole` in what it asks for, where that is more: then it fits nowhere.
Resources allocate(const Ask& ask, const Resources& whole, const AllocationRules& rules = {});
Resources allocate(const Needs& needs, const Resources& whole, const AllocationRules& rules = {});

// Whether an idle worker with so much holds it.
bool ever_fits(const Ask& ask, const Resources& whole);
// No more of anything than the task may use.
Resources lowered_to(Resources give, const Needs& most);
bool ever_fits(const Needs& needs, const Resources& whole);

}  // namespace wq::core
