#include "api/program_recorder.h"

#include "api/outcomes.h"
#include "stats/transactions.h"

namespace wq::api {

namespace {
// Places of workers that have left, for records that come after.
constexpr std::size_t most_left = 4096;
}  // namespace

std::vector<std::unique_ptr<TaskData>> ProgramRecorder::take_cancelled() {
    return std::exchange(cancelled_, {});
}

std::optional<CategoryId> ProgramRecorder::category_named(const std::string& name) const {
    const auto found = category_ids_.find(name);
    if (found == category_ids_.end()) return std::nullopt;
    return found->second;
}

core::ManagerStats ProgramRecorder::as_seen(core::ManagerStats stats) const {
    const Results::Figures figures = results_.figures();
    stats.tasks_with_results = figures.waiting;
    stats.tasks_done = figures.returned;
    stats.tasks_failed = figures.failed;
    stats.time_application = figures.outside_us;
    return stats;
}

stats::Recorder::Wants ProgramRecorder::wants() const {
    return {false, logs_ != nullptr && logs_->wants_transactions(), false};
}

void ProgramRecorder::submitted(TaskId first, const TaskData& task, WallMicros when) {
    if (!wants().transactions) return;
    const TaskResources needs = task.specs ? task.specs->needs : TaskResources{};
    transaction(when, stats::task_waiting_text(first, task.category,
                                               {needs.cores, needs.memory, needs.disk, needs.gpus}));
}

void ProgramRecorder::fill(TaskReport& report, stats::Recorded& ended) const {
    const stats::TaskRecord& record = ended.record;
    describe_end(record.outcome, report);
    report.attempts = record.attempt;
    report.output = std::move(ended.output.out);
    report.error_output = std::move(ended.output.err);
    report.packed_result = std::move(ended.output.result);
    report.allocated = {record.given.cores, record.given.memory_mb, record.given.disk_mb, record.given.gpus};
    report.submit_time = record.submitted_us;
    report.commit_time = record.dispatched_us;
    report.finish_time = record.received_us;
    if (const auto place = places_.find(record.worker.value()); place != places_.end()) {
        report.host = place->second.address;
        report.hostname = place->second.host;
    }
}

void ProgramRecorder::task(stats::Recorded ended) {
    ++recorded_;
    if (logs_ != nullptr) logs_->task(ended.record);
    if (!ended.record.final) return;
    const TaskId id = ended.record.task;
    if (RangeTask* range = tasks_.range_of(id)) return end_of_call(*range, ended);
    std::unique_ptr<TaskData> task = tasks_.remove(id);
    if (!task) return;
    fill(task->tell(), ended);
    results_.put(std::move(task), false);
}

// ---- ranges ----

RangeProgress ProgramRecorder::progress_of(const RangeTask& range) const {
    RangeProgress progress;
    progress.done_total = range.done;
    progress.failed_total = range.failed;
    progress.size = range.size();
    progress.complete = range.open.empty();
    return progress;
}

void ProgramRecorder::finish_range(RangeTask& range, RangeProgress news) {
    TaskReport& report = range.data->tell();
    report.result = TaskResult::success;
    report.exit_status = report.return_status = range.failed == 0 ? 0 : 1;
    const bool complete = news.complete;
    results_.progress(*range.data, std::move(news));
    if (complete) tasks_.remove_range(range);
}

void ProgramRecorder::end_of_call(RangeTask& range, stats::Recorded& ended) {
    const std::uint64_t id = ended.record.task.value();
    if (!range.open.contains(id)) return;
    range.open.erase(id);
    const std::int64_t index = range.index_of(id);
    RangeProgress news;
    if (ended.record.outcome.succeeded()) {
        ++range.done;
        news = progress_of(range);
        news.done.emplace_back(index, index + 1);
        news.done_now = 1;
    } else {
        ++range.failed;
        auto call = std::make_unique<TaskData>();
        call->kind = TaskKind::call;
        call->mode = range.data->mode;
        call->id = static_cast<std::int64_t>(id) + 1;
        call->text = range.data->text;
        call->tag = range.data->tag;
        call->category = range.data->category;
        call->priority = range.data->priority;
        fill(call->tell(), ended);
        call->report->index = index;
        results_.put(std::move(call), true);
        news = progress_of(range);
        if (!news.complete) return;
    }
    finish_range(range, std::move(news));
}

void ProgramRecorder::range(const stats::RangeRecord& record) {
    recorded_ += record.tasks.count();
    if (logs_ != nullptr) logs_->range(record);
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
        RangeProgress news;
        for (const Interval one : ended) {
            range->open.erase(one);
            range->done += one.size();
            news.done_now += one.size();
            news.done.emplace_back(range->index_of(one.first), range->index_of(one.end));
        }
        if (ended.empty()) continue;
        RangeProgress all = progress_of(*range);
        all.done = std::move(news.done);
        all.done_now = news.done_now;
        finish_range(*range, std::move(all));
    }
}

// ---- ends without an attempt ----

void ProgramRecorder::cancelled(const IntervalSet& tasks, WallMicros when) {
    if (logs_ != nullptr) logs_->cancelled(tasks, when);
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
    std::unique_ptr<TaskData> task = tasks_.remove(id);
    if (!task) return;
    TaskReport& report = task->tell();
    report.result = TaskResult::forsaken;
    report.reason = "it was cancelled";
    report.finish_time = when;
    results_.cancelled(*task);
    cancelled_.push_back(std::move(task));
}

void ProgramRecorder::skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) {
    tasks.for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) {
            stats::Recorded ended;
            ended.record.task = TaskId(id);
            ended.record.worker = unknown_worker;
            ended.record.received_us = when;
            ended.record.outcome.ending = core::Ending::never_ran;
            ended.record.outcome.reason = why;
            if (RangeTask* range = tasks_.range_of(TaskId(id))) {
                end_of_call(*range, ended);
            } else if (std::unique_ptr<TaskData> task = tasks_.remove(TaskId(id))) {
                fill(task->tell(), ended);
                results_.put(std::move(task), false);
            }
        }
    });
}

// ---- the rest ----

void ProgramRecorder::worker(const stats::WorkerRecord& record) {
    if (logs_ != nullptr) logs_->worker(record);
    const std::uint32_t id = record.worker.value();
    places_[id] = {record.host, record.address};
    if (record.left_us == 0) return;
    left_.push_back(id);
    if (left_.size() < 2 * most_left) return;
    for (std::size_t i = 0; i < most_left; ++i) places_.erase(left_[i]);
    left_.erase(left_.begin(), left_.begin() + most_left);
}

void ProgramRecorder::sample(const stats::Sample& sample) {
    if (logs_ != nullptr) logs_->sample({sample.time_us, as_seen(sample.stats)});
}

void ProgramRecorder::category(CategoryId id, std::string name) {
    category_ids_[name] = id;
    if (logs_ != nullptr) logs_->category({id, std::move(name)});
}

void ProgramRecorder::transaction(WallMicros when, std::string text) {
    if (logs_ != nullptr) logs_->transaction(when, std::move(text));
}

}  // namespace wq::api
