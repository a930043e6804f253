// How many tasks a worker's launcher queues beyond those that run, so that it need not wait for the next one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::engine::model {

inline constexpr std::int64_t most_queued = 256;

// The running mean of the wall times of like tasks.
class MeanWallTime {
  public:
    void add(double us) {
        constexpr double weight_of_newest = 0.1;
        us_ = us_ < 0 ? us : us_ + weight_of_newest * (us - us_);
    }
    bool known() const { return us_ >= 0; }
    double us() const { return us_; }

  private:
    double us_ = -1;
};

// Enough for 20 ms: the report of an end may wait for 10 ms in the launcher (ReportBuffer), and the manager's
// rank looks after half of the silence (BackOff), thus 10 ms later. None if nothing is known yet, or tasks
// take over a second: such a wait is then about 1 %. `at_once`: tasks that run at the same time.
inline std::int64_t queue_depth(const MeanWallTime& mean, std::int64_t at_once) {
    constexpr double cover_us = 20'000;
    constexpr double longest_task_us = 1'000'000;
    constexpr double shortest_task_us = 100;
    if (!mean.known() || mean.us() > longest_task_us) return 0;
    const double each = std::ceil(cover_us / std::max(mean.us(), shortest_task_us));
    return std::min(most_queued, static_cast<std::int64_t>(each) * at_once);
}

// How long the tasks of each category take, and which running ones take too long (fast abort). Running tasks
// are grouped by category and by how often they were killed before, in the order of their start: all of a
// group have the same limit, so its first task exceeds it first. So finding the overdue ones does not visit
// the others.

// A running task's key.
struct RunTimeMark {
    CategoryId category;
    std::uint32_t aborted = 0;  // how often it was killed before
    Instant since;
    // Set once it was told to end: when to check again.
    std::optional<Instant> again_at;
};

class RunTimes {
  public:
    // 1 or more: a task may take this multiple of its category's mean; 0: no limit; other values: the setting
    // of the first category, which is the default.
    void set(CategoryId category, double multiplier);
    // Whether any category has a multiplier.
    bool watches() const;
    // The category's effective setting; nullopt: no limit.
    std::optional<double> multiplier(CategoryId category) const;

    // `tasks` succeeded; `all` is the sum of their times.
    void succeeded(CategoryId category, std::uint64_t tasks, Duration all);
    // Of the successful tasks; nullopt: too few.
    std::optional<Duration> mean(CategoryId category) const;
    // The time limit of a task that was killed this often; nullopt: no limit, or none known yet.
    std::optional<Duration> allowed(CategoryId category, std::uint32_t aborted) const;

    // Only while watches().
    void began(TaskId task, const RunTimeMark& mark);
    void ended(TaskId task, const RunTimeMark& mark);
    void forget();  // all running tasks
    std::size_t running() const;

    // When to look at the next overdue task, and which one it is.
    std::optional<Instant> next() const;
    std::optional<TaskId> due(Instant now) const;

    std::optional<std::string> audit() const;

  private:
    struct Figures {
        double multiplier = -1;
        std::uint64_t tasks = 0;
        double all_us = 0;
    };
    using Key = std::pair<CategoryId, std::uint32_t>;
    using Order = std::set<std::pair<Instant, TaskId>>;
    struct Group {
        Order running;
        std::optional<Instant> due;  // of its first task
    };
    static Key key_of(const RunTimeMark& mark);
    const Figures* find(CategoryId category) const;
    std::optional<Instant> due_of(const Key& key, const Group& group) const;
    void move(const Key& key, Group& group);
    void move_all(std::optional<CategoryId> category);

    std::vector<Figures> figures_;  // by CategoryId
    std::map<Key, Group> groups_;   // none is empty
    std::set<std::pair<Instant, Key>> by_due_;
    Order told_;  // those told to end, by RunTimeMark::again_at
};

}  // namespace wq::engine::model
