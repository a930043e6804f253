// What the manager's thread hears from the dispatcher's while a turn is under way.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::shared_list::source {

// Lines for the user.
class UserLines {
  public:
    void add(const std::string& line) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
    }
    bool any() {
        const std::lock_guard lock(mutex_);
        return !lines_.empty();
    }
    std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(lines_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

// When each seat gave its last sign of life.
class SeatBeats {
  public:
    void note(WorkerId seat, Instant when) {
        const std::lock_guard lock(mutex_);
        last_[seat] = when;
    }
    std::optional<Instant> last(WorkerId seat) {
        const std::lock_guard lock(mutex_);
        const auto found = last_.find(seat);
        return found == last_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    std::mutex mutex_;
    std::map<WorkerId, Instant> last_;
};

}  // namespace wq::shared_list::source
