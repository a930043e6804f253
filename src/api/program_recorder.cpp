#include "api/program_recorder.h"

#include <algorithm>

#include "api/translation.h"
#include "records/journal/transactions.h"

namespace wq::api {

namespace {
// Workers that left, kept for later records.
constexpr std::size_t most_left = 4096;
}  // namespace

std::unique_ptr<TaskData> ProgramRecorder::take_cancelled() {
    if (cancelled_.empty()) return nullptr;
    const TaskId id = cancelled_.front();
    results_.cancelled(*tasks_.find(id));
    cancelled_.clear();
    return tasks_.remove(id);
}

std::optional<CategoryId> ProgramRecorder::category_named(const std::string& name) const {
    const auto found = category_ids_.find(name);
    if (found == category_ids_.end()) return std::nullopt;
    return found->second;
}

engine::model::ManagerStats ProgramRecorder::as_seen(engine::model::ManagerStats stats) const {
    const Results::Figures figures = results_.figures();
    stats.tasks_with_results = figures.waiting;
    stats.tasks_done = figures.returned;
    stats.tasks_failed = figures.failed;
    stats.time_application = figures.outside_us;
    return stats;
}

records::recorder::Recorder::Wants ProgramRecorder::wants() const {
    const bool transactions = std::any_of(logs_.begin(), logs_.end(), [](const auto* logs) {
        return logs->wants_transactions() || logs->wants_debug("task");
    });
    return {false, transactions, false, false};
}

void ProgramRecorder::write_to(records::logs::ProgramLogs& logs) {
    logs_.push_back(&logs);
    for (const auto& [id, record] : categories_) {
        if (id != CategoryId(0)) logs.category({id, record.name});
        if (record.changed_us != 0) logs.category(record);
    }
    for (const auto& [id, record] : workers_)
        if (record.left_us == 0) logs.worker(record);
}

void ProgramRecorder::submitted(TaskId first, const TaskData& task, const engine::model::Resources& requested,
                                WallMicros when) {
    if (!wants().transactions) return;
    const Interval all{first.value(), first.value() + task.count()};
    transaction(when, records::journal::task_waiting_text(all, task.category, requested));
}

void ProgramRecorder::fill(TaskData& task, records::recorder::Recorded& ended) const {
    const records::journal::TaskRecord& record = ended.record;
    TaskReport& report = task.edit_report();
    report.monitor = record.monitor;
    describe_end(record.outcome, task.kind, report);
    if (record.out_of_tries) report.result = TaskResult::max_retries;
    if (record.out_of_tries && record.outcome.ending != engine::model::Ending::worker_lost)
        report.reason = engine::model::describe(record.outcome);  // includes how the last attempt ended
    report.attempts = record.attempt;
    report.bytes_sent = record.files.bytes_sent;
    report.bytes_received = record.files.bytes_received +
                            static_cast<std::int64_t>(ended.output.out.size() + ended.output.err.size() +
                                                      ended.output.result.size());
    report.output = std::move(ended.output.out);
    report.error_output = std::move(ended.output.err);
    report.packed_result = std::move(ended.output.result);
    report.large = std::move(ended.large);
    report.allocated = {record.given.cores.as_double(), record.given.memory_mb, record.given.disk_mb,
                        record.given.gpus.as_double()};
    // A task that the kernel killed has no measurement: its whole allocation was too little.
    if (record.outcome.ending == engine::model::Ending::out_of_memory && report.exceeded.memory < 0)
        report.exceeded.memory = report.allocated.memory;
    report.submit_time = record.submitted_us;
    report.commit_time = record.dispatched_us;
    report.finish_time = record.received_us;
    if (const auto worker = workers_.find(record.worker.value()); worker != workers_.end()) {
        report.host = worker->second.address;
        report.hostname = worker->second.host;
    }
}

void ProgramRecorder::task(records::recorder::Recorded ended) {
    ++recorded_;
    const TaskId id = ended.record.task;
    RangeTask* const range = tasks_.range_of(id);
    if (!logs_.empty()) log(ended.record, range);
    const std::uint32_t exhausted = engine::model::is_exhaustion(ended.record.outcome.ending) ? 1 : 0;
    if (!ended.record.final) {
        if (TaskData* const task = exhausted != 0 ? tasks_.find(id) : nullptr) ++task->exhausted;
        return;
    }
    if (range != nullptr) return end_of_call(*range, ended);
    TaskData* const task = tasks_.find(id);
    if (task == nullptr) return;
    fill(*task, ended);
    task->report->exhausted_attempts = task->exhausted + exhausted;
    summarize(ended.record, *task);
    hand_over(id);
}

// If memory runs out, the task stays in tasks_.
void ProgramRecorder::hand_over(TaskId ended) {
    results_.make_room();
    results_.add_ended(tasks_.remove(ended));
}

// Only for tasks that ran.
void ProgramRecorder::summarize(const records::journal::TaskRecord& record, TaskData& task) {
    const std::string own = task.specs ? task.specs->monitor_output : std::string();
    if ((own.empty() && summaries_folder_.empty()) || record.outcome.started_us == 0) return;
    task.report->summary = summaries_.queue_summary({task.id, record, task.category, task.text_for_people(),
                                                     task.report->hostname, own, summaries_folder_});
}

// ---- ranges ----

bool ProgramRecorder::wants_beginning(TaskId task) const {
    return tasks_.range_of(task) == nullptr;
}

void ProgramRecorder::log(const records::journal::TaskRecord& record, RangeTask* range) {
    if (range == nullptr || !record.final || !record.outcome.succeeded()) {
        for (records::logs::ProgramLogs* logs : logs_)
            range == nullptr ? logs->task(record) : logs->call(record);
        return;
    }
    records::journal::RangeRecord one;
    one.worker = record.worker;
    one.tasks.insert(record.task.value());
    one.category = record.category;
    one.given = record.given;
    one.started_us = record.outcome.started_us;
    one.wall_us = record.outcome.wall_us;
    one.user_us = record.outcome.user_us;
    one.system_us = record.outcome.system_us;
    one.peak_memory_kb = record.outcome.peak_memory_kb;
    one.received_us = record.received_us;
    gathered_.add(range->first_id, one);
}

void ProgramRecorder::log_gathered() {
    if (!gathered_.due()) return;
    for (const records::journal::RangeRecord& record : gathered_.take())
        for (records::logs::ProgramLogs* logs : logs_) logs->range(record);
}

std::optional<Instant> ProgramRecorder::log_due(Instant now) {
    if (gathered_.due() && *gathered_.due() <= now) log_gathered();
    return gathered_.due();
}

// Progress after this many more calls have ended.
RangeProgress ProgramRecorder::progress_of(const RangeTask& range, std::uint64_t done,
                                           std::uint64_t failed) const {
    RangeProgress progress;
    progress.done_now = done;
    progress.done_total = range.done + done;
    progress.failed_total = range.failed + failed;
    progress.size = range.size();
    progress.complete = range.open.count() == done + failed;
    return progress;
}

// Informs the program before changing the range: if memory runs out in between, no end of a call is lost.
void ProgramRecorder::report_range(RangeTask& range, const RangeProgress& news,
                                   std::span<const Interval> ended) {
    TaskReport& report = range.data->edit_report();
    if (report.reason.empty()) {  // otherwise some of it can never run, for that reason
        const bool failed = news.complete && news.failed_total > 0;
        report.result = TaskResult::success;
        report.exit_status = report.return_status = failed ? 1 : 0;
        if (failed)
            report.reason = std::to_string(news.failed_total) + " of its " + std::to_string(range.size()) +
                            " calls failed: each is reported separately";
    }
    results_.progress(*range.data, news);
    range.done = news.done_total;
    range.failed = news.failed_total;
    if (news.complete) {
        tasks_.remove_range(range);
        return log_gathered();
    }
    for (const Interval one : ended) range.open.erase(one);
}

void ProgramRecorder::end_of_call(RangeTask& range, records::recorder::Recorded& ended) {
    const std::uint64_t id = ended.record.task.value();
    if (!range.open.contains(id)) return;
    const std::int64_t index = range.index_of(id);
    const bool succeeded = ended.record.outcome.succeeded();
    RangeProgress news = progress_of(range, succeeded ? 1 : 0, succeeded ? 0 : 1);
    if (succeeded) {
        news.done.emplace_back(index, index + 1);
    } else {
        auto call = std::make_unique<TaskData>();
        call->kind = TaskKind::call;
        call->mode = range.data->mode;
        call->id = static_cast<std::int64_t>(id) + 1;
        call->text = range.data->text;
        call->tag = range.data->tag;
        call->category = range.data->category;
        call->priority = range.data->priority;
        fill(*call, ended);
        call->report->index = index;
        results_.add_unexpected(std::move(call));
        if (!news.complete) {
            range.failed = news.failed_total;
            return range.open.erase(id);
        }
    }
    const Interval one{id, id + 1};
    report_range(range, news, {&one, 1});
}

void ProgramRecorder::range(const records::journal::RangeRecord& record) {
    recorded_ += record.tasks.count();
    const double each_us = static_cast<double>(record.wall_us) / static_cast<double>(record.tasks.count());
    IntervalSet left = record.tasks;
    while (!left.empty()) {
        const Interval part = *left.front();
        RangeTask* range = tasks_.range_of(TaskId(part.first));
        if (range == nullptr) {
            left.erase(part.first);
            continue;
        }
        const Interval of_range{range->first_id, range->first_id + range->size()};
        std::vector<Interval> ended;
        left.for_each_in(of_range, [&](Interval one) {
            range->open.for_each_in(one, [&](Interval open) { ended.push_back(open); });
        });
        left.erase(of_range);
        if (ended.empty()) continue;
        records::journal::RangeRecord of_this = record;
        of_this.tasks = {};
        std::vector<std::pair<std::int64_t, std::int64_t>> indexes;
        for (const Interval one : ended) {
            of_this.tasks.insert(one);
            indexes.emplace_back(range->index_of(one.first), range->index_of(one.end));
        }
        RangeProgress news = progress_of(*range, of_this.tasks.count(), 0);
        news.done = std::move(indexes);
        of_this.wall_us = static_cast<std::int64_t>(each_us * static_cast<double>(news.done_now));
        if (!logs_.empty()) gathered_.add(range->first_id, of_this);
        report_range(*range, news, ended);
    }
}

// ---- ends without an attempt ----

void ProgramRecorder::cancelled(const IntervalSet& tasks, WallMicros when) {
    log_gathered();
    for (records::logs::ProgramLogs* logs : logs_) logs->cancelled(tasks, when);
    IntervalSet left = tasks;
    while (const auto part = left.front()) {
        RangeTask* range = tasks_.range_of(TaskId(part->first));
        if (range == nullptr) {
            cancelled_one(TaskId(part->first), when);
            left.erase(part->first);
            continue;
        }
        const Interval of_range{part->first, std::min(part->end, range->first_id + range->size())};
        range->open.erase(of_range);
        left.erase(of_range);
    }
}

void ProgramRecorder::cancelled_one(TaskId id, WallMicros when) {
    TaskData* const task = tasks_.find(id);
    if (task == nullptr) return;
    TaskReport& report = task->edit_report();
    report.result = TaskResult::unknown;
    report.reason = "it was cancelled";
    report.finish_time = when;
    cancelled_.push_back(id);
}

void ProgramRecorder::skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) {
    records::recorder::Recorded ended;
    ended.record.worker = unknown_worker;
    ended.record.received_us = when;
    ended.record.outcome.ending = engine::model::Ending::never_ran;
    ended.record.outcome.reason = why;
    IntervalSet left = tasks;
    while (const auto part = left.front()) {
        if (RangeTask* range = tasks_.range_of(TaskId(part->first))) {
            const Interval of_range{part->first, std::min(part->end, range->first_id + range->size())};
            left.erase(of_range);
            skipped_of_range(*range, of_range, ended);
            continue;
        }
        left.erase(part->first);
        if (TaskData* const task = tasks_.find(TaskId(part->first))) {
            fill(*task, ended);
            hand_over(TaskId(part->first));
        }
    }
}

// There may be very many: the range's own report includes them.
void ProgramRecorder::skipped_of_range(RangeTask& range, Interval part, records::recorder::Recorded& ended) {
    std::uint64_t count = 0;
    range.open.for_each_in(part, [&](Interval open) { count += open.size(); });
    if (count == 0) return;
    fill(*range.data, ended);
    report_range(range, progress_of(range, 0, count), {&part, 1});
}

// ---- the rest ----

void ProgramRecorder::worker(const records::journal::WorkerRecord& record) {
    log_gathered();
    for (records::logs::ProgramLogs* logs : logs_) logs->worker(record);
    const std::uint32_t id = record.worker.value();
    workers_[id] = record;
    if (record.left_us == 0) return;
    left_.push_back(id);
    if (left_.size() < 2 * most_left) return;
    for (std::size_t i = 0; i < most_left; ++i) workers_.erase(left_[i]);
    left_.erase(left_.begin(), left_.begin() + most_left);
}

void ProgramRecorder::sample(const records::journal::Sample& sample) {
    for (records::logs::ProgramLogs* logs : logs_) logs->sample({sample.time_us, as_seen(sample.stats)});
}

void ProgramRecorder::category(CategoryId id, std::string name) {
    category_ids_[name] = id;
    const records::journal::CategoryRecord& added = categories_[id] = {id, std::move(name)};
    for (records::logs::ProgramLogs* logs : logs_) logs->category(added);
}

void ProgramRecorder::category_changed(const records::journal::CategoryRecord& record) {
    categories_[record.category] = record;
    for (records::logs::ProgramLogs* logs : logs_) logs->category(record);
}

void ProgramRecorder::transaction(WallMicros when, std::string text) {
    for (records::logs::ProgramLogs* logs : logs_) logs->transaction(when, text);
}

namespace {
constexpr Duration gather_time = std::chrono::seconds(1);
}

void RangeGather::add(std::uint64_t range, const records::journal::RangeRecord& record) {
    if (!due_) due_ = instant_now() + gather_time;
    const auto [place, is_new] = gathered_.try_emplace({range, record.worker.value()}, record);
    if (is_new) return;
    records::journal::RangeRecord& all = place->second;
    record.tasks.for_each([&](Interval part) { all.tasks.insert(part); });
    all.started_us = std::min(all.started_us, record.started_us);
    engine::model::add_bounded(all.wall_us, record.wall_us);
    engine::model::add_bounded(all.user_us, record.user_us);
    engine::model::add_bounded(all.system_us, record.system_us);
    all.peak_memory_kb = std::max(all.peak_memory_kb, record.peak_memory_kb);
    all.received_us = record.received_us;
}

std::vector<records::journal::RangeRecord> RangeGather::take() {
    std::vector<records::journal::RangeRecord> taken;
    for (auto& [key, record] : gathered_) taken.push_back(std::move(record));
    gathered_.clear();
    due_.reset();
    return taken;
}

}  // namespace wq::api
