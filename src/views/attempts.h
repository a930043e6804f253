// What a run did, as rows: the attempts of its tasks, and its workers. Readers make them from a transactions
// log (transactions_reader.h) or from stats.h5 (stats_attempts.h); attempts_page.h and attempts_figure.h draw
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "views/model/names.h"

namespace wq::views {

using model::Names;

// An attempt that ran. All times are since 1970.
struct Attempt {
    std::uint64_t task = 0;      // its number; of calls of a range: the lowest
    std::uint32_t calls = 1;     // of a range
    std::uint32_t category = 0;  // place in Attempts::categories
    std::uint32_t worker = 0;    // place in Attempts::workers
    std::uint32_t slot = 0;      // of the worker: attempts of one slot do not overlap
    std::uint32_t outcome = 0;   // place in Attempts::outcomes
    WallMicros waiting = 0;      // it began to wait,
    WallMicros input = 0;        // to receive its input files (without any: as the next),
    WallMicros started = 0;      // to run,
    WallMicros output = 0;       // to send its output files,
    WallMicros ended = 0;        // and was over
};

struct WorkerStay {
    std::string name;  // its address, as in transactions.log
    WallMicros joined = 0;
    WallMicros left = 0;  // or the end of the log
    std::uint32_t slots = 0;
};

struct Attempts {
    std::vector<Attempt> attempts;    // by Attempt::input
    std::vector<WorkerStay> workers;  // by WorkerStay::joined
    std::vector<std::string> categories;
    std::vector<std::string> outcomes;
    std::uint64_t never_ran = 0;  // tasks
    WallMicros begin = 0;         // of the whole
    WallMicros end = 0;
};

inline constexpr std::string_view succeeded = "succeeded";

// The input files arrived from `begin` to `end`. They may have come while another task ran in its slot, so
// the time that they took is drawn before the start. `begin` is 0 if there were none.
void place_input(Attempt& attempt, WallMicros begin, WallMicros end);

// Brings times into order, sorts, and assigns slots. A worker that has not left is there until the end.
void finish(Attempts& all);

}  // namespace wq::views
