#include "manager/status/lister.h"

#include <algorithm>
#include <tuple>

#include "engine/policies/view.h"

namespace wq::manager::status {

DispatchedTask dispatched(TaskId task, const engine::model::Ledger& ledger) {
    DispatchedTask one;
    one.id = static_cast<std::int64_t>(task.value()) + 1;
    one.submitted = ledger.submitted(task);
    const engine::model::Attempted* const attempted = ledger.find_attempted(task);
    if (attempted == nullptr) return one;
    one.cores = attempted->given.cores.as_double();
    one.memory = attempted->given.memory_mb;
    one.disk = attempted->given.disk_mb;
    one.gpus = attempted->given.gpus.as_double();
    one.dispatched = attempted->dispatched_us;
    return one;
}

#define WQ_ONE(...) +1
constexpr std::size_t in_tables =
    WQ_MANAGER_STATS(WQ_ONE) WQ_OWN_STATS(WQ_ONE) WQ_GPU_STATS(WQ_ONE) WQ_MANAGER_ALIASES(WQ_ONE);
#undef WQ_ONE
static_assert(sizeof(Statistics) == (1 + in_tables) * sizeof(std::int64_t),
              "besides time_when_started, Statistics has what the tables have");

Statistics statistics_of(const engine::model::ManagerStats& from) {
    Statistics to;
    to.time_when_started = from.time_when_started;
#define WQ_COPY(type, name, unit, meaning) to.name = from.name;
    WQ_MANAGER_STATS(WQ_COPY)
    WQ_OWN_STATS(WQ_COPY)
    WQ_GPU_STATS(WQ_COPY)
#undef WQ_COPY
#define WQ_COPY(type, name, of, unit, meaning) to.name = from.of;
    WQ_MANAGER_ALIASES(WQ_COPY)
#undef WQ_COPY
    return to;
}

WorkerSummary resources_of(const engine::model::Worker& worker) {
    WorkerSummary summary;
    summary.tasks = static_cast<std::int64_t>(worker.leases.size());
    summary.cores = worker.whole.cores.as_double();
    summary.memory = worker.whole.memory_mb;
    summary.disk = worker.whole.disk_mb;
    summary.gpus = worker.whole.gpus.as_double();
    // Leases may wait in its launcher.
    summary.cores_used = std::min(summary.cores, worker.used.cores.as_double());
    summary.memory_used = std::min(summary.memory, worker.used.memory_mb);
    summary.disk_used = std::min(summary.disk, worker.used.disk_mb);
    summary.gpus_used = std::min(summary.gpus, worker.used.gpus.as_double());
    return summary;
}

WorkerSummary summary_of(const engine::model::Worker& worker, const manager::Manager& manager) {
    WorkerSummary summary = resources_of(worker);
    summary.id = static_cast<std::int64_t>(worker.id.value());
    summary.host = worker.host;
    summary.features = worker.features;
    summary.connected = !worker.disconnected();
    if (const records::journal::WorkerRecord* const record = manager.worker(worker.id)) {
        summary.address = record->address;
        summary.os = record->os;
        summary.arch = record->arch;
        summary.joined = record->joined_us;
    }
    summary.tasks_ended = static_cast<std::int64_t>(manager.records().ended_on(worker.id));
    for (const TaskId task : worker.leases)
        summary.dispatched.push_back(dispatched(task, manager.reactor().ledger()));
    std::sort(summary.dispatched.begin(), summary.dispatched.end(),
              [](const DispatchedTask& a, const DispatchedTask& b) { return a.id < b.id; });
    return summary;
}

std::vector<WorkerSummary> summaries_of(const manager::Manager& manager) {
    std::vector<WorkerSummary> all;
    for (const auto& [id, worker] : manager.reactor().workers().all())
        all.push_back(summary_of(worker, manager));
    std::sort(all.begin(), all.end(),
              [](const WorkerSummary& a, const WorkerSummary& b) { return a.id < b.id; });
    return all;
}

std::vector<WorkerGroup> groups_of(const std::vector<WorkerSummary>& workers) {
    std::vector<WorkerGroup> groups;
    for (const WorkerSummary& worker : workers) {
        if (!worker.connected) continue;
        const auto is_of = [&](const WorkerGroup& group) {
            return std::tie(group.cores, group.memory, group.disk, group.gpus) ==
                   std::tie(worker.cores, worker.memory, worker.disk, worker.gpus);
        };
        auto group = std::find_if(groups.begin(), groups.end(), is_of);
        if (group == groups.end())
            group = groups.insert(groups.end(), {0, worker.cores, worker.memory, worker.disk, worker.gpus});
        ++group->workers;
    }
    return groups;
}

std::vector<CategoryOfStatus> categories_of(const manager::Manager& manager) {
    std::vector<CategoryOfStatus> all;
    for (std::uint32_t id = 0; id < manager.records().categories().size(); ++id) {
        const engine::model::Category* const category = manager.reactor().category(CategoryId(id));
        const engine::model::ManagerStats stats = manager.stats(CategoryId(id));
        // The first, "default", is there from the beginning.
        if (id == 0 && stats.tasks_submitted == 0 && (category == nullptr || !category->has_limits()))
            continue;
        const auto most = [&](engine::model::ResourceKind kind) {
            return engine::model::describe(
                category == nullptr ? engine::model::Largest{} : category->largest(kind), kind);
        };
        CategorySummary summary;
        summary.name = manager.records().categories()[id];
        summary.running = stats.tasks_running;
        summary.waiting = stats.tasks_waiting + stats.tasks_on_workers - stats.tasks_running;
        summary.fit_workers = manager.reactor().able_workers(CategoryId(id));
        summary.max_cores = most(engine::model::ResourceKind::cores);
        summary.max_memory = most(engine::model::ResourceKind::memory);
        summary.max_disk = most(engine::model::ResourceKind::disk);
        all.push_back({std::move(summary), statistics_of(stats)});
    }
    return all;
}

std::optional<RequestSums> requests_of(const manager::Manager& manager) {
    constexpr std::size_t most_shapes_summed = 1000;
    const engine::policies::Reactor& reactor = manager.reactor();
    if (reactor.ledger().shapes() > most_shapes_summed) return std::nullopt;
    RequestSums sums;
    for (const engine::policies::ShapeCount& count : reactor.unfinished()) {
        const engine::model::Needs& needs = reactor.asked(count.shape).needs;
        const auto add = [&](double& sum, double amount) {
            sum += std::max(amount, 0.0) * static_cast<double>(count.ready + count.on_workers);
        };
        add(sums.cores, needs.cores.as_double());
        add(sums.memory, static_cast<double>(needs.memory_mb));
        add(sums.disk, static_cast<double>(needs.disk_mb));
        add(sums.gpus, needs.gpus.as_double());
    }
    return sums;
}

std::vector<std::string> blocked_hosts_of(const manager::Manager& manager) {
    std::vector<std::string> hosts;
    for (const auto& [host, block] : manager.reactor().blocked_hosts().all()) hosts.push_back(host);
    return hosts;
}

namespace {

// Ids of a part that are looked at, so that many ended tasks between two others take little time at once.
constexpr std::uint64_t most_ids = 4096;

TaskState state_of(engine::model::TaskState state) {
    const bool waits = state == engine::model::TaskState::blocked || state == engine::model::TaskState::ready;
    return waits ? TaskState::ready : TaskState::running;
}

void append(std::string& records, const std::string& record) {
    if (!records.empty()) records += ',';
    records += record;
}

}  // namespace

net::messages::StatusPart Lister::part(net::messages::StatusOf what, std::uint64_t from) {
    switch (what) {
        case net::messages::StatusOf::tasks:
            return tasks(from);
        case net::messages::StatusOf::workers:
            return workers(from);
        case net::messages::StatusOf::categories:
            return {categories_as_json(parts()), 0};
        case net::messages::StatusOf::queue:
        case net::messages::StatusOf::shapes:
            break;
    }
    return {queue_as_json(parts()), 0};
}

QueueParts Lister::parts() const {
    QueueParts parts;
    parts.queue = queue_.described();
    parts.stats = statistics_of(queue_.stats());
    for (const auto& [id, worker] : manager_.reactor().workers().all())
        if (!worker.disconnected()) parts.resources.add(resources_of(worker));
    parts.requests = requests_of(manager_);
    parts.blocked_hosts = blocked_hosts_of(manager_);
    parts.categories = categories_of(manager_);
    return parts;
}

net::messages::StatusPart Lister::tasks(std::uint64_t from) const {
    const engine::model::Ledger& ledger = manager_.reactor().ledger();
    const std::uint64_t end = from + std::min(most_ids, ledger.size() - std::min(ledger.size(), from));
    IntervalSet ids;
    if (from < end) ids.insert(Interval{from, end});
    ids = ledger.unended(ids);
    net::messages::StatusPart part{{}, end < ledger.size() ? end : 0};
    while (const auto ranges = ids.front()) {
        const TaskId id(ranges->first);
        if (part.records.size() >= net::messages::status_part_bytes) {
            part.next = id.value();
            break;
        }
        ids.erase(id.value());
        if (const auto task = whole(id)) append(part.records, task_as_json(*task));
    }
    return part;
}

std::optional<TaskOfStatus> Lister::whole(TaskId id) const {
    auto task = queue_.task(id);
    if (!task) return task;
    const engine::model::Ledger& ledger = manager_.reactor().ledger();
    const engine::model::Shape& shape = ledger.shape(ledger.shape_of(id));
    task->state = state_of(ledger.state(id));
    task->category = manager_.records().categories().at(shape.category.value());
    task->priority = ledger.priority(id);
    task->requested = {shape.needs.cores.as_double(), shape.needs.memory_mb, shape.needs.disk_mb,
                       shape.needs.gpus.as_double()};
    const engine::model::Attempted* const attempted = ledger.find_attempted(id);
    if (attempted == nullptr || !attempted->leased) return task;
    const engine::model::Worker* const worker = manager_.reactor().workers().find(attempted->worker);
    if (worker == nullptr) return task;
    const records::journal::WorkerRecord* const record = manager_.worker(worker->id);
    task->place = {worker->host, record == nullptr ? std::string() : record->address, dispatched(id, ledger)};
    return task;
}

net::messages::StatusPart Lister::workers(std::uint64_t from) const {
    std::vector<WorkerId> ids;
    for (const auto& [id, worker] : manager_.reactor().workers().all())
        if (id.value() >= from) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    const NameTask name_task = [this](std::int64_t id) {
        return queue_.task(TaskId(static_cast<std::uint64_t>(id) - 1));
    };
    net::messages::StatusPart part;
    for (const WorkerId id : ids) {
        if (part.records.size() >= net::messages::status_part_bytes) {
            part.next = id.value();
            break;
        }
        const engine::model::Worker& worker = *manager_.reactor().workers().find(id);
        append(part.records, worker_as_json(summary_of(worker, manager_), name_task));
    }
    return part;
}

namespace {

constexpr Duration announced_every = std::chrono::seconds(30);
constexpr Duration announced_at_most_every = std::chrono::seconds(2);

}  // namespace

std::optional<Instant> Announcing::announce_if_due(const engine::model::ManagerStats& stats, Instant now) {
    if (!announce_) return std::nullopt;
    const bool has_waiting = stats.tasks_waiting > 0;
    changed_ = changed_ || stats.workers_connected != workers_ || has_waiting != has_waiting_;
    workers_ = stats.workers_connected;
    has_waiting_ = has_waiting;
    const Instant due =
        last_ == Instant{} ? now : last_ + (changed_ ? announced_at_most_every : announced_every);
    const Instant settles = last_ + announced_at_most_every;
    if (!settled_ && now >= settles) {
        announce_({});
        settled_ = true;
    }
    if (now < due) return settled_ ? due : settles;
    const bool taken = announce_([this] { return lister_.part(net::messages::StatusOf::queue, 0).records; });
    last_ = now;
    changed_ = !taken;
    settled_ = false;
    return now + announced_at_most_every;
}

}  // namespace wq::manager::status
