// The times of an attempt, in their order.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "views/model/run_view.h"

namespace wq::views::model {

// Times in a damaged file may be any numbers.
inline constexpr WallMicros latest_time = WallMicros{1} << 60;
void bound_time(WallMicros& time);

// If the clock of an attempt's host cannot be right by what the manager noted, all its times are shifted by
// as little as makes it possible.
void shift_clock(RunAttempt& attempt);

// Clocks of hosts differ and jump: afterwards submitted <= ready <= dispatched <= inputs_there <= started <=
// ended <= outputs_there <= received, as far as they are known. What the manager noted last counts most.
void bring_into_order(RunAttempt& attempt);

// What an attempt does while it is with its worker.
enum class Phase : std::uint8_t { files_in, starts, runs, files_out, reports, over };

struct PhaseTimes {
    std::array<WallMicros, 6> begin{};  // of each phase, never falling

    Phase at(WallMicros time) const;                // not before the first
    WallMicros next_change(WallMicros time) const;  // the first begin after `time`
    bool is_empty() const { return begin.front() == begin.back(); }
};

// `end`: of the run, for an attempt that has not ended. A row of several calls only runs.
PhaseTimes phases_of(const RunAttempt& attempt, WallMicros end);

}  // namespace wq::views::model
