#include "manager/report/kept_output.h"

#include <filesystem>

#include "base/read_write.h"
#include "base/units.h"
#include "engine/tasklist/list.h"
#include "manager/run/source.h"
#include "manager/task_table.h"
#include "records/journal/journal.h"
#include "records/journal/records.h"
#include "records/journal/run_status.h"

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

namespace {

class HeaderOnly final : public records::journal::JournalVisitor {
  public:
    void task(const records::journal::TaskRecord&) override {}
    void worker(const records::journal::WorkerRecord&) override {}
    void sample(const records::journal::Sample&) override {}
};

std::optional<records::journal::TaskKey> key_in_list(const std::string& run_directory, TaskId task) {
    if (!ran_a_list(run_directory)) return std::nullopt;
    const std::string text = text_of_file(run_directory + "/list");
    engine::tasklist::ListReader reader("list");
    std::vector<engine::tasklist::Item> items;
    if (!reader.feed(text, items) || !reader.finish(items)) return std::nullopt;
    manager::TaskTable tasks;
    for (const engine::tasklist::Item& item : items)
        if (const auto* line = std::get_if<engine::tasklist::TaskLine>(&item))
            tasks.add_line(line->command, line->line, 0);
    if (task.value() >= tasks.size()) return std::nullopt;
    return tasks.key(task);
}

}  // namespace

// A copy of --each's values looks like a list; only the fingerprint tells them apart.
bool ran_a_list(const std::string& run_directory) {
    HeaderOnly nothing;
    const auto journal = records::journal::scan_journal(run_directory + "/journal", nothing);
    if (!journal) return false;
    const std::string& name = journal->header.list_name;
    run::SourceSpec spec;
    spec.path = name == "stdin" ? "-" : name;
    return spec.fingerprint() == journal->header.source_fingerprint;
}

Result<records::journal::TaskOutput> kept_output(const std::string& run_directory, TaskId task) {
    if (std::filesystem::is_regular_file(run_directory))
        return Error{ExitCode::bad_input,
                     run_directory + " is no run directory; the run directory of a list is LIST.wq"};
    const auto key = key_in_list(run_directory, task);
    auto output = records::journal::read_task_output(run_directory, task, key);
    if (!output || output->attempt != 0) return output;
    if (const Status nothing = check_wrote_nothing(run_directory, task, key); !nothing)
        return nothing.error();
    return output;
}

}  // namespace wq::manager::report
