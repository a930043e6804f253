// Reports each end of a task to the program and to its logs. Runs on the manager's thread; the logs write on
// their own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/results.h"
#include "api/submitted_tasks.h"
#include "base/time.h"
#include "engine/model/manager_stats.h"
#include "records/journal/records.h"
#include "records/logs/program_logs.h"
#include "records/logs/summary_writer.h"
#include "records/recorder/recorder.h"

namespace wq::api {

// Gathers successful calls of ranges for the logs. Calls of one range and worker within a second become one
// record, so a log grows with time and workers, not with calls.
class RangeGather {
  public:
    // `range`: a number unique to the range.
    void add(std::uint64_t range, const records::journal::RangeRecord& record);
    // When to call take(); nothing: there is nothing to take.
    std::optional<Instant> due() const { return due_; }
    std::vector<records::journal::RangeRecord> take();

  private:
    std::map<std::pair<std::uint64_t, std::uint32_t>, records::journal::RangeRecord>
        gathered_;  // by range and worker
    std::optional<Instant> due_;
};

class ProgramRecorder : public records::recorder::Recorder {
  public:
    ProgramRecorder(SubmittedTasks& tasks, Results& results, records::logs::SummaryWriter& summaries)
        : tasks_(tasks), results_(results), summaries_(summaries) {}

    // From now on also to these logs, which begin with what is known.
    void write_to(records::logs::ProgramLogs& logs);
    void end_logs() { logs_.clear(); }
    // Tasks that end from now on get a summary in this folder; "": only in the folders that they specify.
    void summarize_to(std::string folder) { summaries_folder_ = std::move(folder); }

    // Records a submission with its requested resources, including those of its category.
    void submitted(TaskId first, const TaskData& task, const engine::model::Resources& requested,
                   WallMicros when);
    // The task that cancelled() reported; null: none.
    std::unique_ptr<TaskData> take_cancelled();
    std::optional<CategoryId> category_named(const std::string& name) const;
    // The manager's statistics completed with what only the program's side knows.
    engine::model::ManagerStats as_seen(engine::model::ManagerStats stats) const;

    // Logs gathered calls of ranges once they are due; returns when the next are due.
    std::optional<Instant> log_due(Instant now);
    void log_gathered();

    Wants wants() const override;
    bool wants_beginning(TaskId task) const override;  // for calls of a range, the range's record has it
    void task(records::recorder::Recorded ended) override;
    void range(const records::journal::RangeRecord& record) override;
    void cancelled(const IntervalSet& tasks, WallMicros when) override;
    void skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) override;
    void worker(const records::journal::WorkerRecord& record) override;
    void sample(const records::journal::Sample& sample) override;
    void category(CategoryId id, std::string name) override;
    void category_changed(const records::journal::CategoryRecord& record) override;
    void transaction(WallMicros when, std::string text) override;
    std::uint64_t acknowledged() const override { return recorded_; }
    std::uint64_t backlog_bytes() const override { return summaries_.backlog_bytes(); }
    int descriptor() const override { return summaries_.descriptor(); }
    void settle() override { summaries_.settle(); }
    std::optional<std::string> trouble() const override { return std::nullopt; }
    std::vector<std::string> notices() override { return {}; }
    Status close() override { return success(); }
    Unrecorded unrecorded() const override { return {}; }

  private:
    void log(const records::journal::TaskRecord& record, RangeTask* range);
    void skipped_of_range(RangeTask& range, Interval part, records::recorder::Recorded& ended);
    void hand_over(TaskId ended);
    void cancelled_one(TaskId id, WallMicros when);
    void end_of_call(RangeTask& range, records::recorder::Recorded& ended);
    void report_range(RangeTask& range, const RangeProgress& news, std::span<const Interval> ended);
    void summarize(const records::journal::TaskRecord& record, TaskData& task);
    void fill(TaskData& task, records::recorder::Recorded& ended) const;
    RangeProgress progress_of(const RangeTask& range, std::uint64_t done, std::uint64_t failed) const;

    SubmittedTasks& tasks_;
    Results& results_;
    records::logs::SummaryWriter& summaries_;
    std::string summaries_folder_;
    std::vector<records::logs::ProgramLogs*> logs_;
    RangeGather gathered_;
    std::uint64_t recorded_ = 0;
    std::map<std::uint32_t, records::journal::WorkerRecord> workers_;
    std::vector<std::uint32_t> left_;  // workers that left; their record is kept for later records
    std::map<CategoryId, records::journal::CategoryRecord> categories_;  // but "default", before it changes
    std::unordered_map<std::string, CategoryId> category_ids_{{"default", CategoryId(0)}};
    std::vector<TaskId> cancelled_;
};

}  // namespace wq::api
