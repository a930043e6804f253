// When tasks became ready, as wall times of ranges of ids: tasks that a barrier held back cost one entry.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/interval_set.h"
#include "base/time.h"

namespace wq::engine::model {

class ReadyTimes {
  public:
    // None of them may be there. An empty interval is nothing.
    void insert(Interval tasks, WallMicros at);
    void erase(Interval tasks) {
        if (!times_.empty()) erase_known(tasks);
    }
    // nullopt: not there.
    std::optional<WallMicros> find(std::uint64_t task) const {
        return times_.empty() ? std::nullopt : find_known(task);
    }

    std::optional<std::string> audit(WallMicros latest) const;

  private:
    struct Part {
        std::uint64_t end = 0;
        WallMicros at = 0;
    };
    void erase_known(Interval tasks);
    std::optional<WallMicros> find_known(std::uint64_t task) const;

    std::map<std::uint64_t, Part> times_;  // by the first id
};

}  // namespace wq::engine::model
