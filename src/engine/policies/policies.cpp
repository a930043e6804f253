#include "engine/policies/policies.h"

#include <algorithm>

namespace wq::engine::policies {

// The function of that name on `policy`, if it has one.
#define WQ_HOOK(function, ...)                                                \
    WQ_LOOK_FOR_HOOK(function, __VA_ARGS__);                                  \
    static_assert(answers || !is_named, "this policy has the hook " #function \
                                        " private or with other parameters: it would never be called")

// The body of a hook without an answer.
#define WQ_TELL(function, ...)                               \
    policies_.each([&](auto& policy) {                       \
        WQ_HOOK(function, __VA_ARGS__);                      \
        if constexpr (answers) policy.function(__VA_ARGS__); \
    })

void PolicyHooks::leased(TaskId task, Attempted& attempted) const {
    WQ_TELL(leased, task, attempted);
}
void PolicyHooks::freed(TaskId task, Attempted& attempted) const {
    WQ_TELL(freed, task, attempted);
}
void PolicyHooks::reported(const Worker& worker, TaskId task, const Outcome& outcome, Instant began) const {
    WQ_TELL(reported, worker, task, outcome, began);
}
void PolicyHooks::range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                                  Duration each_took) const {
    WQ_TELL(range_succeeded, worker, shape, tasks, all, each_took);
}
void PolicyHooks::succeeded(TaskId task, const Outcome& outcome) const {
    WQ_TELL(succeeded, task, outcome);
}
void PolicyHooks::killed_as_slow(TaskId task, Outcome outcome) const {
    WQ_TELL(killed_as_slow, task, outcome);
}
void PolicyHooks::failed(TaskId task) const {
    WQ_TELL(failed, task);
}
void PolicyHooks::shapes_added() const {
    WQ_TELL(shapes_added);
}
void PolicyHooks::asks_changed() const {
    WQ_TELL(asks_changed);
}
void PolicyHooks::awakened(ShapeId shape) const {
    WQ_TELL(awakened, shape);
}
void PolicyHooks::pool_changed(PoolChange change) const {
    WQ_TELL(pool_changed, change);
}
void PolicyHooks::worker_joined(const Worker& worker) const {
    WQ_TELL(worker_joined, worker);
}
void PolicyHooks::worker_gone(const RemovedWorker& worker) const {
    WQ_TELL(worker_gone, worker);
}
void PolicyHooks::lease_kept(TaskId task) const {
    WQ_TELL(lease_kept, task);
}
void PolicyHooks::reconnected(Worker& worker, const IntervalSet& tickets) const {
    WQ_TELL(reconnected, worker, tickets);
}
void PolicyHooks::host_unblocked() const {
    WQ_TELL(host_unblocked);
}
void PolicyHooks::tick() const {
    WQ_TELL(tick);
}
void PolicyHooks::tuned(const Tuned& event) const {
    WQ_TELL(tuned, event);
}

bool PolicyHooks::exhausted(TaskId task, Outcome& outcome) const {
    bool dealt_with = false;
    policies_.each([&](auto& policy) {
        WQ_HOOK(exhausted, task, outcome);
        if constexpr (answers) dealt_with = dealt_with || policy.exhausted(task, outcome);
    });
    return dealt_with;
}

std::optional<Instant> PolicyHooks::next_due() const {
    std::optional<Instant> next;
    policies_.each([&](auto& policy) {
        WQ_HOOK(next_due);
        if constexpr (answers)
            if (const std::optional<Instant> at = policy.next_due()) next = std::min(next.value_or(*at), *at);
    });
    return next;
}

std::optional<std::string> PolicyHooks::audit() const {
    std::optional<std::string> wrong;
    policies_.each([&](auto& policy) {
        WQ_HOOK(audit);
        if constexpr (answers)
            if (!wrong) wrong = policy.audit();
    });
    return wrong;
}

#undef WQ_TELL
#undef WQ_HOOK

}  // namespace wq::engine::policies
