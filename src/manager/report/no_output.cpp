#include "manager/report/no_output.h"

#include "base/units.h"
#include "records/journal/journal.h"
#include "records/journal/run_status.h"
#include "records/journal/task_number.h"

namespace wq::manager::report {

namespace {

// The journal's data about one task.
class OneTask : public records::journal::JournalVisitor {
  public:
    OneTask(TaskId task, std::optional<records::journal::TaskKey> key) : task_(task), key_(key) {}
    void task(const records::journal::TaskRecord& record) override {
        const bool it = key_ ? record.key == *key_ : record.task == task_;
        if (!it || !record.final) return;
        ended = true;
        bytes = record.outcome.stdout_bytes + record.outcome.stderr_bytes;
    }
    void worker(const records::journal::WorkerRecord&) override {}
    void sample(const records::journal::Sample& sample) override {
        tasks = static_cast<std::uint64_t>(sample.stats.tasks_submitted);
    }

    bool ended = false;
    std::uint64_t bytes = 0;  // written by it
    std::uint64_t tasks = 0;  // read by the run so far

  private:
    TaskId task_;
    std::optional<records::journal::TaskKey> key_;
};

}  // namespace

Status check_wrote_nothing(const std::string& run_directory, TaskId task,
                           std::optional<records::journal::TaskKey> key) {
    OneTask known(task, key);
    const auto journal = records::journal::scan_journal(run_directory + "/journal", known);
    if (!journal) return journal.error();
    if (known.ended && known.bytes == 0) return success();

    const auto status = records::journal::read_status(run_directory);
    const bool running = status && status->state == "running";
    const std::string who = run_directory + ": task " + std::to_string(records::journal::task_number(task));
    if (known.ended) return Error{ExitCode::bad_input, who + " has ended, but its output is not kept there"};
    // A task with a key is in the list. Samples come a moment late, so a live run may have more tasks than
    // they say.
    const std::string has = "the run has " + count_of(known.tasks, "task");
    if (key || task.value() < known.tasks)
        return Error{ExitCode::bad_input, who + (running ? " has not ended" : " did not run to its end")};
    if (running)
        return Error{ExitCode::bad_input, who + " has not ended, or does not exist: " + has + " so far"};
    return Error{ExitCode::bad_input, who + " does not exist: " + has};
}

}  // namespace wq::manager::report
