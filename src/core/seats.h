// Cores, or GPUs, as tasks sit on them: whole ones are one task's alone, what is left of a fraction is a part
// of one that other parts share. No part is spread over two, so a sum says too much: three times 0.6 are
// less than two cores, and sit on three.
#pragma once

#include <cstdint>
#include <map>

#include "base/count.h"

namespace wq::core {

// How many tasks with `each` of them sit on `whole` at once; `each` is above 0.
std::int64_t how_many_seats(Count each, Count whole);

// What leases hold of those of one worker.
class Seats {
  public:
    void add(Count each);
    void remove(Count each);
    // Whether one more with `each` has a seat besides, if all sit as close as they can. Where none holds a
    // fraction: whatever it is, as the sum says it all.
    bool have_room(Count each, Count whole) const;
    bool any_parts() const { return !parts_.empty(); }
    Count untouched(Count whole) const;  // that nothing sits on

  private:
    std::int64_t shared(std::int64_t one_more = 0) const;

    std::int64_t wholes_ = 0;
    std::map<std::int64_t, std::int64_t> parts_;  // by thousandths: how many
};

}  // namespace wq::core
