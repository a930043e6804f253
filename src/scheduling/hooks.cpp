#include "scheduling/hooks.h"

#include <algorithm>

#include "scheduling/hook_check.h"
#include "scheduling/policies.h"

namespace wq::scheduling {

// Calls `tell` with each policy.
template <class F>
void Hooks::each(F&& tell) const {
    if (policies_ != nullptr) policies_->each(tell);
}

// The function of that name on `policy`, if it has one.
#define WQ_HOOK(function, ...)                                                \
    WQ_LOOK_FOR_HOOK(function, __VA_ARGS__);                                  \
    static_assert(answers || !is_named, "this policy has the hook " #function \
                                        " private or with other parameters: it would never be called")

// The body of a hook without an answer.
#define WQ_TELL(function, ...)                               \
    each([&](auto& policy) {                                 \
        WQ_HOOK(function, __VA_ARGS__);                      \
        if constexpr (answers) policy.function(__VA_ARGS__); \
    })

void Hooks::leased(TaskId task, Attempted& attempted) const {
    WQ_TELL(leased, task, attempted);
}
void Hooks::freed(TaskId task, Attempted& attempted) const {
    WQ_TELL(freed, task, attempted);
}
void Hooks::reported(const Worker& worker, TaskId task, const Outcome& outcome, Instant began) const {
    WQ_TELL(reported, worker, task, outcome, began);
}
void Hooks::range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                            Duration each_took) const {
    WQ_TELL(range_succeeded, worker, shape, tasks, all, each_took);
}
void Hooks::succeeded(TaskId task, const Outcome& outcome) const {
    WQ_TELL(succeeded, task, outcome);
}
void Hooks::killed_as_slow(TaskId task, Outcome outcome) const {
    WQ_TELL(killed_as_slow, task, outcome);
}
void Hooks::failed(TaskId task) const {
    WQ_TELL(failed, task);
}
void Hooks::shapes_added() const {
    WQ_TELL(shapes_added);
}
void Hooks::asks_changed() const {
    WQ_TELL(asks_changed);
}
void Hooks::awakened(ShapeId shape) const {
    WQ_TELL(awakened, shape);
}
void Hooks::pool_changed(bool grew) const {
    WQ_TELL(pool_changed, grew);
}
void Hooks::worker_joined(const Worker& worker) const {
    WQ_TELL(worker_joined, worker);
}
void Hooks::worker_gone(const RemovedWorker& worker) const {
    WQ_TELL(worker_gone, worker);
}
void Hooks::lease_kept(TaskId task) const {
    WQ_TELL(lease_kept, task);
}
void Hooks::reconnected(Worker& worker, const IntervalSet& tickets) const {
    WQ_TELL(reconnected, worker, tickets);
}
void Hooks::host_unblocked() const {
    WQ_TELL(host_unblocked);
}
void Hooks::tick() const {
    WQ_TELL(tick);
}
void Hooks::tuned(const Tuned& event) const {
    WQ_TELL(tuned, event);
}

bool Hooks::exhausted(TaskId task, Outcome& outcome) const {
    bool dealt_with = false;
    each([&](auto& policy) {
        WQ_HOOK(exhausted, task, outcome);
        if constexpr (answers) dealt_with = dealt_with || policy.exhausted(task, outcome);
    });
    return dealt_with;
}

std::optional<Instant> Hooks::next_due() const {
    std::optional<Instant> next;
    each([&](auto& policy) {
        WQ_HOOK(next_due);
        if constexpr (answers)
            if (const std::optional<Instant> at = policy.next_due()) next = std::min(next.value_or(*at), *at);
    });
    return next;
}

std::optional<std::string> Hooks::audit() const {
    std::optional<std::string> wrong;
    each([&](auto& policy) {
        WQ_HOOK(audit);
        if constexpr (answers)
            if (!wrong) wrong = policy.audit();
    });
    return wrong;
}

#undef WQ_TELL
#undef WQ_HOOK

}  // namespace wq::scheduling
