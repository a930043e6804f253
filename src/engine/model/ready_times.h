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
    // An event begins at this wall time, which may go back. Tasks that it adds have ids from `first_new` on.
    void begin_event(WallMicros now, std::uint64_t first_new) { now_ = now, first_new_ = first_new; }
    WallMicros now() const { return now_; }

    // They are ready since now; none of them is there. Those added in this event are left out: their
    // submission says it.
    void insert(Interval tasks);
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

    WallMicros now_ = 0;
    std::uint64_t first_new_ = 0;
    std::map<std::uint64_t, Part> times_;  // by the first id
};

}  // namespace wq::engine::model
