#include "core/groups.h"

#include <algorithm>
#include <iterator>

namespace wq::core {

template <class F>
void Groups::for_each_tagged(Interval range, F&& visit) const {
    for (auto it = tagged_ids_.lower_bound(TaskId(range.first)); it != tagged_ids_.end() && it->value() < range.end; ++it)
        visit(*it);
}

Groups::Chain& Groups::chain(std::uint32_t group) {
    if (group >= chains_.size()) chains_.resize(group + 1);
    return chains_[group];
}

std::size_t Groups::place(std::uint32_t group, bool sequential) {
    Chain& it = chain(group);
    if (it.stages.empty() || sequential || it.stages.back().sequential) {
        it.stages.emplace_back();
        it.stages.back().sequential = sequential;
        it.stages.back().range = {end_, end_};
    }
    return it.stages.size() - 1;
}

std::size_t Groups::whole_list_stage(TaskId task) const {
    const auto& stages = chains_[0].stages;
    const auto after = std::upper_bound(stages.begin(), stages.end(), task.value(),
                                        [](std::uint64_t id, const Stage& stage) { return id < stage.range.first; });
    return static_cast<std::size_t>(std::distance(stages.begin(), after)) - 1;
}

std::vector<Groups::Membership> Groups::memberships(TaskId task) const {
    std::vector<Membership> all{{0, whole_list_stage(task)}};
    if (const auto found = tagged_.find(task); found != tagged_.end())
        all.insert(all.end(), found->second.begin(), found->second.end());
    return all;
}

GroupChange Groups::add(TaskId first, std::uint64_t count, const std::vector<GroupTag>& tags) {
    const bool whole_list_sequential = std::any_of(
        tags.begin(), tags.end(), [](const GroupTag& tag) { return tag.group == 0 && tag.sequential; });
    const Interval range{first.value(), first.value() + count};
    Stage& whole = chain(0).stages[place(0, whole_list_sequential)];
    end_ = range.end;
    whole.range.end = range.end;
    whole.remaining += count;

    std::vector<Membership> named;
    for (const GroupTag& tag : tags) {
        if (tag.group == 0) continue;
        const std::size_t stage = place(tag.group, tag.sequential);
        chain(tag.group).stages[stage].members.push_back(first);
        ++chain(tag.group).stages[stage].remaining;
        named.push_back({tag.group, stage});
    }
    if (!named.empty()) {
        tagged_.emplace(first, named);
        tagged_ids_.insert(first);
    }

    GroupChange change;
    std::uint32_t waits = 0;
    for (const Membership& where : memberships(first)) {
        advance(where.group, change);
        const Chain& it = chains_[where.group];
        if (it.broken_at && where.stage > *it.broken_at) {
            std::vector<Break> breaks;
            if (named.empty()) {
                dead_.insert(range);
                change.dead.insert(range);
                change.because = it.broken_by;
            } else {
                kill(first, it.broken_by, breaks, change);
            }
            break_chains(std::move(breaks), change);
            change.unblocked.erase(range);
            return change;
        }
        if (where.stage > it.open) ++waits;
    }
    if (waits == 0)
        change.unblocked.insert(range);
    else if (!named.empty())
        waits_.emplace(first, waits);
    return change;
}

GroupChange Groups::barrier() {
    GroupChange change;
    place(0, true);
    advance(0, change);
    return change;
}

void Groups::advance(std::uint32_t group, GroupChange& change) {
    while (chains_[group].open + 1 < chains_[group].stages.size() &&
           chains_[group].stages[chains_[group].open].remaining == 0) {
        const Stage& stage = chains_[group].stages[++chains_[group].open];
        if (group == 0) {
            change.unblocked.insert(stage.range);
            for_each_tagged(stage.range, [&](TaskId task) {
                change.unblocked.erase(task.value());
                release(task, change);
            });
        } else {
            for (const TaskId task : stage.members) release(task, change);
        }
    }
}

void Groups::release(TaskId task, GroupChange& change) {
    const auto waiting = waits_.find(task);
    if (waiting == waits_.end() || --waiting->second > 0) return;
    waits_.erase(waiting);
    if (!dead_.contains(task.value())) change.unblocked.insert(task.value());
}

void Groups::finish_member(Membership where, std::uint64_t count, GroupChange& change) {
    chains_[where.group].stages[where.stage].remaining -= count;
    advance(where.group, change);
}

GroupChange Groups::succeeded(Interval tasks) {
    GroupChange change;
    for_each_tagged(tasks, [&](TaskId task) {
        for (const Membership& where : tagged_.at(task)) finish_member(where, 1, change);
    });
    while (tasks.first < tasks.end) {
        const std::size_t stage = whole_list_stage(TaskId(tasks.first));
        const std::uint64_t end = std::min(tasks.end, chains_[0].stages[stage].range.end);
        finish_member({0, stage}, end - tasks.first, change);
        tasks.first = end;
    }
    return change;
}

GroupChange Groups::failed(TaskId task) {
    GroupChange change;
    std::vector<Break> breaks;
    for (const Membership& where : memberships(task)) breaks.push_back({where, task});
    break_chains(std::move(breaks), change);
    return change;
}

void Groups::break_chains(std::vector<Break> breaks, GroupChange& change) {
    // A worklist, not recursion: a chain of a hundred thousand groups is a legal list.
    while (!breaks.empty()) {
        const auto [where, root] = breaks.back();
        breaks.pop_back();
        Chain& it = chains_[where.group];
        if (it.broken_at && *it.broken_at <= where.stage) continue;
        const std::size_t end = it.broken_at ? *it.broken_at + 1 : it.stages.size();
        it.broken_at = where.stage;
        it.broken_by = root;
        for (std::size_t stage = where.stage + 1; stage < end; ++stage) {
            if (where.group != 0) {
                for (const TaskId member : it.stages[stage].members) kill(member, root, breaks, change);
                continue;
            }
            const Interval range = it.stages[stage].range;
            IntervalSet untagged;
            untagged.insert(range);
            for_each_tagged(range, [&](TaskId task) {
                untagged.erase(task.value());
                kill(task, root, breaks, change);
            });
            untagged.for_each([&](Interval part) {
                dead_.insert(part);
                change.dead.insert(part);
                change.because = root;
            });
        }
    }
}

void Groups::kill(TaskId task, TaskId root, std::vector<Break>& breaks, GroupChange& change) {
    if (dead_.contains(task.value())) return;
    dead_.insert(task.value());
    change.dead.insert(task.value());
    change.because = root;
    for (const Membership& where : memberships(task)) breaks.push_back({where, root});
}

bool Groups::blocked(TaskId task) const {
    if (tagged_ids_.contains(task)) return waits_.contains(task);
    return whole_list_stage(task) > chains_[0].open;
}

std::optional<TaskId> Groups::killer(TaskId task) const {
    if (!dead_.contains(task.value())) return std::nullopt;
    for (const Membership& where : memberships(task)) {
        const Chain& it = chains_[where.group];
        if (it.broken_at && where.stage > *it.broken_at) return it.broken_by;
    }
    return std::nullopt;
}

}  // namespace wq::core
