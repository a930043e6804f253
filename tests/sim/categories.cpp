// Simulation of categories: the usage of their tasks, and checks of the allocations.
#include <algorithm>

#include "sim/simulation.h"

namespace wq::sim {

// Changes how many run at once; never blocks them forever.
void Simulation::change_category() {
    engine::model::CategorySet& category = plan_.categories[below(random_, plan_.categories.size())];
    category.max_concurrent = static_cast<std::int64_t>(below(random_, 4)) - 1;
    if (*category.max_concurrent == 0) category.max_concurrent = 1;
    tell_manager(
        engine::model::CategorySet{.category = category.category, .max_concurrent = category.max_concurrent});
}

// For tasks without a category, which may be sealed.
void Simulation::change_limit() {
    if (finished_) return;
    most_at_once_ = static_cast<std::int64_t>(below(random_, 6)) - 1;
    if (most_at_once_ == 0) most_at_once_ = -1;
    tell_manager(engine::model::CategorySet{.max_concurrent = most_at_once_});
}

void Simulation::check_limit(const engine::model::Action& action) {
    if (const auto* seal = std::get_if<engine::model::Seal>(&action)) claimable_.insert(seal->batch);
    if (const auto* revoke = std::get_if<engine::model::Revoke>(&action)) claimable_.erase(revoke->batch);
    if (const auto* over = std::get_if<engine::model::BatchOver>(&action)) claimable_.erase(over->batch);
    const auto* lease = std::get_if<engine::model::Lease>(&action);
    if (lease == nullptr || lease->copy || most_at_once_ < 0) return;
    const auto out = reactor_.ledger().count(lease->category, engine::model::TaskState::leased);
    if (out > static_cast<std::uint64_t>(most_at_once_))
        wrong("task " + std::to_string(lease->task.value()) + " is one too many of its category");
}

// As a watching launcher would.
void Simulation::measure(WorkerId worker, TaskId task, engine::model::Outcome& outcome) const {
    const std::int64_t peak_mb = plan_.tasks[task.value()].peak_mb;
    const engine::model::Resources given = present_[worker.value()]->worker->holds().at(task).give;
    engine::model::Measured& measured = outcome.measured.emplace();
    measured.usage.cores = 1000;
    measured.usage.memory = std::min(peak_mb, given.memory_mb + 1);  // it was killed there
    measured.usage.disk = 0;
    if (peak_mb <= given.memory_mb || !outcome.succeeded()) return;
    outcome.ending = engine::model::Ending::out_of_memory;
    measured.exceeded.memory_mb = given.memory_mb;
}

void Simulation::check_category(const engine::model::Lease& lease, const std::string& name) {
    if (lease.category == CategoryId(0)) return;
    const engine::model::CategorySet& category = plan_.categories[lease.category.value() - 1];
    if (category.min && lease.give.memory_mb < category.min->memory_mb)
        wrong(name + " is given less than its category's minimum");
    const auto most = category.max_concurrent.value_or(-1);
    const auto out = reactor_.ledger().count(lease.category, engine::model::TaskState::leased);
    if (most >= 0 && out > static_cast<std::uint64_t>(most)) wrong(name + " is one too many of its category");
    // The first allocation may be too small; the second is the maximum, which is enough. With buckets, each
    // is larger than the one before.
    constexpr std::uint32_t doublings = 12;
    const bool buckets = category.mode && engine::model::is_bucketing(*category.mode);
    if (exhausted_[lease.task.value()] > (buckets ? doublings : 1U))
        wrong(name + " was given too little too often");
}

}  // namespace wq::sim
