#include "programs/run/why.h"

#include <filesystem>
#include <optional>
#include <unordered_map>

#include "base/next_line.h"
#include "base/units.h"
#include "engine/tasklist/list.h"
#include "manager/failures.h"
#include "manager/report/kept_output.h"
#include "manager/report/never_ran.h"
#include "manager/report/run_view.h"
#include "manager/report/why_questions.h"
#include "node/machine/batch_share.h"
#include "programs/run/run_place.h"
#include "records/journal/journal.h"
#include "records/journal/run_directory.h"
#include "records/journal/run_status.h"

namespace wq::programs::run {

namespace {

// A task's last record in the journal.
class LastOf : public records::journal::JournalVisitor {
  public:
    explicit LastOf(records::journal::TaskKey key) : key_(key) {}
    void task(const records::journal::TaskRecord& record) override {
        if (record.key == key_) last = record;
    }
    void worker(const records::journal::WorkerRecord& record) override {
        hosts[record.worker.value()] = record.host;
    }
    void sample(const records::journal::Sample&) override {}

    std::optional<records::journal::TaskRecord> last;
    std::unordered_map<std::uint32_t, std::string> hosts;

  private:
    records::journal::TaskKey key_;
};

// The tasks as last read by the run. Values of --each are matched by their text, like lines.
Result<manager::TaskTable> tasks_of(const std::string& run_directory) {
    const std::string path = run_directory + "/list";
    const auto text = records::journal::read_whole(path);
    std::error_code unknown;
    if (!text)
        return Error{ExitCode::bad_input,
                     run_directory + (std::filesystem::exists(path + ".part", unknown)
                                          ? ": the run ended before it had read its list"
                                          : " holds no copy of a list (runs of arrays have none)")};
    manager::TaskTable tasks;
    if (manager::report::ran_a_list(run_directory)) {
        engine::tasklist::ListReader reader(path);
        std::vector<engine::tasklist::Item> items;
        if (Status fed = reader.feed(*text, items); !fed) return fed.error();
        if (Status finished = reader.finish(items); !finished) return finished.error();
        for (const engine::tasklist::Item& item : items)
            if (const auto* line = std::get_if<engine::tasklist::TaskLine>(&item))
                tasks.add_line(line->command, line->line, 0);
        return tasks;
    }
    std::uint64_t number = 0;
    for (std::string_view rest = *text; !rest.empty();) {
        std::string_view value = next_line(rest);
        ++number;
        if (value.ends_with('\r')) value.remove_suffix(1);
        if (!value.empty()) tasks.add_line(value, number, 0);
    }
    return tasks;
}

std::string how_it_ended(const records::journal::TaskRecord& record, const std::string& host) {
    const engine::model::Outcome& outcome = record.outcome;
    const bool ran =
        outcome.ending == engine::model::Ending::exited || outcome.ending == engine::model::Ending::signalled;
    return (outcome.succeeded() ? "succeeded" : engine::model::describe(outcome)) +
           (ran ? " in " + format_duration(std::chrono::microseconds(outcome.wall_us)) : "") +
           (host.empty() ? "" : " on " + host) + " (attempt " + std::to_string(record.attempt) + ", " +
           engine::model::describe(record.given) + ")";
}

// A record that is not final means a retry, unless the run has ended normally.
std::string what_became_of_it(bool final, const std::string& run_directory) {
    if (final) return "";
    const auto status = records::journal::read_status(run_directory);
    const bool over = status && status->state != "running" && status->state != "interrupted";
    return over ? "it was not retried, since no worker large enough was left; its last attempt: "
                : "it was waiting to be retried; its last attempt: ";
}

std::string why_not_run(const records::journal::RunStatus& status) {
    if (status.state == "running") return "the run was killed";
    if (status.state == "interrupted" && status.message.empty()) return "the run was interrupted";
    if (!status.message.empty()) return "the run was stopped: " + status.message;
    return manager::report::some_skip;
}

Error no_such_task(const std::string& run_directory, std::uint64_t line) {
    return {ExitCode::bad_input,
            run_directory + ": line " + std::to_string(line) +
                " of the list held no task when the run read it (lines also count comments)"};
}

Result<std::string> from_journal(const std::string& run_directory, std::uint64_t line) {
    const auto tasks = tasks_of(run_directory);
    if (!tasks) return tasks.error();
    for (std::uint64_t id = 0; id < tasks->size(); ++id) {
        if (tasks->line(TaskId(id)) != line) continue;
        LastOf known(tasks->key(TaskId(id)));
        if (const auto journal = records::journal::scan_journal(run_directory + "/journal", known); !journal)
            return journal.error();
        const std::string place = manager::place_of(TaskId(id), line) + ": ";
        if (!known.last) {
            const auto status = records::journal::read_status(run_directory);
            const auto reason = manager::report::why_never_ran(run_directory, TaskId(id));
            return place + "not run" + (reason ? ": " + *reason : status ? ": " + why_not_run(*status) : "");
        }
        const auto host = known.hosts.find(known.last->worker.value());
        const std::string ended = how_it_ended(*known.last, host == known.hosts.end() ? "" : host->second);
        return place + what_became_of_it(known.last->final, run_directory) + ended;
    }
    return no_such_task(run_directory, line);
}

// Time limit for the answer of a run's manager; 0: it does not run.
Duration answer_timeout(const std::string& run_directory) {
    if (records::journal::RunDirectory::is_taken(run_directory)) return std::chrono::seconds(20);
    const auto status = records::journal::read_status(run_directory);
    return status && manager::report::may_be_live(run_directory, *status) ? std::chrono::seconds(5)
                                                                          : Duration{};
}

}  // namespace

Result<std::string> why(const RunOptions& options, std::uint64_t line) {
    RunOptions newest = options;
    newest.resume = true;
    const std::string path =
        choose_run_directory(newest, node::machine::batch_job(node::machine::batch_environment()));
    if (!records::journal::read_status(path))
        return Error{ExitCode::bad_input,
                     path + " is no directory of a run; give the task list of a run, or its --run-dir"};
    const Duration timeout = answer_timeout(path);
    if (timeout == Duration{}) return from_journal(path, line);
    const auto goes_on = [&] {
        const auto status = records::journal::read_status(path);
        return records::journal::RunDirectory::is_taken(path) || (status && status->state == "running");
    };
    auto answer = manager::report::ask_why(path, line, timeout, goes_on);
    if (!answer && answer.error().code == ExitCode::unreachable &&
        !records::journal::RunDirectory::is_taken(path))
        return from_journal(path, line);
    if (!answer) return answer;
    if (answer->starts_with('?')) return no_such_task(path, line);
    // The manager does not keep how a task ended, but the journal does, once the copy of the list exists.
    if (!answer->ends_with(": it has ended")) return answer;
    const auto ended = from_journal(path, line);
    return ended ? ended : answer;
}

}  // namespace wq::programs::run
