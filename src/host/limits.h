// Ends tasks before they end themselves: for their time, or by order (see resource_watch.h too).
#pragma once

#include <optional>

#include "host/lane.h"
#include "host/leftovers.h"

namespace wq::host {

class Limits {
  public:
    Limits(const Lanes& lanes, const Leftovers& leftovers) : lanes_(lanes), leftovers_(leftovers) {}

    void watch(Lane& lane);  // it has just started
    void kill(Lane& lane, Verdict verdict, Instant now);

    // Does what is due; the earliest next time, if any.
    void check(Instant now);
    std::optional<Instant> next() const;

  private:
    void time_over(Lane& lane, Instant now);
    std::vector<pid_t> tree(const Lane& lane) const;
    void signal(const Lane& lane, int signal) const;

    const Lanes& lanes_;
    const Leftovers& leftovers_;
};

}  // namespace wq::host
