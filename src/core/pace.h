// How long the tasks of each category take, and which of those that run take too long (fast abort). Those
// that run stand in the order of their beginning, by category and by how often they were ended before: all of
// one such group may take equally long, so that its first is the next to be over its time. What is due is
// known without a look at the others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::core {

// Where a task stands among those that run.
struct PaceMark {
    CategoryId category;
    std::uint32_t aborted = 0;  // so often before
    Instant since;
    // Since it was told to end: when it is looked at again.
    std::optional<Instant> again_at;
};

class Pace {
  public:
    // 1 or more: a task of the category may take so many times the mean of those that succeeded; 0: as long
    // as it takes; others: as set for the first category, the default of all.
    void set(CategoryId category, double multiplier);
    // Whether any category has a multiplier.
    bool watches() const;
    // What applies to the category; nothing: no limit.
    std::optional<double> multiplier(CategoryId category) const;

    // So many succeeded, in so much time all together.
    void succeeded(CategoryId category, std::uint64_t tasks, Duration all);
    // Of those that succeeded; nothing: too few have.
    std::optional<Duration> mean(CategoryId category) const;
    // What a task that was ended so often may take; nothing: no limit, or none known yet.
    std::optional<Duration> allowed(CategoryId category, std::uint32_t aborted) const;

    // While watches().
    void began(TaskId task, const PaceMark& mark);
    void ended(TaskId task, const PaceMark& mark);
    void forget();  // all that run
    std::size_t running() const;

    // When one that runs is to be looked at, and the one that is.
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
        std::optional<Instant> due;  // of its first
    };
    static Key key_of(const PaceMark& mark);
    const Figures* find(CategoryId category) const;
    std::optional<Instant> due_of(const Key& key, const Group& group) const;
    void move(const Key& key, Group& group);
    void move_all(std::optional<CategoryId> category);

    std::vector<Figures> figures_;  // by CategoryId
    std::map<Key, Group> groups_;   // none is empty
    std::set<std::pair<Instant, Key>> by_due_;
    Order told_;  // to end, by PaceMark::again_at
};

}  // namespace wq::core
