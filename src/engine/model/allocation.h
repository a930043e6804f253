// Seats of tasks on cores or GPUs: a whole one belongs to one task; a fraction shares one with other
// fractions. No fraction is split over two, so sums are not enough: three times 0.6 is less than two cores,
// but needs three; and halves left on two cores make no whole one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "base/units.h"
#include "engine/model/resources.h"

namespace wq::engine::model {

// How many tasks with `each` fit on `whole` at once; `each` is above 0.
std::int64_t how_many_seats(Count each, Count whole);

// The seats that one worker's leases hold. Nobody reports which core a fraction uses; but its launcher
// chooses as this class does: the fullest core that has room, the oldest of equal ones. So both agree as long
// as leases start and end there in the same order as here. If an end crosses a lease on its way, leases wait
// in the launcher, or a task prefers a NUMA node, they may differ until those tasks end: meanwhile a whole
// core may count as shared, or the reverse.
class Seats {
  public:
    void add(TaskId task, Count each);
    void remove(TaskId task, Count each);
    // Whether one more task with `each` fits. True if no lease holds a fraction, because then sums are
    // enough.
    bool have_room(Count each, Count whole) const;
    bool any_parts() const { return !shared_.empty(); }
    Count untouched(Count whole) const;  // that no lease uses

  private:
    using Shared = std::map<std::uint64_t, std::int64_t>;  // the remaining thousandths, in the order of first
                                                           // use
    Shared::const_iterator fullest_with(std::int64_t part) const;
    std::int64_t begun() const { return wholes_ + static_cast<std::int64_t>(shared_.size()); }

    std::int64_t wholes_ = 0;
    Shared shared_;
    std::uint64_t next_ = 0;                             // the next one to be used
    std::unordered_map<TaskId, std::uint64_t> seat_of_;  // of leases that hold a fraction
};

// How much of a worker a task gets. Rules of the Work Queue manual, "Task Resources":
//
// 1. A task that asks for nothing gets the whole worker, without its GPUs.
// 2. A task gets at least what it asks for.
// 3. A task that does not ask for GPUs gets none.
// 4. A task that asks for GPUs but not for cores gets no cores.
// 5. Otherwise cores, memory and disk are divided: if n of these tasks fit the worker, each gets one n-th.
//    Cores are rounded down to whole ones, but to one at least. The category's minimum raises what is below
//    it, and counts for nothing else.
// 6. A task of an automatic category never gets more than the category's maximum.
// 7. A remote task gets one coprocess and nothing else.
//
// The manual has no fractions; here, cores and GPUs may be fractions. A task gets the exact fraction unless
// the rules give more. A task with `cores=0` holds no core and gets only what it asks for. All arithmetic is
// in integers: n tasks of 1/n fill the worker for every n, while floating point loses one task of 93, 99,
// 105, 117, 123...

// The share of unspecified resources that a task gets if it specifies others.
enum class Rest : std::uint8_t {
    with_cores,    // as much of the memory as of the cores, and no disk: tasks of a list
    proportional,  // rule 5
    whole          // the whole worker's cores, memory and disk
};
constexpr Rest last_of(Rest) {
    return Rest::whole;
}

struct AllocationRules {
    Rest rest = Rest::with_cores;
    bool whole_tasks = true;  // false: the largest share that it asks for of any resource
    auto operator<=>(const AllocationRules&) const = default;
};

// The resources that a task asks for, together with those of its category.
struct Ask {
    explicit Ask(const Needs& said, const Needs& least = {}) : needs(said), at_least(least) {}
    Needs needs;      // an amount, -1 (unspecified) or whole_worker
    Needs at_least;   // for entries that are not amounts: a minimum; a worker with less cannot run the task
    Needs at_most{};  // never exceeded; not below an amount in `needs`

    // Whether a task without a category could ask for the same, apart from `at_most`.
    bool plain() const;
    bool operator==(const Ask&) const = default;
};
std::string describe(const Ask& ask);  // "2 cores, 4.0 GiB memory": for messages

// Returns more than `whole` if the task asks for more: then it fits nowhere.
Resources allocate(const Ask& ask, const Resources& whole, const AllocationRules& rules = {});
Resources allocate(const Needs& needs, const Resources& whole, const AllocationRules& rules = {});

// Whether an idle worker with these resources can hold it.
bool ever_fits(const Ask& ask, const Resources& whole);
// `give`, lowered to `most` in each resource.
Resources lowered_to(Resources give, const Needs& most);
bool ever_fits(const Needs& needs, const Resources& whole);

}  // namespace wq::engine::model
