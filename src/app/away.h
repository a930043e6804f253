// The times of a worker over TCP whose link is cut, so that nothing of what it runs is given to another
// before it has ended it. It counts from when it last heard the manager: that is before the manager can have
// noticed anything, whoever is told of the cut and whoever has to find out by silence.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace wq::app {

// Below it a loaded machine alone would make a worker miss its manager.
inline constexpr Duration shortest_away_limit = std::chrono::seconds(10);

// 0: nobody is waited for, and who is cut off may run on for a while what others are given.
constexpr bool sound_away_limit(Duration away_limit) {
    return away_limit == Duration{0} || away_limit >= shortest_away_limit;
}

// For so long after it heard the manager it keeps what it runs: a second to end it, and one for what was on
// its way when the manager gave the link up.
constexpr Duration grace_of(Duration away_limit) {
    return away_limit - std::min<Duration>(away_limit / 4, std::chrono::seconds(2));
}

// After so long a silence it takes its link for dead: what is left of the grace is for another.
constexpr Duration silence_of(Duration grace) {
    return grace / 4 * 3;
}

// So often the manager is to be heard: with 60 s or more, two in a row must be missed before; with 10 s one.
constexpr Duration keep_alive_of(Duration away_limit, Duration at_most) {
    return away_limit > Duration{0} ? std::min(away_limit / 4, at_most) : at_most;
}

}  // namespace wq::app
