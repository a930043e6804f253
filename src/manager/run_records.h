// Records the ends of attempts, joins and departures of workers, and categories, and counts the records for
// the end of the run and for the summary.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/model/waiting.h"
#include "files/transfers/transfer_tally.h"
#include "manager/failures.h"
#include "manager/links.h"
#include "manager/router.h"
#include "manager/task_table.h"
#include "records/journal/ask_ids.h"
#include "records/recorder/recorder.h"

namespace wq::manager {

// The reason recorded when we asked a worker to leave (Work Queue's term).
inline constexpr const char* told_to_leave = "EXPLICIT";

struct RecordOptions {
    std::vector<std::string> categories{"default"};
    // Attempts of tasks in earlier runs, by key; this run continues the numbers.
    std::unordered_map<std::uint64_t, Attempt> earlier_attempts;
    std::uint64_t output_limit = 8u << 20;  // bytes that workers keep of each stream of a task
};

// What arrived of an attempt's output.
struct AttemptOutput {
    engine::model::Output text;
    std::array<records::recorder::LargeText, 2> large;
};

class RunRecords {
  public:
    RunRecords(RecordOptions options, TaskTexts& tasks, records::recorder::Recorder& recorder,
               Router& router);

    // ---- categories ----
    CategoryId category(const std::string& name);                               // creates it if needed
    const std::vector<std::string>& categories() const { return categories_; }  // by CategoryId
    void changed(const engine::model::CategoryChanged& action, engine::model::Now now);
    // What a task with these needs requests now, including its category's first or maximum allocation;
    // negative: not specified, or a whole worker.
    engine::model::Resources requested(const engine::model::Needs& said, CategoryId category,
                                       engine::model::Try tried = engine::model::Try::first) const;

    // ---- workers ----
    void joined(const records::journal::WorkerRecord& worker) { recorder_.worker(worker); }
    std::uint64_t ended_on(WorkerId worker) const;  // attempts; 0 once it has left
    void departed(records::journal::WorkerRecord worker, const std::string& why,
                  records::journal::Departure departure, engine::model::Now now);

    // ---- tasks ----
    struct Dispatch {
        TaskId task;
        Attempt attempt = 0;
        CategoryId category;
        engine::model::Resources given;
        WallMicros submitted_us = 0;
        WallMicros dispatched_us = 0;
        engine::model::Try tried = engine::model::Try::first;
    };
    // Work Queue's transaction log also records dispatches. `address`: of the worker.
    void dispatched(const Dispatch& dispatch, const std::string& address);
    void requeued(const engine::model::LeaseRequeued& action, engine::model::Now now);
    // `link`: of its worker; null: it has left. `output`: null if none arrived.
    void ended(engine::model::AttemptEnded& action, const Link* link, AttemptOutput* output,
               engine::model::Now now);
    void ended(engine::model::RangeEnded& action, engine::model::Now now);
    void cancelled(const engine::model::Cancelled& action, engine::model::Now now);
    void skipped(engine::model::Skipped& action, engine::model::Now now);
    void transferred(const files::transfers::Transfer& transfer, engine::model::Now now);
    engine::model::Try try_of(TaskId task) const;  // the task has not ended

    // What waits now: what has changed since the last call is recorded.
    bool wants_waiting() const { return recorder_.wants().reasons; }
    void note_waiting(const std::vector<engine::model::WaitingTasks>& tasks, engine::model::Now now);

    void finished() { recorder_.write_at_once(); }  // the run ends when all is written

    // ---- figures ----
    void succeeded_earlier(std::uint64_t tasks) { succeeded_earlier_ += tasks; }
    std::uint64_t succeeded_earlier() const { return succeeded_earlier_; }  // tasks, in an earlier run
    std::uint64_t attempts_ended() const { return ended_; }
    // Recorded ends that are not in the journal yet.
    std::int64_t unwritten() const { return static_cast<std::int64_t>(ended_ - recorder_.acknowledged()); }
    bool all_written() const { return recorder_.acknowledged() >= ended_; }
    std::uint64_t output_limit() const { return options_.output_limit; }
    std::uint64_t outputs_truncated() const {
        return outputs_truncated_;
    }  // tasks whose last attempt lost some output
    // Attempts of the task in earlier runs, if it did not end there.
    Attempt earlier_attempts(TaskId task) const;
    Failures& failures() { return failures_; }
    const Failures& failures() const { return failures_; }

  private:
    // Records what tasks of the shape ask for, if nobody has asked for it before.
    records::journal::AskId ask_of(engine::model::ShapeId shape);
    void waiting(TaskId task, CategoryId category, WallMicros when, engine::model::Try tried);

    RecordOptions options_;
    TaskTexts& tasks_;
    records::recorder::Recorder& recorder_;
    Router& router_;
    std::map<std::string, CategoryId> category_ids_;
    std::vector<std::string> categories_;
    std::map<CategoryId, engine::model::CategoryChanged> category_told_;  // as last reported to the recorder
    records::journal::AskIds ask_ids_;
    std::vector<records::journal::AskId> ask_of_shape_;  // by ShapeId; no_ask: not known yet
    using WaitingClass = std::pair<records::journal::AskId, engine::model::WaitReason>;
    std::map<WaitingClass, std::uint64_t> waiting_;  // tasks, as recorded
    Failures failures_;
    std::uint64_t succeeded_earlier_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t outputs_truncated_ = 0;
    std::unordered_map<WorkerId, std::uint64_t> ended_there_;  // attempts, of workers that have not left
    std::unordered_map<TaskId, records::journal::FileTraffic> traffic_;  // of attempts that have not ended
};

}  // namespace wq::manager
