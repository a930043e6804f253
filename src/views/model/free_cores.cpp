#include "views/model/free_cores.h"

#include <algorithm>

namespace wq::views::model {

void FreeCores::leave(Worker& worker) {
    if (!worker.group) {
        cores_in(worker.line) -= worker.cores;
        worker.cores = 0;
        return;
    }
    const Groups::iterator group = *worker.group;
    worker.group.reset();
    cores_in(group->second.line) -= group->first.cores;
    if (--group->second.workers > 0) return;
    active_.back()->second.place = group->second.place;
    active_[group->second.place] = active_.back();
    active_.pop_back();
    if (groups_.size() - active_.size() <= most_idle_groups) return;
    std::erase_if(groups_, [](const auto& one) { return one.second.workers == 0; });
}

void FreeCores::set_line(std::size_t worker, AccountLine line, std::int64_t cores) {
    Worker& changed = workers_[worker];
    leave(changed);
    changed.line = line;
    changed.cores = cores;
    cores_in(line) += cores;
}

void FreeCores::set_share(std::size_t worker, const FreeShare& share) {
    Worker& changed = workers_[worker];
    if (changed.group && (*changed.group)->first == share) return;
    const Groups::iterator group = groups_.try_emplace(share).first;
    group->second.workers += 1;  // before the other is left, which may drop groups without workers
    leave(changed);
    if (group->second.workers == 1) {
        group->second.place = active_.size();
        active_.push_back(group);
        group->second.line = line_of(share, group->second);
    }
    cores_in(group->second.line) += share.cores;
    changed.group = group;
}

void FreeCores::update() {
    for (const Groups::iterator group : active_) {
        const std::int64_t cores = group->first.cores * group->second.workers;
        cores_in(group->second.line) -= cores;
        group->second.line = line_of(group->first, group->second);
        cores_in(group->second.line) += cores;
    }
}

AccountLine FreeCores::line_of(const FreeShare& share, Group& group) {
    if (const auto line = waiting_.line_of_all()) return *line;
    if (group.ready == waiting_.ready_id()) return group.by_asks;
    AccountLine best = AccountLine::unknown;
    for (const std::uint32_t ask : waiting_.ready()) {
        best = std::min(best, fits_.line_of(ask, share));
        if (best == AccountLine::dispatch) break;
    }
    group.ready = waiting_.ready_id();
    return group.by_asks = best;
}

}  // namespace wq::views::model
