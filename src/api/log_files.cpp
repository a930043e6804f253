// A program may ask for logs at its start, or later.
#include "api/program_manager.h"
#include "records/journal/transactions.h"

namespace wq::api {

Status ProgramManager::open_logs(const records::logs::LogPaths& paths) {
    if (!paths.any()) return success();
    auto logs = records::logs::ProgramLogs::open(paths, started_.wall, options_.say);
    if (!logs) return logs.error();
    logs_.push_back(std::move(*logs));
    recorder_.write_to(*logs_.back());
    return success();
}

Status ProgramManager::log_to(const records::logs::LogPaths& paths) {
    Status done = success();
    const bool asked = queue_.ask([&] {
        done = open_logs(paths);
        if (!done) return;
        if (!paths.transactions.empty()) log_unfinished(*logs_.back());
        if (!paths.statistics.empty()) manager_->sample_every(sample_often, manager::run::now());
    });
    return asked ? done : ended();
}

// Tasks that are running now wait in the new log until they end.
void ProgramManager::log_unfinished(records::logs::ProgramLogs& logs) {
    const engine::model::Ledger& ledger = manager_->reactor().ledger();
    tasks_.for_each([&](TaskData& task) {
        const Interval all{static_cast<std::uint64_t>(task.id) - 1,
                           static_cast<std::uint64_t>(task.id) - 1 + task.count()};
        const engine::model::Shape& shape = ledger.shape(ledger.shape_of(TaskId(all.first)));
        logs.transaction(wall_now(),
                         records::journal::task_waiting_text(
                             all, task.category, manager_->records().requested(shape.needs, shape.category)));
    });
}

void ProgramManager::say_how_to_start_a_worker(std::string command) {
    queue_.ask([&] { first_worker_.change(std::move(command)); });
}

void ProgramManager::debug(std::string_view subsystem, const std::string& text) {
    for (const auto& logs : logs_) logs->debug(subsystem, text);
}

void ProgramManager::write_notes() {
    if (logs_.empty()) return;
    for (const Wire& wire : options_.wires)
        for (const net::frames::Note& note : wire.transport->take_notes()) debug(note.subsystem, note.text);
}

}  // namespace wq::api
