#include "sim/plan.h"

namespace wq::sim {

using engine::model::TaskState;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t group_count = 4;
constexpr std::uint32_t category_count = 3;
constexpr std::int64_t least_memory_mb = 4000;  // of any worker

// A category that learns its tasks' needs, with bounds that never prevent them.
engine::model::CategorySet random_category(Random& random, std::uint32_t id) {
    const auto amount = [&] { return 1 + static_cast<std::int64_t>(below(random, least_memory_mb)); };
    engine::model::CategorySet set{.category = CategoryId(id)};
    set.mode = static_cast<engine::model::AllocationMode>(1 + below(random, 8));
    set.steady_tasks = static_cast<std::uint32_t>(1 + below(random, 5));
    if (chance(random, 0.3)) set.max = engine::model::Sizes{.memory_mb = least_memory_mb};
    if (chance(random, 0.3)) set.min = engine::model::Sizes{.memory_mb = amount()};
    if (chance(random, 0.3)) set.first = engine::model::Sizes{.cores = 1000, .memory_mb = amount()};
    if (chance(random, 0.3)) set.max_concurrent = 1 + static_cast<std::int64_t>(below(random, 4));
    return set;
}

engine::model::Shape random_shape(const Faults& faults, Random& random, std::uint32_t workers) {
    engine::model::Shape shape;
    if (chance(random, 0.4))
        shape.needs.cores = 1 + static_cast<std::int64_t>(below(random, 4));
    else if (chance(random, 0.8))
        shape.needs.cores = chance(random, 0.8) ? Count(1) : Count::of_thousandths(250);
    if (chance(random, 0.2)) shape.needs.memory_mb = 1 + static_cast<std::int64_t>(below(random, 4000));
    if (chance(random, 0.1)) shape.needs.gpus = 1;
    if (faults.pins && chance(random, 0.4))
        for (std::uint32_t id = 0; id < workers; ++id)
            if (shape.workers.empty() || chance(random, 0.2))
                shape.workers.emplace_back(below(random, workers));
    if (chance(random, 0.5)) shape.retries = static_cast<std::uint32_t>(below(random, 3));
    return shape;
}

PlannedTask random_task(const Faults& faults, Random& random,
                        const std::vector<engine::model::Shape>& shapes) {
    PlannedTask task;
    task.shape = shapes[below(random, shapes.size())];
    task.wall = faults.short_tasks && !chance(random, 0.05) ? up_to(random, 40ms) : 1s + up_to(random, 20s);
    if (chance(random, faults.failures)) task.failures = 1 + static_cast<std::uint32_t>(below(random, 4));
    task.kills_worker = chance(random, faults.killers);
    if (chance(random, faults.too_large)) {
        task.shape.needs.cores = 100;
        task.fits = false;
    }
    if (faults.own_limits > 0 && chance(random, faults.own_limits))
        task.shape.max_tries = 2 + static_cast<std::uint32_t>(below(random, 4));
    if (faults.exhausting > 0 && chance(random, faults.exhausting)) {
        task.shape.needs.memory_mb = -1;
        task.shape.max_tries = 1 + static_cast<std::uint32_t>(below(random, 4));
        task.exhausts = 1 + static_cast<std::uint32_t>(below(random, 4));
    }
    if (faults.categories > 0 && chance(random, faults.categories)) {
        task.shape.category = CategoryId(1 + static_cast<std::uint32_t>(below(random, category_count)));
        task.shape.needs.memory_mb = -1;
        task.peak_mb = 1 + static_cast<std::int64_t>(below(random, least_memory_mb));
    }
    if (faults.remote > 0 && task.fits && task.exhausts == 0 && chance(random, faults.remote)) {
        task.shape.needs.coprocesses = 1;
        task.shape.leased_only = true;
    }
    if (faults.slow > 0 && chance(random, faults.slow))
        task.slow_runs = 1 + static_cast<std::uint32_t>(below(random, 3));
    if (faults.priorities) task.shape.priority = static_cast<double>(below(random, 5));
    if (chance(random, faults.times)) {
        const WallMicros hour = 3'600'000'000;  // start of the run
        if (chance(random, 0.5)) task.shape.not_before = hour + up_to(random, 60s) / 1us;
        if (chance(random, 0.7)) task.shape.not_after = hour + 20'000'000 + up_to(random, 200s) / 1us;
    }
    if (faults.resumed && chance(random, 0.4))
        task.before = chance(random, 0.1) ? TaskState::failed : TaskState::done;
    if (!faults.groups) return task;
    task.barrier_before = chance(random, 0.05);
    for (auto left = below(random, 3); left > 0; --left)
        task.groups.push_back({static_cast<std::uint32_t>(below(random, group_count)), chance(random, 0.4)});
    return task;
}

bool member(const PlannedTask& task, std::uint32_t group, bool sequential) {
    if (group == 0 && !sequential) return true;
    for (const engine::model::GroupTag& tag : task.groups)
        if (tag.group == group && tag.sequential == sequential) return true;
    return false;
}

}  // namespace

Plan make_plan(const Faults& faults, Random& random) {
    Plan plan;
    const auto workers = 1 + static_cast<std::uint32_t>(below(random, faults.most_workers));
    for (std::uint32_t id = 0; id < workers; ++id) {
        PlannedWorker worker;
        // Every worker can hold what random_shape() requests, so a pinned task is never too large.
        const auto cores = faults.twins ? 1 + static_cast<std::int64_t>(below(random, 2))
                                        : 4 + static_cast<std::int64_t>(below(random, 5));
        worker.offers = {cores, least_memory_mb + static_cast<std::int64_t>(below(random, 2)) * cores * 1000,
                         0, 1 + cores % 2};
        if (faults.remote > 0) worker.offers.coprocesses = 1 + id % 3;
        worker.takes_tickets = faults.tickets && (id == 0 || chance(random, 0.8));
        worker.node = id / 2;
        worker.tcp = faults.tcp && (id > 0 || !faults.tickets) && chance(random, 0.8);
        if (faults.late_joins) worker.joins_after = up_to(random, 20s);
        plan.workers.push_back(worker);
    }
    for (std::uint32_t id = 1; faults.categories > 0 && id <= category_count; ++id)
        plan.categories.push_back(random_category(random, id));
    std::vector<engine::model::Shape> shapes;
    for (auto left = faults.twins ? 1 + below(random, 2) : 1 + below(random, 8); left > 0; --left)
        shapes.push_back(faults.twins ? engine::model::Shape{} : random_shape(faults, random, workers));
    if (faults.twins) shapes.back().retries = 2;
    for (auto left = 1 + below(random, faults.most_tasks); left > 0; --left)
        plan.tasks.push_back(random_task(faults, random, shapes));
    return plan;
}

std::vector<TaskState> Plan::verdict() const {
    std::vector<TaskState> states;
    bool passes = true;  // whether all barriers so far have opened
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const PlannedTask& task = tasks[i];
        if (task.barrier_before)
            for (const TaskState earlier : states) passes = passes && earlier == TaskState::done;
        const bool fails = task.kills_worker || task.failures > task.shape.retries ||
                           (task.exhausts > 0 && task.exhausts >= task.shape.max_tries);
        TaskState state = !task.fits ? TaskState::skipped : fails ? TaskState::failed : TaskState::done;
        if (!passes) state = TaskState::skipped;
        for (std::size_t j = 0; j < i; ++j)
            for (std::uint32_t group = 0; group < group_count; ++group) {
                const bool waits = (member(task, group, true) &&
                                    (member(tasks[j], group, true) || member(tasks[j], group, false))) ||
                                   (member(task, group, false) && member(tasks[j], group, true));
                if (waits && states[j] != TaskState::done) state = TaskState::skipped;
            }
        if (task.late) state = TaskState::failed;
        if (task.cancelled) state = TaskState::cancelled;
        if (task.before != TaskState::blocked) state = task.before;
        states.push_back(state);
    }
    return states;
}

}  // namespace wq::sim
