#include "manager/status_report.h"

#include <string_view>

#include "scheduling/view.h"

namespace wq::manager {

namespace {

// A program may give each of a million tasks its own needs.
constexpr std::size_t most_shapes = 1000;

wire::TasksOfShape describe(const scheduling::Reactor& reactor, const std::vector<std::string>& categories,
                            const scheduling::ShapeCount& count) {
    const core::Shape& shape = reactor.ledger().shape(count.shape);
    const std::uint32_t category = shape.category.value();
    return {category < categories.size() ? categories[category] : "",
            reactor.asked(count.shape).needs,
            reactor.allocation(),
            shape.features,
            count.ready,
            count.on_workers};
}

// Shapes that differ only in what the report does not tell become one.
void add(wire::StatusReport& report, wire::TasksOfShape more) {
    for (wire::TasksOfShape& known : report.shapes) {
        if (known.category != more.category || known.needs != more.needs || known.features != more.features)
            continue;
        known.ready += more.ready;
        known.on_workers += more.on_workers;
        return;
    }
    if (report.shapes.size() < most_shapes)
        report.shapes.push_back(std::move(more));
    else
        report.further += more.ready + more.on_workers;
}

wire::WorkerStatus describe(const core::Worker& worker, const WorkerSessions& sessions) {
    wire::WorkerStatus status;
    status.worker = worker.id;
    status.host = worker.host;
    status.offers = worker.whole;
    status.tasks = worker.leases.size();
    status.connected = !worker.disconnected();
    const records::WorkerRecord* const record = sessions.of_tcp(worker.id);
    status.is_rank = record == nullptr;
    if (record != nullptr) status.job = record->job;
    for (const std::string& feature : worker.features)
        if (feature.starts_with(core::factory_feature))
            status.factory = feature.substr(core::factory_feature.size());
    return status;
}

}  // namespace

wire::StatusReport status_report(const Router& router, const std::vector<std::string>& categories,
                                 const WorkerSessions& sessions) {
    using core::TaskState;
    const scheduling::Reactor& reactor = router.reactor();
    wire::StatusReport report;
    for (const scheduling::ShapeCount& count : reactor.unfinished())
        add(report, describe(reactor, categories, count));
    for (const auto& [id, worker] : reactor.workers().all())
        report.workers.push_back(describe(worker, sessions));
    const core::Ledger& ledger = reactor.ledger();
    report.blocked = ledger.count(TaskState::blocked);
    report.submitted = ledger.size();
    report.done = ledger.count(TaskState::done);
    report.failed = ledger.count(TaskState::failed) + ledger.count(TaskState::skipped) +
                    ledger.count(TaskState::cancelled);
    report.capacity_tasks = router.stats().capacity_tasks;
    report.ending = router.run_is_over() || reactor.stopping();
    return report;
}

}  // namespace wq::manager
