// Cores, or GPUs, as tasks sit on them: whole ones are one task's alone, what is left of a fraction is a part
// of one that other parts share. No part is spread over two, so a sum says too much: three times 0.6 are
// less than two cores, and sit on three; and two halves that are left of two cores are no whole one.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "base/count.h"
#include "base/ids.h"

namespace wq::core {

// How many tasks with `each` of them sit on `whole` at once; `each` is above 0.
std::int64_t how_many_seats(Count each, Count whole);

// What leases hold of those of one worker. Nobody tells which one a part sits on; but its launcher takes, as
// is done here, the fullest that has room, of equal ones that which was begun first. So both agree as long as
// leases come and end there in the order of here. Where an end crosses an order on its way, orders wait in
// the launcher, or a task has a NUMA node of its own to look on first, they may sit otherwise, until they
// have ended: meanwhile a whole core may be taken for shared, or the other way round.
class Seats {
  public:
    void add(TaskId task, Count each);
    void remove(TaskId task, Count each);
    // Whether one more with `each` has a seat besides. Where none holds a fraction: whatever it is, as the
    // sum says it all.
    bool have_room(Count each, Count whole) const;
    bool any_parts() const { return !shared_.empty(); }
    Count untouched(Count whole) const;  // that nothing sits on

  private:
    using Shared = std::map<std::uint64_t, std::int64_t>;  // in the order begun: what is left, in thousandths
    Shared::const_iterator fullest_with(std::int64_t part) const;
    std::int64_t begun() const { return wholes_ + static_cast<std::int64_t>(shared_.size()); }

    std::int64_t wholes_ = 0;
    Shared shared_;
    std::uint64_t next_ = 0;                             // to be begun
    std::unordered_map<TaskId, std::uint64_t> seat_of_;  // of those that hold a part
};

}  // namespace wq::core
