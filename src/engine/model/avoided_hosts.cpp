#include "engine/model/avoided_hosts.h"

#include <algorithm>

namespace wq::engine::model {

void AvoidedHosts::put(TaskId task, const Worker& worker, bool whole_host, Instant until) {
    remove(task);
    const ShapeId shape = ledger_.shape_of(task);
    avoided_[task] = {worker.id, worker.host, whole_host, until, shape};
    ends_.insert({until, task});
    if (++avoiding_[shape] == 1) ledger_.wake_always(shape, true);
}

void AvoidedHosts::remove_known(TaskId task) {
    const auto found = avoided_.find(task);
    if (found == avoided_.end()) return;
    const ShapeId shape = found->second.shape;
    ends_.erase({found->second.until, task});
    avoided_.erase(found);
    if (const auto count = avoiding_.find(shape); --count->second == 0) {
        avoiding_.erase(count);
        ledger_.wake_always(shape, false);
    }
}

void AvoidedHosts::remove(Interval tasks) {
    for (auto one = avoided_.lower_bound(TaskId(tasks.first));
         one != avoided_.end() && one->first.value() < tasks.end;)
        remove_known((one++)->first);
}

const AvoidedHosts::Avoided* AvoidedHosts::find(TaskId task) const {
    const auto found = avoided_.find(task);
    return found == avoided_.end() ? nullptr : &found->second;
}

std::optional<Instant> AvoidedHosts::next_end() const {
    return ends_.empty() ? std::nullopt : std::optional(ends_.begin()->first);
}

std::optional<TaskId> AvoidedHosts::over(Instant now) const {
    if (ends_.empty() || ends_.begin()->first > now) return std::nullopt;
    return ends_.begin()->second;
}

bool AvoidedHosts::avoids_now(TaskId task, const Worker& worker) const {
    const Avoided* const avoided = find(task);
    if (avoided == nullptr || avoided->host != worker.host) return false;
    if (avoided->whole_host && workers_.hosts_available() > 1) return true;
    return avoided->worker == worker.id && workers_.available_on(worker.host) > 1;
}

std::optional<TaskId> AvoidedHosts::first_for(const IntervalSet& tasks, const Worker& worker) const {
    auto part = tasks.front();
    while (part && avoids(TaskId(part->first), worker)) part = tasks.from(part->first + 1);
    if (!part) return std::nullopt;
    return TaskId(part->first);
}

std::optional<ReadyHead> AvoidedHosts::next_for(ShapeId shape, const Worker& worker) const {
    const auto head = ledger_.head(shape);
    if (!head || !avoids(head->task, worker)) return head;
    for (const auto& [priority, queue] : ledger_.ready(shape).queues) {
        // A task that was never dispatched avoids no host.
        std::optional<TaskId> next = first_for(queue.again, worker);
        if (const auto fresh = queue.fresh.front())
            next = std::min(next.value_or(TaskId(fresh->first)), TaskId(fresh->first));
        if (next) return ReadyHead{priority, *next, shape};
    }
    return std::nullopt;
}

std::optional<TaskId> AvoidedHosts::next_suspect_for(ShapeId shape, const Worker& worker) const {
    return first_for(ledger_.ready(shape).suspects, worker);
}

bool AvoidedHosts::has_one_for(ShapeId shape, bool suspect, const Worker& worker) const {
    return suspect ? next_suspect_for(shape, worker).has_value() : next_for(shape, worker).has_value();
}

std::optional<std::string> AvoidedHosts::audit() const {
    if (avoided_.size() != ends_.size()) return "tasks avoid a host without an end";
    std::map<ShapeId, std::uint32_t> avoiding;
    for (const auto& [task, avoided] : avoided_) {
        ++avoiding[avoided.shape];
        if (ledger_.state(task) != TaskState::ready) return "a task that does not wait avoids a host";
    }
    if (avoiding != avoiding_) return "the count of tasks that avoid a host is wrong";
    return std::nullopt;
}

}  // namespace wq::engine::model
