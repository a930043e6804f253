#include "engine/model/run_times.h"

namespace wq::engine::model {

namespace {

// Fewer samples say nothing about a category.
constexpr std::uint64_t least_tasks = 10;
// No shorter task is too slow: messages and process start take time, too.
constexpr Duration shortest_pace = std::chrono::seconds(1);
// A larger limit counts as none.
constexpr double longest_pace_us = 3.15e15;
// A task's time limit doubles after each kill, up to this many times.
constexpr std::uint32_t most_doublings = 30;

}  // namespace

RunTimes::Key RunTimes::key_of(const RunTimeMark& mark) {
    return {mark.category, std::min(mark.aborted, most_doublings)};
}

const RunTimes::Figures* RunTimes::find(CategoryId category) const {
    return category.value() < figures_.size() ? &figures_[category.value()] : nullptr;
}

void RunTimes::set(CategoryId category, double multiplier) {
    if (category.value() >= figures_.size()) figures_.resize(category.value() + 1);
    const bool means_something = multiplier == 0 || (std::isfinite(multiplier) && multiplier >= 1);
    figures_[category.value()].multiplier = means_something ? multiplier : -1;
    move_all(std::nullopt);
}

bool RunTimes::watches() const {
    return std::any_of(figures_.begin(), figures_.end(),
                       [](const Figures& figures) { return figures.multiplier >= 1; });
}

std::optional<double> RunTimes::multiplier(CategoryId category) const {
    const Figures* figures = find(category);
    if (figures == nullptr || figures->multiplier < 0) figures = find(CategoryId(0));
    if (figures == nullptr || figures->multiplier < 1) return std::nullopt;
    return figures->multiplier;
}

void RunTimes::succeeded(CategoryId category, std::uint64_t tasks, Duration all) {
    if (category.value() >= figures_.size()) figures_.resize(category.value() + 1);
    Figures& figures = figures_[category.value()];
    figures.tasks += tasks;
    figures.all_us += static_cast<double>(std::max(all, Duration{0}) / std::chrono::microseconds(1));
    if (!groups_.empty()) move_all(category);
}

std::optional<Duration> RunTimes::mean(CategoryId category) const {
    const Figures* figures = find(category);
    if (figures == nullptr || figures->tasks < least_tasks) return std::nullopt;
    const double mean_us = std::min(figures->all_us / static_cast<double>(figures->tasks), longest_pace_us);
    return std::chrono::microseconds(static_cast<std::int64_t>(mean_us));
}

std::optional<Duration> RunTimes::allowed(CategoryId category, std::uint32_t aborted) const {
    const auto times = multiplier(category);
    const auto usual = mean(category);
    if (!times || !usual) return std::nullopt;
    const double mean_us = static_cast<double>(*usual / std::chrono::microseconds(1));
    const double us = std::ldexp(mean_us * *times, static_cast<int>(std::min(aborted, most_doublings)));
    if (us > longest_pace_us) return std::nullopt;
    return std::max<Duration>(std::chrono::microseconds(static_cast<std::int64_t>(us)), shortest_pace);
}

// ---- running tasks ----

std::optional<Instant> RunTimes::due_of(const Key& key, const Group& group) const {
    const auto time = allowed(key.first, key.second);
    if (!time || group.running.empty()) return std::nullopt;
    return group.running.begin()->first + *time;
}

void RunTimes::move(const Key& key, Group& group) {
    const auto due = due_of(key, group);
    if (due == group.due) return;
    if (group.due) by_due_.erase({*group.due, key});
    if (due) by_due_.insert({*due, key});
    group.due = due;
}

void RunTimes::move_all(std::optional<CategoryId> category) {
    auto group = category ? groups_.lower_bound({*category, 0}) : groups_.begin();
    for (; group != groups_.end() && (!category || group->first.first == *category); ++group)
        move(group->first, group->second);
}

void RunTimes::began(TaskId task, const RunTimeMark& mark) {
    if (mark.again_at) {
        told_.insert({*mark.again_at, task});
        return;
    }
    Group& group = groups_[key_of(mark)];
    group.running.insert({mark.since, task});
    move(key_of(mark), group);
}

void RunTimes::ended(TaskId task, const RunTimeMark& mark) {
    if (mark.again_at) {
        told_.erase({*mark.again_at, task});
        return;
    }
    const auto group = groups_.find(key_of(mark));
    if (group == groups_.end()) return;
    group->second.running.erase({mark.since, task});
    move(group->first, group->second);
    if (group->second.running.empty()) groups_.erase(group);
}

void RunTimes::forget() {
    groups_.clear();
    by_due_.clear();
    told_.clear();
}

std::size_t RunTimes::running() const {
    std::size_t count = told_.size();
    for (const auto& [key, group] : groups_) count += group.running.size();
    return count;
}

std::optional<Instant> RunTimes::next() const {
    std::optional<Instant> next;
    if (!by_due_.empty()) next = by_due_.begin()->first;
    if (!told_.empty()) next = std::min(next.value_or(Instant::max()), told_.begin()->first);
    return next;
}

std::optional<TaskId> RunTimes::due(Instant now) const {
    const auto at = next();
    if (!at || *at > now) return std::nullopt;
    if (!told_.empty() && told_.begin()->first == *at) return told_.begin()->second;
    return groups_.at(by_due_.begin()->second).running.begin()->second;
}

std::optional<std::string> RunTimes::audit() const {
    std::size_t due = 0;
    for (const auto& [key, group] : groups_) {
        if (group.running.empty()) return "a group of those that run is empty";
        if (group.due != due_of(key, group)) return "a group of those that run is due at another time";
        if (group.due && !by_due_.contains({*group.due, key})) return "a group that is due is not indexed";
        if (group.due) ++due;
    }
    if (due != by_due_.size()) return "there are too many groups that are due";
    return std::nullopt;
}

}  // namespace wq::engine::model
