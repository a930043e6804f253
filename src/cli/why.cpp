#include "cli/why.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "app/failures.h"
#include "base/units.h"
#include "cli/kept_output.h"
#include "cli/run_place.h"
#include "cli/why_questions.h"
#include "stats/journal.h"
#include "stats/run_directory.h"
#include "stats/run_status.h"
#include "taskfile/list.h"

namespace wq::cli {

namespace {

// The last that the journal knows of a task.
class LastOf : public stats::JournalVisitor {
  public:
    explicit LastOf(stats::TaskKey key) : key_(key) {}
    void task(const stats::TaskRecord& record) override {
        if (record.key == key_) last = record;
    }
    void worker(const stats::WorkerRecord& record) override { hosts[record.worker.value()] = record.host; }
    void sample(const stats::Sample&) override {}

    std::optional<stats::TaskRecord> last;
    std::unordered_map<std::uint32_t, std::string> hosts;

  private:
    stats::TaskKey key_;
};

// As the run last read them. The values of --each are known by their text alone, as lines are.
Result<app::TaskTable> tasks_of(const std::string& run_directory) {
    const std::string path = run_directory + "/list";
    const auto text = stats::read_whole(path);
    if (!text)
        return Error{
            ExitCode::bad_input,
            run_directory + " holds no copy of a list that was read to its end (of an array there is none)"};
    app::TaskTable tasks;
    if (ran_a_list(run_directory)) {
        taskfile::ListReader reader(path);
        std::vector<taskfile::Item> items;
        if (Status bad = reader.feed(*text, items); !bad) return bad.error();
        if (Status bad = reader.finish(items); !bad) return bad.error();
        for (const taskfile::Item& item : items)
            if (const auto* line = std::get_if<taskfile::TaskLine>(&item))
                tasks.add_line(line->command, line->line, 0);
        return tasks;
    }
    std::uint64_t number = 0;
    for (std::string_view rest = *text; !rest.empty();) {
        std::string_view value = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(value.size() + 1, rest.size()));
        ++number;
        if (value.ends_with('\r')) value.remove_suffix(1);
        if (!value.empty()) tasks.add_line(value, number, 0);
    }
    return tasks;
}

std::string how_it_ended(const stats::TaskRecord& record, const std::string& host) {
    return core::describe(record.outcome) + ", as attempt " + std::to_string(record.attempt) +
           (host.empty() ? "" : " on " + host) + " with " + core::describe(record.given) + ", in " +
           format_duration(std::chrono::microseconds(record.outcome.wall_us));
}

// What is not final was not the last word only where the run did not come to its own end.
std::string what_became_of_it(bool final, const std::string& run_directory) {
    if (final) return "it has ended: ";
    const auto status = stats::read_status(run_directory);
    const bool over = status && status->state != "running" && status->state != "interrupted";
    return over ? "no worker that could hold it was left to try it again, after "
                : "it was to be tried again, after ";
}

Error no_such_task(const std::string& run_directory, std::uint64_t line) {
    return {ExitCode::bad_input,
            run_directory + ": no task stands in line " + std::to_string(line) + " of what this run read"};
}

Result<std::string> from_journal(const std::string& run_directory, std::uint64_t line) {
    const auto tasks = tasks_of(run_directory);
    if (!tasks) return tasks.error();
    for (std::uint64_t id = 0; id < tasks->size(); ++id) {
        if (tasks->line(TaskId(id)) != line) continue;
        LastOf known(tasks->key(TaskId(id)));
        if (const auto journal = stats::scan_journal(run_directory + "/journal", known); !journal)
            return journal.error();
        const std::string place = app::place_of(TaskId(id), line) + ": ";
        if (!known.last) {
            const auto status = stats::read_status(run_directory);
            const bool cut_off = status && status->state == "running";
            return place + "it was not run" +
                   (!status                          ? ""
                    : cut_off                        ? ": the run was cut off"
                    : status->state == "interrupted" ? ": the run was interrupted"
                                                     : ": one that it waits for failed, or no worker could "
                                                       "hold it");
        }
        const auto host = known.hosts.find(known.last->worker.value());
        const std::string ended = how_it_ended(*known.last, host == known.hosts.end() ? "" : host->second);
        return place + what_became_of_it(known.last->final, run_directory) + ended;
    }
    return no_such_task(run_directory, line);
}

// How long the manager of a run may take to answer; 0: there is none. On file systems whose locks are not
// seen by other hosts only its status tells that it lives.
Duration patience_with(const std::string& run_directory) {
    constexpr auto still_fresh = std::chrono::minutes(1);
    if (stats::RunDirectory::is_taken(run_directory)) return std::chrono::seconds(20);
    const auto status = stats::read_status(run_directory);
    if (!status || status->state != "running") return {};
    std::error_code unknown;
    const auto written = std::filesystem::last_write_time(run_directory + "/status", unknown);
    const bool fresh = !unknown && std::filesystem::file_time_type::clock::now() - written < still_fresh;
    return fresh ? std::chrono::seconds(5) : Duration{};
}

}  // namespace

Result<std::string> why(const RunOptions& options, std::uint64_t line) {
    RunOptions newest = options;
    newest.resume = true;
    const std::string path =
        choose_run_directory(newest, batch_job_id([](const char* name) { return std::getenv(name); }));
    if (!stats::read_status(path)) return Error{ExitCode::bad_input, path + " is no directory of a run"};
    const Duration patience = patience_with(path);
    if (patience == Duration{}) return from_journal(path, line);
    const auto goes_on = [&] {
        const auto status = stats::read_status(path);
        return stats::RunDirectory::is_taken(path) || (status && status->state == "running");
    };
    auto answer = ask_why(path, line, patience, goes_on);
    if (!answer && answer.error().code == ExitCode::unreachable && !stats::RunDirectory::is_taken(path))
        return from_journal(path, line);
    if (!answer) return answer;
    if (answer->starts_with('?')) return no_such_task(path, line);
    // The manager forgets how; the journal knows, once the list's copy is there.
    if (!answer->ends_with(": it has ended")) return answer;
    const auto ended = from_journal(path, line);
    return ended ? ended : answer;
}

}  // namespace wq::cli
