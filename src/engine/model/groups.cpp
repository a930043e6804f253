#include "engine/model/groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace wq::engine::model {

namespace {

// One membership per group: a task with both `#:g` and `#+g` waits as the first one says, and once.
std::vector<GroupTag> normalised(std::vector<GroupTag> tags) {
    std::sort(tags.begin(), tags.end(), [](const GroupTag& a, const GroupTag& b) {
        return a.group != b.group ? a.group < b.group : a.sequential && !b.sequential;
    });
    const auto end = std::unique(tags.begin(), tags.end(),
                                 [](const GroupTag& a, const GroupTag& b) { return a.group == b.group; });
    tags.erase(end, tags.end());
    return tags;
}

std::uint64_t count_in(const IntervalSet& set, Interval range) {
    std::uint64_t count = 0;
    set.for_each_in(range, [&](Interval part) { count += part.size(); });
    return count;
}

}  // namespace

Groups::Chain& Groups::chain(std::uint32_t group) {
    if (group >= chains_.size()) chains_.resize(group + 1);
    return chains_[group];
}

// The stage of its group that the next member with this tag joins; created if missing.
std::size_t Groups::place(const GroupTag& tag) {
    Chain& it = chain(tag.group);
    if (it.stages.empty() || tag.sequential || it.stages.back().sequential) {
        it.stages.emplace_back();
        it.stages.back().sequential = tag.sequential;
        it.stages.back().range = {end_, end_};
    }
    return it.stages.size() - 1;
}

std::size_t Groups::whole_list_stage(std::uint64_t task) const {
    const auto& stages = chains_[0].stages;
    const auto after =
        std::upper_bound(stages.begin(), stages.end(), task,
                         [](std::uint64_t id, const Stage& stage) { return id < stage.range.first; });
    return static_cast<std::size_t>(std::distance(stages.begin(), after)) - 1;
}

GroupChange Groups::add(TaskId first, std::uint64_t count, const std::vector<GroupTag>& tags,
                        const IntervalSet& done) {
    const Interval range{first.value(), first.value() + count};
    const std::uint64_t undone = count - count_in(done, range);
    std::vector<GroupTag> all = normalised(tags);
    if (all.empty() || all.front().group != 0) all.insert(all.begin(), GroupTag{0, false});

    GroupChange change;
    std::vector<Membership> memberships;
    for (const GroupTag& tag : all) {
        const std::size_t stage = place(tag);
        chain(tag.group).stages[stage].remaining += undone;
        memberships.push_back({tag.group, stage});
    }
    end_ = range.end;
    chains_[0].stages.back().range.end = range.end;

    Tagged task;
    std::vector<Break> breaks;
    for (const Membership& where : memberships) {
        advance(where.group, change);
        const Chain& it = chains_[where.group];
        if (!it.open(where.stage)) ++task.waits;
        if (it.dead(where.stage) && breaks.empty())
            for (const Membership& each : memberships) breaks.push_back({each, it.broken_by});
    }
    change.unblocked.erase(range);  // its stage in group 0 may have opened, but it waits for other groups too
    if (undone == 0) return change;
    if (!breaks.empty()) {
        change.dead.insert(range);
        change.because = breaks.front().root;
        break_chains(std::move(breaks), change);
        return change;
    }
    if (task.waits == 0) change.unblocked.insert(range);
    if (memberships.size() == 1) return change;
    for (const Membership& where : memberships)
        if (where.group != 0 && !chains_[where.group].open(where.stage))
            chains_[where.group].stages[where.stage].members.push_back(first);
    task.named.assign(memberships.begin() + 1, memberships.end());
    tagged_.emplace(first, std::move(task));
    return change;
}

GroupChange Groups::barrier() {
    GroupChange change;
    const std::size_t stage = place({.group = 0, .sequential = true});
    Chain& whole = chains_[0];
    whole.stages[stage].barrier = true;
    whole.stages[stage].remaining = 1;
    if (whole.dead(stage)) break_chains({{{0, stage}, whole.broken_by}}, change);
    advance(0, change);
    return change;
}

void Groups::advance(std::uint32_t group, GroupChange& change) {
    for (;;) {
        Chain& it = chains_[group];
        if (it.stages[it.unfinished].barrier) it.stages[it.unfinished].remaining = 0;
        if (it.stages[it.unfinished].remaining > 0 || it.unfinished + 1 == it.stages.size()) break;
        if (it.stages[++it.unfinished].sequential) open_stage(group, it.unfinished, change);
    }
    for (;;) {
        Chain& it = chains_[group];
        if (it.unfinished_sequential == it.stages.size()) break;
        const Stage& stage = it.stages[it.unfinished_sequential];
        if (stage.sequential && stage.remaining > 0) break;
        if (!it.stages[it.unfinished_sequential++].sequential)
            open_stage(group, it.unfinished_sequential - 1, change);
    }
}

void Groups::open_stage(std::uint32_t group, std::size_t stage, GroupChange& change) {
    if (group != 0) {
        for (const TaskId member : std::exchange(chains_[group].stages[stage].members, {}))
            if (const auto task = tagged_.find(member); task != tagged_.end()) release(task, change);
        return;
    }
    const Interval range = chains_[0].stages[stage].range;
    change.unblocked.insert(range);
    for (auto task = tagged_.lower_bound(TaskId(range.first));
         task != tagged_.end() && task->first.value() < range.end; ++task) {
        change.unblocked.erase(task->first.value());
        release(task, change);
    }
}

void Groups::release(TaggedMap::iterator task, GroupChange& change) {
    if (task->second.waits > 0 && --task->second.waits == 0) change.unblocked.insert(task->first.value());
}

void Groups::finish_member(Membership where, std::uint64_t count, GroupChange& change) {
    chains_[where.group].stages[where.stage].remaining -= count;
    advance(where.group, change);
}

GroupChange Groups::succeeded(Interval tasks) {
    GroupChange change;
    std::vector<Break> ended;
    take_tagged(tasks, TaskId(tasks.first), ended);
    for (const Break& each : ended)
        if (each.where.group != 0) finish_member(each.where, 1, change);
    while (tasks.first < tasks.end) {
        const std::size_t stage = whole_list_stage(tasks.first);
        const std::uint64_t end = std::min(tasks.end, chains_[0].stages[stage].range.end);
        finish_member({0, stage}, end - tasks.first, change);
        tasks.first = end;
    }
    return change;
}

GroupChange Groups::failed(Interval tasks) {
    GroupChange change;
    std::vector<Break> breaks;
    const TaskId root(tasks.first);
    take_tagged(tasks, root, breaks);
    while (tasks.first < tasks.end) {
        const std::size_t stage = whole_list_stage(tasks.first);
        breaks.push_back({{0, stage}, root});
        tasks.first = chains_[0].stages[stage].range.end;
    }
    break_chains(std::move(breaks), change);
    return change;
}

void Groups::take_tagged(Interval range, TaskId root, std::vector<Break>& breaks) {
    auto task = tagged_.lower_bound(TaskId(range.first));
    while (task != tagged_.end() && task->first.value() < range.end) {
        for (const Membership& where : task->second.named) breaks.push_back({where, root});
        task = tagged_.erase(task);
    }
}

void Groups::break_chains(std::vector<Break> breaks, GroupChange& change) {
    // A worklist, not recursion: a chain of a hundred thousand groups is a valid list.
    while (!breaks.empty()) {
        const auto [where, root] = breaks.back();
        breaks.pop_back();
        Chain& it = chains_[where.group];
        const std::size_t broken = it.broken;
        const std::size_t broken_sequential = it.broken_sequential;
        if (broken == none) it.broken_by = root;
        it.broken = std::min(broken, where.stage);
        if (it.stages[where.stage].sequential)
            it.broken_sequential = std::min(broken_sequential, where.stage);
        // Each loop starts after the stages that were dead before, so it visits each stage once.
        for (std::size_t i = it.broken + 1; i < it.stages.size() && i <= broken; ++i)
            if (it.stages[i].sequential && it.stages[i].remaining > 0)
                kill_stage({where.group, i}, root, breaks, change);
        if (it.broken_sequential == none) continue;
        for (std::size_t i = it.broken_sequential + 1; i < it.stages.size() && i <= broken_sequential; ++i)
            if (!it.stages[i].sequential) kill_stage({where.group, i}, root, breaks, change);
    }
}

void Groups::kill_stage(Membership where, TaskId root, std::vector<Break>& breaks, GroupChange& change) {
    Stage& stage = chains_[where.group].stages[where.stage];
    breaks.push_back({where, root});
    if (where.group == 0) return kill_range(stage.range, root, breaks, change);
    for (const TaskId member : std::exchange(stage.members, {}))
        if (tagged_.contains(member)) kill_range({member.value(), member.value() + 1}, root, breaks, change);
}

void Groups::kill_range(Interval range, TaskId root, std::vector<Break>& breaks, GroupChange& change) {
    if (range.size() == 0) return;
    change.dead.insert(range);
    change.because = root;
    take_tagged(range, root, breaks);
    for (std::uint64_t id = range.first; id < range.end;) {
        const std::size_t stage = whole_list_stage(id);
        breaks.push_back({{0, stage}, root});
        id = chains_[0].stages[stage].range.end;
    }
}

bool Groups::blocked(TaskId task) const {
    if (const auto found = tagged_.find(task); found != tagged_.end()) return found->second.waits > 0;
    return !chains_[0].open(whole_list_stage(task.value()));
}

}  // namespace wq::engine::model
