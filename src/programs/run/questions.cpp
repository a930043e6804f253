#include "programs/run/questions.h"

#include <filesystem>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "base/units.h"
#include "engine/tasklist/list.h"
#include "factory/found_managers.h"
#include "manager/failures.h"
#include "manager/report/failed_list.h"
#include "manager/report/kept_output.h"
#include "manager/report/live_report.h"
#include "manager/report/progress.h"
#include "net/frames/contact.h"
#include "node/machine/batch_job.h"
#include "programs/run/run_place.h"
#include "records/journal/append_file.h"
#include "records/journal/journal.h"
#include "records/journal/run_directory.h"
#include "records/journal/run_status.h"

namespace wq::programs::run {

namespace {

constexpr Duration answer_limit = std::chrono::seconds(10);

manager::report::RunProgress view_of(const std::string& run, const net::messages::StatusReport& said) {
    manager::report::RunProgress view;
    view.run = run;
    view.live = true;
    view.status.state = said.ending ? "ending" : "running";
    engine::model::ManagerStats& tasks = view.status.tasks;
    const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    tasks.tasks_submitted = count(said.submitted);
    tasks.tasks_done = count(said.done + said.failed);
    tasks.tasks_failed = count(said.failed);
    tasks.tasks_running = count(said.running);
    for (const net::messages::TasksOfShape& shape : said.shapes)
        tasks.tasks_on_workers += count(shape.on_workers);
    tasks.tasks_waiting = tasks.tasks_submitted - tasks.tasks_done - tasks.tasks_on_workers;
    if (said.ended_in_1000_s >= 0)
        view.status.tasks_per_second = static_cast<double>(said.ended_in_1000_s) / 1000;
    if (said.elapsed_us > 0) view.elapsed = std::chrono::microseconds(said.elapsed_us);
    return view;
}

Result<manager::report::RunProgress> view_by_contact(const std::string& path, const std::string& directory) {
    const auto contact = net::frames::read_contact(path);
    if (!contact) {
        const auto text = records::journal::read_whole(path);
        if (text && net::frames::parse_contact(*text)) return contact.error();
        return Error{ExitCode::bad_input, path + ": no run of this list: there is no directory " + directory +
                                              "; if the run has another directory, give that directory"};
    }
    const auto said =
        std::move(wq::factory::ask_status({net::frames::dial_options(*contact)}, answer_limit).front());
    if (said) return view_of(path, *said);
    return Error{said.error().code,
                 path + ": " + said.error().message + "; the contact file is left over if its run has ended"};
}

}  // namespace

Result<std::string> contact_of_run(const std::string& run) {
    std::error_code unknown;
    const bool is_file = std::filesystem::is_regular_file(run, unknown);
    if (is_file && net::frames::read_contact(run)) return run;
    const std::string directory = directory_of_run(run);
    const auto view = manager::report::view_of_directory(directory);
    if (!view) return view.error();
    if (std::filesystem::exists(directory + "/contact", unknown)) return directory + "/contact";
    return Error{
        ExitCode::unreachable,
        directory + (view->live
                         ? ": this run answers no queries: start the run with --listen"
                         : ": this run has ended; leave out the mode (such as -T) to see how the run ended")};
}

Result<std::string> run_status(const std::string& run, bool json) {
    std::error_code unknown;
    const bool is_file = std::filesystem::is_regular_file(run, unknown);
    const std::string directory = directory_of_run(run);
    const auto view = is_file && !records::journal::read_status(directory)
                          ? view_by_contact(run, directory)
                          : manager::report::view_of_directory(directory);
    if (!view) return view.error();
    return json ? manager::report::view_json(*view) : manager::report::view_text(*view);
}

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
    return status && records::journal::may_be_live(run_directory, *status) ? std::chrono::seconds(5)
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
