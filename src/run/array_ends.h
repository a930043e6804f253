// Which indexes of `--array` ended in an earlier run.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "run/source.h"
#include "taskfile/sources.h"

namespace wq::run {

class ArrayEnds {
  public:
    // `earlier` by index, as journals of arrays have it.
    explicit ArrayEnds(const EarlierRun& earlier);

    // The items of `indexes` that have ended, item 0 as task `first`.
    void find(const taskfile::IndexSet& indexes, TaskId first);

    const IntervalSet& done() const { return done_; }
    const IntervalSet& failed() const { return failed_; }
    // For tests: how many ends and items were looked at. For each part of the array these are the ends within
    // its span, or its items where they are fewer. So parts that follow one another look at every end once.
    std::uint64_t looks() const { return looks_; }

  private:
    using End = std::pair<std::uint64_t, EarlierRun::End>;
    void find(const taskfile::IndexRange& part, std::uint64_t first);

    std::vector<End> ends_;  // in order of the index
    IntervalSet done_;
    IntervalSet failed_;
    std::uint64_t looks_ = 0;
};

}  // namespace wq::run
