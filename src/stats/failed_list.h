// failed.sh: a task list of what failed for good, to be run again as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "stats/records.h"

namespace wq::stats {

class FailedList {
  public:
    // The end of an attempt; a later success of the same task takes it off.
    void task(const TaskRecord& record, std::string_view lines);
    std::size_t size() const { return failed_.size(); }
    std::string text(std::string_view list_name) const;
    // The file, whole or not at all; without failures it is removed.
    Status write(const std::string& path, std::string_view list_name) const;

  private:
    struct Failed {
        std::uint64_t line = 0;
        TaskId task;
        std::string why;
        std::string lines;
    };
    std::unordered_map<std::uint64_t, Failed> failed_;  // by TaskKey
};

}  // namespace wq::stats
