// Which rows a page's table shows, in which order: an index, made once for each change of the run or of the
// user's choice. No row is formatted for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "views/model/account.h"
#include "views/terminal/run_moment.h"
#include "views/terminal/watch_state.h"

namespace wq::views::terminal {

// The columns of the tables that can be sorted, in their order on the screen.
enum class TaskColumn : std::uint8_t {
    task,
    state,
    attempts,
    category,
    host,
    begin,
    time,
    ending,
    cores,
    memory,
    last = memory
};
enum class WorkerColumn : std::uint8_t {
    host,
    address,
    state,
    cores,
    running,
    done,
    failed,
    joined,
    left,
    last = left
};
std::size_t sort_columns_of(Page page);

// Places in RunMoment::tasks, workers, failures or waiting, or numbers of lines of the account that are not
// 0; the overview has none. Words of the user choose rows that contain them all, in any column with text;
// `category=`, `host=` and `state=` before a word say where; `host=` compares whole names.
std::vector<std::uint32_t> ordered_rows(const model::RunView& run, const model::Account& account,
                                        const RunMoment& moment, const WatchState& state);

// How long the process of an attempt ran, or has run at this moment; below 0: not recorded.
std::int64_t run_time_us(const model::RunAttempt& attempt, WallMicros at);

}  // namespace wq::views::terminal
