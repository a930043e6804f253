#include "manager/run_records.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "records/journal/transactions.h"

namespace wq::manager {

RunRecords::RunRecords(RecordOptions options, TaskTexts& tasks, records::recorder::Recorder& recorder,
                       Router& router)
    : options_(std::move(options)),
      tasks_(tasks),
      recorder_(recorder),
      router_(router),
      categories_(options_.categories) {
    for (const std::string& name : categories_)
        category_ids_.emplace(name, static_cast<std::uint32_t>(category_ids_.size()));
}

// ---- categories ----

CategoryId RunRecords::category(const std::string& name) {
    const auto next = static_cast<std::uint32_t>(category_ids_.size());
    const auto [found, added] = category_ids_.try_emplace(name, next);
    if (added) {
        categories_.push_back(name);
        recorder_.category(found->second, name);
    }
    return found->second;
}

void RunRecords::changed(const engine::model::CategoryChanged& action, engine::model::Now now) {
    engine::model::CategoryChanged& told = category_told_[action.category];
    const auto same = [&](auto field) { return told.*field == action.*field; };
    if (same(&engine::model::CategoryChanged::mode) && same(&engine::model::CategoryChanged::max) &&
        same(&engine::model::CategoryChanged::min) && same(&engine::model::CategoryChanged::first))
        return;
    told = action;
    recorder_.category_changed({action.category, categories_[action.category.value()], action.mode,
                                action.max, action.min, action.first, now.wall});
}

engine::model::Resources RunRecords::requested(const engine::model::Needs& said, CategoryId category,
                                               engine::model::Try tried) const {
    engine::model::Sizes sizes;
    const engine::model::Category* const known = router_.reactor().category(category);
    const auto told = category_told_.find(category);
    const bool at_maximum = tried == engine::model::Try::at_maximum;
    if (at_maximum && known != nullptr) sizes = known->max();
    if (!at_maximum && told != category_told_.end()) sizes = told->second.first;
    return {said.cores >= 0 ? said.cores : Count::of_thousandths(sizes.cores),
            said.memory_mb >= 0 ? said.memory_mb : sizes.memory_mb,
            said.disk_mb >= 0 ? said.disk_mb : sizes.disk_mb,
            said.gpus >= 0 ? said.gpus : Count::of_thousandths(sizes.gpus)};
}

// ---- workers ----

std::uint64_t RunRecords::ended_on(WorkerId worker) const {
    const auto found = ended_there_.find(worker);
    return found == ended_there_.end() ? 0 : found->second;
}

void RunRecords::departed(records::journal::WorkerRecord worker, const std::string& why,
                          records::journal::Departure departure, engine::model::Now now) {
    worker.left_us = now.wall;
    worker.why_left = why;
    worker.departure = departure;
    if (const auto ended = ended_there_.extract(worker.worker)) worker.tasks_done = ended.mapped();
    recorder_.worker(worker);
    if (!router_.run_is_over() && why != told_to_leave)
        router_.print_line("worker " + std::to_string(worker.worker.value()) + " on " + worker.host +
                           (departure == records::journal::Departure::failure ? " was lost: " : " left: ") +
                           why);
}

// ---- tasks ----

void RunRecords::dispatched(const Dispatch& dispatch, const std::string& address) {
    const records::recorder::Recorder::Wants wants = recorder_.wants();
    if (!wants.transactions || !recorder_.wants_beginning(dispatch.task)) return;
    if (dispatch.attempt == 1 && wants.waiting)
        waiting(dispatch.task, dispatch.category, dispatch.submitted_us, dispatch.tried);
    recorder_.transaction(
        dispatch.dispatched_us,
        records::journal::task_running_text(dispatch.task, address, dispatch.given, dispatch.tried));
}

void RunRecords::waiting(TaskId task, CategoryId category, WallMicros when, engine::model::Try tried) {
    if (!recorder_.wants().transactions) return;
    const engine::model::Ledger& ledger = router_.reactor().ledger();
    const engine::model::Needs& said = ledger.shape(ledger.shape_of(task)).needs;
    recorder_.transaction(when, records::journal::task_waiting_text({task.value(), task.value() + 1},
                                                                    categories_[category.value()],
                                                                    requested(said, category, tried), tried));
}

void RunRecords::requeued(const engine::model::LeaseRequeued& action, engine::model::Now now) {
    if (recorder_.wants_beginning(action.task))
        waiting(action.task, action.category, now.wall, try_of(action.task));
}

engine::model::Try RunRecords::try_of(TaskId task) const {
    const engine::model::Ledger& ledger = router_.reactor().ledger();
    return ledger.shape(ledger.shape_of(task)).at_maximum ? engine::model::Try::at_maximum
                                                          : engine::model::Try::first;
}

Attempt RunRecords::earlier_attempts(TaskId task) const {
    if (options_.earlier_attempts.empty()) return 0;
    const auto found = options_.earlier_attempts.find(tasks_.key(task).value);
    return found == options_.earlier_attempts.end() ? 0 : found->second;
}

records::journal::AskId RunRecords::ask_of(engine::model::ShapeId shape) {
    if (shape.value() >= ask_of_shape_.size()) ask_of_shape_.resize(shape.value() + 1);
    records::journal::AskId& known = ask_of_shape_[shape.value()];
    if (known != records::journal::no_ask) return known;
    const engine::model::Shape& what = router_.reactor().ledger().shape(shape);
    const auto [id, is_new] = ask_ids_.id_of(what.needs, what.features);
    const bool further = id == records::journal::further_ask;
    if (is_new && further) recorder_.ask({id, {}, {}});
    if (is_new && !further) recorder_.ask({id, what.needs, what.features});
    return known = id;
}

void RunRecords::note_waiting(const std::vector<engine::model::WaitingTasks>& tasks, engine::model::Now now) {
    std::map<WaitingClass, std::uint64_t> current;
    for (const engine::model::WaitingTasks& each : tasks)
        current[{each.shape ? ask_of(*each.shape) : records::journal::no_ask, each.reason}] += each.tasks;
    const auto tell = [&](const WaitingClass& what, std::uint64_t count) {
        recorder_.waiting({now.wall, what.first, what.second, count});
    };
    for (const auto& [what, count] : waiting_)
        if (!current.contains(what)) tell(what, 0);
    for (const auto& [what, count] : current) {
        const auto told = waiting_.find(what);
        if (told == waiting_.end() || told->second != count) tell(what, count);
    }
    waiting_ = std::move(current);
}

void RunRecords::ended(engine::model::AttemptEnded& action, const Link* link, AttemptOutput* output,
                       engine::model::Now now) {
    records::recorder::Recorded recorded;
    records::journal::TaskRecord& record = recorded.record;
    record.task = action.task;
    record.key = tasks_.key(action.task);
    record.attempt = action.attempt - action.unstarted + earlier_attempts(action.task);
    record.final = action.final;
    record.out_of_tries = action.out_of_tries;
    record.worker = action.worker;
    record.category = action.category;
    record.given = action.given;
    record.submitted_us = action.submitted_us;
    record.dispatched_us = action.dispatched_us;
    record.ready_us = action.ready_us;
    record.ask = ask_of(action.shape);
    record.received_us = now.wall;
    record.outcome = std::move(action.outcome);
    if (const auto traffic = traffic_.extract(action.task)) record.files = traffic.mapped();
    record.line = tasks_.line(action.task);
    if (recorder_.wants().commands) recorded.command = tasks_.command(action.task);
    if (output != nullptr) recorded.output = std::move(output->text);
    if (output != nullptr) recorded.large = std::move(output->large);
    record.monitor = std::move(recorded.output.monitor);
    if (action.by_ticket && link != nullptr)
        dispatched({action.task, action.attempt, action.category, action.given, action.submitted_us,
                    action.dispatched_us},
                   link->address);
    if (record.outcome.ending != engine::model::Ending::worker_lost &&
        record.outcome.ending != engine::model::Ending::never_ran)
        ++ended_there_[action.worker];
    if (record.final && !record.outcome.succeeded())
        failures_.add({action.task, record.attempt, record.line, link != nullptr ? link->record->host : "",
                       tasks_.command(action.task), record.outcome, lines_of_cause(recorded.output.err), 1,
                       categories_[action.category.value()]});
    const std::uint64_t longest = std::max(record.outcome.stdout_bytes, record.outcome.stderr_bytes);
    if (record.final && longest > options_.output_limit) ++outputs_truncated_;
    ++ended_;
    recorder_.task(std::move(recorded));
    if (!action.final && !action.goes_on)
        waiting(action.task, action.category, now.wall, try_of(action.task));
}

void RunRecords::ended(engine::model::RangeEnded& action, engine::model::Now now) {
    ended_ += action.tasks.count();
    ended_there_[action.worker] += action.tasks.count();
    records::journal::RangeRecord record;
    record.worker = action.worker;
    record.tasks = std::move(action.tasks);
    record.category = action.category;
    record.given = action.given;
    record.started_us = action.started_us;
    record.wall_us = action.wall_us;
    record.received_us = now.wall;
    recorder_.range(record);
}

void RunRecords::skipped(engine::model::Skipped& action, engine::model::Now now) {
    const std::uint64_t first = action.tasks.front()->first;
    SkippedExample example{action.reason, action.detail, action.tasks.count(), tasks_.line(TaskId(first)),
                           TaskId(first), action.tasks};
    if (action.because) {
        example.reason = "a predecessor failed: " + place_of(*action.because, tasks_.line(*action.because));
        example.detail = line_for_message(tasks_.command(*action.because));
    }
    const std::string place = place_of(example.first, example.first_line);
    const std::string text =
        (example.count == 1 ? place : count_of(example.count, "task") + ", the first " + place + ",") +
        " can never run: " + example.reason +
        (example.detail.empty() ? "" : (action.because ? "; its command: " : "; ") + example.detail);
    recorder_.skipped(action.tasks, text, now.wall);
    if (failures_.skip(std::move(example))) router_.print_line(text);
}

void RunRecords::cancelled(const engine::model::Cancelled& action, engine::model::Now now) {
    std::erase_if(traffic_, [&](const auto& one) { return action.tasks.contains(one.first.value()); });
    recorder_.cancelled(action.tasks, now.wall);
}

void RunRecords::transferred(const files::transfers::Transfer& transfer, engine::model::Now now) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(transfer.took).count();
    records::journal::FileTraffic& traffic = traffic_[transfer.task];
    (transfer.input ? traffic.bytes_sent : traffic.bytes_received) +=
        static_cast<std::int64_t>(transfer.bytes);
    (transfer.input ? traffic.send_us : traffic.receive_us) += took;
    if (!recorder_.wants().transactions) return;
    recorder_.transaction(
        now.wall, records::journal::transfer_text(
                      {transfer.task, transfer.input, transfer.cached, transfer.bytes, took, transfer.name}));
}

}  // namespace wq::manager
