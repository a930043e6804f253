// Tasks that wait for another host than the one where they were too slow, for a while. What is behind them in
// their shape does not wait with them.
#include <algorithm>

#include "core/reactor.h"

namespace wq::core {

void Reactor::avoid(TaskId task, const std::string& host, Instant until) {
    stop_avoiding(task);
    const ShapeId shape = ledger_.shape_of(task);
    avoided_[task] = {host, until, shape};
    avoided_until_.insert({until, task});
    if (++avoiding_[shape] == 1) ledger_.wake_always(shape, true);
}

void Reactor::stop_avoiding(TaskId task) {
    const auto found = avoided_.find(task);
    if (found == avoided_.end()) return;
    const ShapeId shape = found->second.shape;
    avoided_until_.erase({found->second.until, task});
    avoided_.erase(found);
    if (const auto count = avoiding_.find(shape); --count->second == 0) {
        avoiding_.erase(count);
        ledger_.wake_always(shape, false);
    }
}

void Reactor::stop_avoiding(Interval tasks) {
    for (auto one = avoided_.lower_bound(TaskId(tasks.first));
         one != avoided_.end() && one->first.value() < tasks.end;)
        stop_avoiding((one++)->first);
}

void Reactor::end_what_was_avoided_long_enough(Now now) {
    while (!avoided_until_.empty() && avoided_until_.begin()->first <= now.instant) {
        const TaskId task = avoided_until_.begin()->second;
        stop_avoiding(task);
        awakened_.push_back(ledger_.shape_of(task));
    }
}

bool Reactor::avoids(TaskId task, const Worker& worker) const {
    if (avoided_.empty()) return false;
    const auto found = avoided_.find(task);
    return found != avoided_.end() && found->second.host == worker.host && workers_.hosts_available() > 1;
}

std::optional<TaskId> Reactor::first_for(const IntervalSet& tasks, const Worker& worker) const {
    auto part = tasks.front();
    while (part && avoids(TaskId(part->first), worker)) part = tasks.from(part->first + 1);
    if (!part) return std::nullopt;
    return TaskId(part->first);
}

// The most urgent ready task of the shape that does not avoid the worker.
std::optional<ReadyHead> Reactor::next_for(ShapeId shape, const Worker& worker) const {
    const auto head = ledger_.head(shape);
    if (!head || !avoids(head->task, worker)) return head;
    for (const auto& [priority, queue] : ledger_.ready(shape).queues) {
        // One that was never given out avoids nobody.
        std::optional<TaskId> next = first_for(queue.again, worker);
        if (const auto fresh = queue.fresh.front())
            next = std::min(next.value_or(TaskId(fresh->first)), TaskId(fresh->first));
        if (next) return ReadyHead{priority, *next, shape};
    }
    return std::nullopt;
}

std::optional<TaskId> Reactor::next_suspect_for(ShapeId shape, const Worker& worker) const {
    return first_for(ledger_.ready(shape).suspects, worker);
}

bool Reactor::has_one_for(ShapeId shape, bool suspect, const Worker& worker) const {
    return suspect ? next_suspect_for(shape, worker).has_value() : next_for(shape, worker).has_value();
}

std::optional<std::string> Reactor::audit_avoided() const {
    if (avoided_.size() != avoided_until_.size()) return "tasks avoid a host without an end";
    std::map<ShapeId, std::uint32_t> avoiding;
    for (const auto& [task, avoided] : avoided_) {
        ++avoiding[avoided.shape];
        if (ledger_.state(task) != TaskState::ready) return "a task that does not wait avoids a host";
    }
    if (avoiding != avoiding_) return "the count of tasks that avoid a host is wrong";
    return std::nullopt;
}

}  // namespace wq::core
