#include "manager/report/summary.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "engine/tasklist/sources.h"

namespace wq::manager::report {

std::string how_to_go_on_with(const StartedAs& started, const std::string& option) {
    const std::vector<std::string>& words = started.command_line;
    // Words after `--` are the user's command.
    const auto end = std::find(words.begin(), words.end(), "--");
    const bool there =
        std::any_of(words.begin(), end, [&](const std::string& word) { return word.starts_with(option); });
    std::string text =
        started.launcher.empty() ? "run: " : "run: the same " + started.launcher + " command with ";
    if (started.by_job_script) {
        text = "submit the job script again";
        if (there) return text;
        text += ", with ";
    }
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (word < end && !there && *word == "--resume") continue;  // --resume-failed replaces it
        text += (word != words.begin() ? " " : "") + engine::tasklist::shell_quote(*word);
        if (word == words.begin() && !there) text += " " + option;
    }
    return text;
}

namespace {

std::uint64_t positive(std::int64_t value) {
    return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

// Control characters from a task must not reach the terminal.
std::string printable(std::string text) {
    for (char& c : text)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F) c = '?';
    return text;
}

std::string indented(const std::string& text) {
    std::string out = "      | ";
    for (const char c : printable(text)) {
        out += c;
        if (c == '\n') out += "      | ";
    }
    return out + "\n";
}

// Failed tasks that failed in an earlier run in this directory.
std::uint64_t failed_earlier(const Summary& summary) {
    std::uint64_t now = summary.failures->of_other_kinds();
    for (const manager::FailureExample& example : summary.failures->kinds()) now += example.count;
    const std::uint64_t all = positive(summary.stats.tasks_failed);
    return all > now ? all - now : 0;
}

bool something_to_mend(const Summary& summary) {
    return summary.stats.tasks_failed > 0 || summary.skipped > 0;
}

// Empty: nothing is left to do.
std::string how_to_go_on_in(const std::string& list) {
    return "Failed and waiting lines are marked in the list: runtask --status " + list + "\n";
}

std::string how_to_go_on(const Summary& summary) {
    if (!summary.shared_list.empty())
        return something_to_mend(summary) || summary.stopped ? how_to_go_on_in(summary.shared_list) : "";
    const bool stopped = summary.stopped ? *summary.stopped != engine::model::StopReason::halted
                                         : summary.code == ExitCode::interrupted;
    if (stopped)
        return "To continue, " + how_to_go_on_with(summary.started, "--resume") +
               (summary.started.by_job_script ? ", unless it requeues itself\n" : "\n");
    if (!something_to_mend(summary)) return "";
    const bool failed = summary.stats.tasks_failed > 0;
    std::string text = std::string(failed ? "To retry, fix the failures and "
                                          : "To continue, fix what prevents tasks from running, and ") +
                       how_to_go_on_with(summary.started, failed ? "--resume-failed" : "--resume");
    if (failed && summary.skipped > 0)
        text += " (also runs the " + format_count(summary.skipped) + " that could not run)";
    return text + "\n";
}

std::string headline(const Summary& summary) {
    const engine::model::ManagerStats& stats = summary.stats;
    const std::uint64_t failed = positive(stats.tasks_failed);
    const std::uint64_t unfinished = positive(stats.tasks_waiting + stats.tasks_on_workers);
    const std::uint64_t succeeded = positive(stats.tasks_done) - failed;
    std::string text = count_of(succeeded, "task") + " succeeded";
    if (const std::uint64_t earlier = summary.succeeded_earlier; earlier > 0)
        text += std::string(" (") + (earlier < succeeded ? format_count(earlier) + " of them " : "") +
                "in an earlier run)";
    text += ", " + format_count(failed) + " failed";
    if (summary.unrecorded > 0)
        text += ", " + format_count(summary.unrecorded) + " ended but could not be recorded";
    if (summary.skipped > 0) text += ", " + format_count(summary.skipped) + " can never run";
    if (unfinished > 0) text += ", " + format_count(unfinished) + " not run";
    const auto elapsed = std::chrono::milliseconds(static_cast<std::int64_t>(summary.seconds * 1000));
    text += " in " + format_duration(elapsed) + " on " + count_of(positive(stats.workers_joined), "worker");
    if (stats.workers_lost > 0) text += " (" + format_count(positive(stats.workers_lost)) + " lost)";
    text += "\n";
    if (summary.unrecorded > 0) text += "--resume runs unrecorded tasks again.\n";
    return text;
}

// The resource that the task exceeded, as a setting.
const char* lacking(const engine::model::Outcome& outcome) {
    const engine::model::Sizes exceeded =
        outcome.measured ? outcome.measured->exceeded : engine::model::Sizes{};
    if (exceeded.disk_mb >= 0) return "disk=SIZE";
    return exceeded.cores >= 0 ? "cores=N" : "memory=SIZE";
}

// Tells the user how to give the task more.
std::string remedy_for(const manager::FailureExample& example) {
    const std::string more = lacking(example.outcome);
    return "      to give the task more, if a worker has more: " +
           (example.line == 0 ? "--" + more
                              : "`#WQ " + more + "` above its line, or " + more + " in `#WQ-CATEGORY " +
                                    example.category + "`") +
           "\n";
}

std::string failures_text(const manager::Failures& failures) {
    std::string text = failures.kinds().empty() ? "" : "Failures, each kind once:\n";
    for (const manager::FailureExample& example : failures.kinds()) {
        text += "  " + manager::place_of(example.task, example.line) +
                (example.host.empty() ? "" : " on " + example.host) + ": " +
                engine::model::describe(example.outcome);
        if (example.attempt > 1) text += ", attempt " + std::to_string(example.attempt);
        if (example.count > 1) text += "; " + format_count(example.count - 1) + " more like it";
        text += "\n      " + line_for_message(example.command) + "\n";
        if (!example.stderr_tail.empty()) text += indented(example.stderr_tail);
        if (engine::model::is_exhaustion(example.outcome.ending)) text += remedy_for(example);
    }
    if (failures.of_other_kinds() > 0)
        text += "  and " + count_of(failures.of_other_kinds(), "failure") + " of other kinds\n";
    if (!failures.environment().empty()) text += "`#!` lines that failed (tasks below them ran anyway):\n";
    for (const manager::EnvironmentExample& example : failures.environment())
        text += "  " + printable(example.line) + ": exit " + std::to_string(example.exit_code) + " on " +
                count_of(example.workers, "worker") + (example.text.empty() ? "" : ": ") +
                printable(example.text) + "\n";
    if (!failures.skipped().empty()) text += "Can never run:\n";
    for (const manager::SkippedExample& example : failures.skipped()) {
        const std::string first = manager::place_of(example.first, example.first_line);
        text += "  " +
                (example.count == 1 ? first : count_of(example.count, "task") + ", the first " + first) +
                ": " + example.reason + "\n";
    }
    if (failures.skipped_for_other_reasons() > 0)
        text += "  and " + count_of(failures.skipped_for_other_reasons(), "task") + " for other reasons\n";
    return text;
}

std::string categories_text(const std::vector<CategoryFigures>& categories) {
    if (categories.empty()) return "";
    std::size_t width = std::string_view("CATEGORY").size();
    for (const CategoryFigures& category : categories) width = std::max(width, category.name.size());
    std::string text =
        left_aligned("CATEGORY", width) + " RUNNING WAITING FIT-WORKERS MAX-CORES MAX-MEMORY MAX-DISK\n";
    for (const CategoryFigures& category : categories)
        text += left_aligned(category.name, width) + right_aligned(std::to_string(category.running), 8) +
                right_aligned(std::to_string(category.waiting), 8) +
                right_aligned(std::to_string(category.fit_workers), 12) +
                right_aligned(category.max_cores, 10) + right_aligned(category.max_memory, 11) +
                right_aligned(category.max_disk, 9) + "\n";
    return text;
}

}  // namespace

const char* name_of(engine::model::StopReason reason) {
    switch (reason) {
        case engine::model::StopReason::interrupted:
            return "interrupted";
        case engine::model::StopReason::out_of_time:
            return "out of time";
        case engine::model::StopReason::halted:
            return "halted at the first failure";
        case engine::model::StopReason::storage:
            return "storage trouble";
    }
    return "stopped";
}

std::vector<CategoryFigures> category_figures(const manager::Manager& manager, bool measured) {
    std::vector<CategoryFigures> all;
    bool any = measured;
    for (std::uint32_t index = 0; index < manager.records().categories().size(); ++index) {
        const CategoryId id(index);
        const engine::model::Category* const known = manager.reactor().category(id);
        const engine::model::ManagerStats stats = manager.stats(id);
        if (known == nullptr || (stats.tasks_submitted == 0 && !known->has_limits())) continue;
        any = any || known->has_limits();
        const auto largest = [&](engine::model::ResourceKind kind) {
            return describe(known->largest(kind), kind);
        };
        using enum engine::model::ResourceKind;
        all.push_back({manager.records().categories()[index], stats.tasks_running, stats.tasks_waiting,
                       manager.reactor().able_workers(id), largest(cores), largest(memory), largest(disk)});
    }
    return any ? all : std::vector<CategoryFigures>{};
}

std::string summary_text(const Summary& summary) {
    std::string text = headline(summary);
    if (summary.stats.tasks_submitted == 0 && !summary.stopped && summary.code == ExitCode::ok)
        text += "There was nothing to run: the list has no tasks.\n";
    if (summary.stats.tasks_exhausted_attempts > 0)
        text += count_of(positive(summary.stats.tasks_exhausted_attempts), "attempt") +
                " exceeded the task's allocation\n";
    if (summary.stopped) text += std::string("The run was stopped: ") + name_of(*summary.stopped) + ".\n";
    if (summary.stopped == engine::model::StopReason::out_of_time &&
        positive(summary.stats.tasks_done - summary.stats.tasks_failed) <= summary.succeeded_earlier)
        text += "No task succeeded: give a longer time limit (no task starts in its last minute).\n";
    if (!summary.plots.empty()) text += "Plots: " + summary.run_directory + "/plots\n";
    if (!summary.report.empty()) text += "Report: " + summary.report + "\n";
    if (summary.outputs_truncated > 0)
        text += "Output of " + count_of(summary.outputs_truncated, "task") + " was cut at " +
                format_size(static_cast<std::int64_t>(summary.output_limit)) +
                "; --output-limit keeps more\n";
    text += categories_text(summary.categories);
    text += failures_text(*summary.failures);
    if (const std::uint64_t earlier = failed_earlier(summary); earlier > 0)
        text += count_of(earlier, "task") + " failed in an earlier run; --resume-failed retries them\n";
    if (summary.stats.tasks_failed > 0 && summary.shared_list.empty())
        text += "Failed lines: " + summary.run_directory + "/failed.sh\n";
    return text + "Results and statistics: " + summary.run_directory + "\n" + how_to_go_on(summary);
}

namespace {

Json failures_json(const manager::Failures& failures) {
    Json all = Json::array();
    for (const manager::FailureExample& example : failures.kinds())
        all.push_back({{"task", example.task.value() + 1},
                       {"line", example.line},
                       {"attempt", example.attempt},
                       {"host", example.host},
                       {"command", example.command},
                       {"category", example.category},
                       {"ending", engine::model::name_of(example.outcome.ending)},
                       {"exit_code", example.outcome.exit_code},
                       {"signal", example.outcome.signal},
                       {"reason", engine::model::describe(example.outcome)},
                       {"stderr_tail", example.stderr_tail},
                       {"count", example.count}});
    return all;
}

}  // namespace

std::string summary_json(const Summary& summary) {
    Json root;
    const engine::model::ManagerStats& stats = summary.stats;
    root["schema"] = 1;
    root["exit_code"] = to_int(summary.code);
    if (summary.stopped) root["stopped"] = name_of(*summary.stopped);
    root["seconds"] = summary.seconds;
    root["tasks"] = {{"submitted", stats.tasks_submitted},
                     {"succeeded", stats.tasks_done - stats.tasks_failed},
                     {"failed", stats.tasks_failed},
                     {"never_ran", summary.skipped},
                     {"not_run", stats.tasks_waiting + stats.tasks_on_workers},
                     {"not_recorded", summary.unrecorded}};
    root["succeeded_earlier"] = summary.succeeded_earlier;
    root["failed_earlier"] = failed_earlier(summary);
    root["attempts"] = summary.attempts;
    root["exhausted_attempts"] = stats.tasks_exhausted_attempts;
    root["output_cut"] = summary.outputs_truncated;
    root["workers"] = {{"joined", stats.workers_joined}, {"lost", stats.workers_lost}};
    root["stale_reports"] = summary.stale_reports;
    root["run_directory"] = summary.run_directory;
    root["plots"] = summary.plots;
    root["report"] = summary.report.empty() ? Json() : Json(summary.report);
    root["failures"] = failures_json(*summary.failures);
    root["categories"] = Json::array();
    for (const CategoryFigures& category : summary.categories)
        root["categories"].push_back({{"name", category.name},
                                      {"running", category.running},
                                      {"waiting", category.waiting},
                                      {"fit_workers", category.fit_workers},
                                      {"max_cores", category.max_cores},
                                      {"max_memory", category.max_memory},
                                      {"max_disk", category.max_disk}});
    root["environment_failures"] = Json::array();
    for (const manager::EnvironmentExample& example : summary.failures->environment())
        root["environment_failures"].push_back({{"line", example.line},
                                                {"exit_code", example.exit_code},
                                                {"text", example.text},
                                                {"workers", example.workers}});
    root["skipped"] = Json::array();
    for (const manager::SkippedExample& example : summary.failures->skipped())
        root["skipped"].push_back({{"reason", example.reason},
                                   {"detail", example.detail},
                                   {"count", example.count},
                                   {"first_task", example.first.value() + 1},
                                   {"first_line", example.first_line}});
    // Commands and stderr may not be UTF-8, but JSON must be.
    return root.dump(2) + "\n";
}

}  // namespace wq::manager::report
