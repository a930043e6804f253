// Finds the indexes of `--array` that ended in an earlier run.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "engine/tasklist/sources.h"
#include "manager/run/source.h"

namespace wq::manager::run {

class ArrayEnds {
  public:
    // `earlier` is by index, as in the journals of arrays.
    explicit ArrayEnds(const EarlierRun& earlier);

    // Finds the items of `indexes` that have ended; item 0 is task `first`.
    void find(const engine::tasklist::IndexSet& indexes, TaskId first);

    const IntervalSet& done() const { return done_; }
    const IntervalSet& failed() const { return failed_; }
    // For tests: how many ends and items were examined. For each part of the array, these are the ends within
    // its span, or its items if they are fewer. So consecutive parts examine every end once.
    std::uint64_t looks() const { return looks_; }

  private:
    using End = std::pair<std::uint64_t, EarlierRun::End>;
    void find(const engine::tasklist::IndexRange& part, std::uint64_t first);

    std::vector<End> ends_;  // by index
    IntervalSet done_;
    IntervalSet failed_;
    std::uint64_t looks_ = 0;
};

}  // namespace wq::manager::run
