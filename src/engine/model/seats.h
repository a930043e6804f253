// Seats of tasks on cores or GPUs: a whole one belongs to one task; a fraction shares one with other
// fractions. No fraction is split over two, so sums are not enough: three times 0.6 is less than two cores,
// but needs three; and halves left on two cores make no whole one.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "base/count.h"
#include "base/ids.h"

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

}  // namespace wq::engine::model
