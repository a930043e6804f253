#include "views/report/text_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "base/units.h"
#include "views/report/advice.h"
#include "views/report/amounts.h"

namespace wq::views::report {

namespace {

using model::AccountLine;
using model::CoreTime;

// As many rows as all sections together leave room for.
constexpr std::size_t most_account_rows = 8;
constexpr std::size_t most_categories = 4;
constexpr std::size_t most_hosts = 3;
constexpr std::size_t most_failures = 3;
constexpr std::size_t most_slow_rows = 3;
constexpr std::size_t most_advice_lines = 6;
constexpr std::size_t longest_name = 20;

// "Hosts", or "Hosts (3 of 20)".
std::string heading(const std::string& title, std::size_t shown, std::size_t all) {
    if (shown >= all) return title;
    return title + " (" + format_count(shown) + " of " + format_count(all) + ")";
}

std::string without_end_blanks(std::string line) {
    line.resize(line.find_last_not_of(' ') + 1);
    return line;
}

std::string join(const std::vector<std::string>& words, const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
}

std::string cores_text(std::int64_t thousandths) {
    const Count cores = Count::of_thousandths(thousandths);
    return cores.is_whole() ? format_count(static_cast<std::uint64_t>(cores.rounded_down()))
                            : format_count_with_fraction(cores);
}

std::string rate_text(double tasks_per_second) {
    if (tasks_per_second > 0 && tasks_per_second < 0.1)
        return short_decimal(tasks_per_second * 3600) + " tasks/h";
    return decimal(tasks_per_second, tasks_per_second < 10 ? 2 : 0) + " tasks/s";
}

Lines head_of(const ReportedRun& reported) {
    const RunFigures& figures = reported.figures;
    const model::RunView& run = reported.run;
    std::vector<std::string> tasks{count_of(figures.tasks_succeeded, "task") + " succeeded",
                                   format_count(figures.tasks_failed) + " failed"};
    if (figures.tasks_left > 0)
        tasks.push_back(format_count(static_cast<std::uint64_t>(figures.tasks_left)) + " left");
    tasks.push_back(rate_text(figures.tasks_per_second));
    Lines lines{shown_name(run.title, 60) + ": " + join(tasks, ", "), "  " + when_of(reported)};
    std::vector<std::string> where{count_of(figures.hosts.size(), "host"),
                                   count_of(run.workers.size(), "worker"),
                                   cores_text(figures.most_cores) + " cores at most at once"};
    if (!run.host.empty()) where.push_back("manager on " + shown_name(run.host, longest_name));
    lines.push_back("  " + join(where, ", "));
    std::vector<std::string> attempts{count_of(figures.attempts, "attempt") + ", " +
                                      format_count(figures.attempts_failed) + " failed"};
    if (figures.attempts_running > 0) attempts.push_back(format_count(figures.attempts_running) + " running");
    if (figures.tasks_never_ran > 0)
        attempts.push_back(count_of(figures.tasks_never_ran, "task") + " never ran");
    lines.push_back("  " + join(attempts, ", ") + "; read from " + shown_name(run.path, 60));
    return lines;
}

std::string bar_of(double percent) {
    constexpr double width = 25;
    return std::string(static_cast<std::size_t>(std::lround(std::clamp(percent, 0.0, 100.0) * width / 100)),
                       '#');
}

std::string account_row(const std::string& title, CoreTime time, CoreTime offered, const CoreUnit& unit) {
    const double percent = percent_of(time, offered);
    return "  " + left_aligned(title, 32) + right_aligned(unit.text(time), 12) +
           right_aligned(percent_text(percent), 9) + "  " + bar_of(percent);
}

// As seff and jobstats print it.
std::string use_of_cores(const RunFigures& figures) {
    double allocated = 0;
    double used = -1;
    for (const CategoryFigures& each : figures.categories) {
        allocated += each.core_seconds;
        if (each.used_core_seconds >= 0) used = std::max(used, 0.0) + each.used_core_seconds;
    }
    if (used < 0 || allocated <= 0) return "";
    return "; tasks used " + percent_text(100 * used / allocated) + " of their cores";
}

// Lines of 0 are left out; of many, the smallest are one row.
Lines account_of_run(const ReportedRun& reported) {
    const model::Account& account = reported.account;
    if (account.offered == 0) return {"Core time: the workers' cores are not recorded"};
    const CoreUnit unit(account.offered);
    std::vector<std::pair<CoreTime, AccountLine>> rows;
    for (std::size_t n = 0; n < account.lines.size(); ++n)
        if (account.lines[n] > 0) rows.emplace_back(account.lines[n], static_cast<AccountLine>(n));
    auto by_size = rows;
    std::stable_sort(by_size.begin(), by_size.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    const std::size_t shown = rows.size() > most_account_rows ? most_account_rows - 1 : rows.size();
    const CoreTime least = shown == 0 ? 0 : by_size[shown - 1].first;
    const CoreTime wasted = account.offered - account.at(AccountLine::useful);
    Lines lines{"Core time: " + unit.text(account.offered) + " " + unit.name() + " offered, " +
                percent_text(percent_of(account.at(AccountLine::useful), account.offered)) + " useful, " +
                unit.text(wasted) + " not" + use_of_cores(reported.figures)};
    CoreTime rest = account.offered;
    std::size_t written = 0;
    for (const auto& [time, line] : rows) {
        if (time < least || written == shown) continue;
        lines.push_back(account_row(model::title_of(line), time, account.offered, unit));
        rest -= time;
        ++written;
    }
    if (rest > 0)
        lines.push_back(
            account_row(count_of(rows.size() - shown, "further line"), rest, account.offered, unit));
    if (account.above_allocation > 0)
        lines.push_back("  besides, tasks used " + unit.text(account.above_allocation) + " " + unit.name() +
                        " above their allocation");
    return lines;
}

std::string row_of(const std::vector<std::pair<std::string, std::size_t>>& cells) {
    std::string row = "  ";
    for (const auto& [text, width] : cells)
        row += row.size() == 2 ? left_aligned(text, width) : right_aligned(text, width);
    return row;
}

Lines categories_of(const RunFigures& figures) {
    const std::size_t shown = std::min(figures.categories.size(), most_categories);
    if (shown == 0) return {};
    Lines lines{row_of({{heading("Categories", shown, figures.categories.size()), longest_name + 2},
                        {"attempts", 10},
                        {"failed", 8},
                        {"median", 8},
                        {"95 %", 8},
                        {"longest", 8},
                        {"cores", 6},
                        {"busy", 6},
                        {"memory", 10},
                        {"used", 11}})
                    .substr(2)};
    for (std::size_t n = 0; n < shown; ++n) {
        const CategoryFigures& each = figures.categories[n];
        const Spread& wall = each.wall_seconds;
        const Spread& cores = each.cores.asked;
        const Spread& busy = each.cores.used;
        const Spread& memory = each.memory_mb.asked;
        const Spread& used = each.memory_mb.used;
        lines.push_back(row_of({{shown_name(each.name, longest_name), longest_name},
                                {format_count(each.attempts), 10},
                                {format_count(each.failed()), 8},
                                {text_of(wall, wall.median, duration_text), 8},
                                {text_of(wall, wall.percentile_95, duration_text), 8},
                                {text_of(wall, wall.most, duration_text), 8},
                                {text_of(cores, cores.median, short_decimal), 6},
                                {text_of(busy, busy.median, short_decimal), 6},
                                {text_of(memory, memory.median, memory_text), 10},
                                {text_of(used, used.most, memory_text), 11}}));
    }
    return lines;
}

// The least busy first.
Lines hosts_of(const RunFigures& figures) {
    const std::size_t shown = std::min(figures.hosts.size(), most_hosts);
    if (shown == 0) return {};
    const auto share = [](double part, const HostFigures& host) {
        return host.offered_core_seconds <= 0 || part < 0
                   ? "-"
                   : decimal(std::min(999.0, 100 * part / host.offered_core_seconds), 0) + " %";
    };
    std::vector<const HostFigures*> hosts;
    for (const HostFigures& host : figures.hosts) hosts.push_back(&host);
    std::stable_sort(hosts.begin(), hosts.end(), [](const HostFigures* a, const HostFigures* b) {
        return a->core_seconds * b->offered_core_seconds < b->core_seconds * a->offered_core_seconds;
    });
    Lines lines{row_of({{heading(shown < hosts.size() ? "Least busy" : "Hosts", shown, hosts.size()),
                         longest_name + 2},
                        {"attempts", 10},
                        {"failed", 8},
                        {"workers", 8},
                        {"allocated", 11},
                        {"used", 7},
                        {"mean time", 11},
                        {"of other hosts", 15}})
                    .substr(2)};
    for (std::size_t n = 0; n < shown; ++n) {
        const HostFigures& host = *hosts[n];
        lines.push_back(
            row_of({{shown_name(host.name, longest_name), longest_name},
                    {format_count(host.attempts), 10},
                    {format_count(host.failed), 8},
                    {format_count(host.workers), 8},
                    {share(host.core_seconds, host), 11},
                    {share(host.used_core_seconds, host), 7},
                    {host.mean_wall_seconds > 0 ? duration_text(host.mean_wall_seconds) : "-", 11},
                    {host.slowness > 0 ? short_decimal(host.slowness) + " x" : "-", 15}}));
    }
    return lines;
}

Lines failures_of(const RunFigures& figures) {
    const std::size_t shown = std::min(figures.failures.size(), most_failures);
    if (shown == 0) return {};
    Lines lines{heading("Failures", shown, figures.failures.size())};
    for (std::size_t n = 0; n < shown; ++n) {
        const FailureGroup& group = figures.failures[n];
        std::vector<std::string> tasks;
        std::string said;
        for (const FailureExample& each : group.examples) {
            tasks.push_back(shown_task(each.task, each.line));
            const std::size_t last = each.stderr_end.rfind('\n', each.stderr_end.find_last_not_of('\n'));
            if (said.empty()) said = each.stderr_end.substr(last == std::string::npos ? 0 : last + 1);
        }
        while (said.ends_with('\n')) said.pop_back();
        if (said.empty() && group.examples.size() == most_examples && group.attempts > most_examples)
            tasks.emplace_back("...");
        if (!said.empty()) tasks.resize(1);  // whose stderr it is, or one much like it
        lines.push_back("  " + right_aligned(format_count(group.attempts), 6) + " x " +
                        left_aligned(describe(group.kind), 20) + "  " + join(tasks, ", ") +
                        (said.empty() ? "" : ": " + line_for_message(said, 60)));
    }
    return lines;
}

Lines slowest_of(const RunFigures& figures) {
    const std::size_t shown = std::min(figures.slowest.size(), most_slow_rows);
    if (shown == 0) return {};
    Lines lines{"Slowest attempts"};
    for (std::size_t n = 0; n < shown; ++n) {
        const SlowAttempt& each = figures.slowest[n];
        lines.push_back("  " + right_aligned(duration_text(each.wall_seconds), 6) + "  " +
                        shown_task(each.task, each.line) + " of " + shown_name(each.category, longest_name) +
                        " on " + shown_name(each.host, longest_name));
        if (!each.command.empty() && lines.back().size() + 20 < most_columns)
            lines.back() += ": " + shown_name(each.command, most_columns - lines.back().size() - 2);
    }
    return lines;
}

Lines advice_lines(const ReportedRun& reported) {
    Lines lines;
    for (const std::string& sentence : advice_of(reported)) {
        const Lines more = wrapped("  * " + sentence, most_columns, 4);
        if (lines.size() + more.size() > most_advice_lines) break;
        lines.insert(lines.end(), more.begin(), more.end());
    }
    if (!lines.empty()) lines.insert(lines.begin(), "Advice");
    return lines;
}

}  // namespace

std::string when_of(const ReportedRun& reported) {
    const model::RunView& run = reported.run;
    if (run.begin == 0) return "its begin is not recorded";
    const auto day = [](WallMicros time) { return local_time(time, "%Y-%m-%d"); };
    const char* const format = day(run.begin) == day(run.end) ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S";
    std::string text = local_time(run.begin, "%Y-%m-%d %H:%M:%S") + " to " + local_time(run.end, format);
    const auto seconds = [](std::int64_t micros) {
        return duration_text(static_cast<double>(micros) / static_cast<double>(micros_per_second));
    };
    text += " (" + seconds(reported.figures.makespan_us);
    const std::int64_t pauses = run.end - run.begin - reported.figures.makespan_us;
    if (run.sessions.size() > 1)
        text += " in " + count_of(run.sessions.size(), "session") + ", pauses " + seconds(pauses);
    return text + ")" + (run.is_live ? ", still running" : "");
}

Lines missing_lines(const std::string& title, const std::vector<std::string>& lacks) {
    constexpr std::size_t most = 2;
    Lines lines;
    std::string text = title;
    for (std::size_t n = 0; n < lacks.size(); ++n) {
        text += (n > 0 ? "; " : "") + line_for_message(lacks[n]);
        const std::size_t rest = lacks.size() - n - 1;
        const std::string end = rest > 0 ? " (and " + format_count(rest) + " more: --json)" : "";
        Lines longer = wrapped(text + end, most_columns, 2);
        if (longer.size() > most && n > 0) break;
        lines = std::move(longer);
    }
    if (lines.size() > most) lines.resize(most);
    return lines;
}

std::string text_of_sections(const std::vector<Lines>& sections, std::size_t most) {
    std::size_t size = 0;
    std::size_t separated = 0;
    for (const Lines& section : sections) {
        size += section.size();
        separated += section.empty() ? 0 : section.size() + 1;
    }
    const bool is_loose = size == 0 || separated - 1 <= most;
    std::string text;
    std::size_t written = 0;
    for (const Lines& section : sections) {
        if (is_loose && !text.empty() && !section.empty()) text += '\n';
        for (const std::string& line : section)
            if (is_loose || ++written <= most)
                text += without_end_blanks(line_for_message(line, most_columns)) + "\n";
    }
    return text;
}

std::string text_report(const ReportedRun& reported) {
    const RunFigures& figures = reported.figures;
    const Lines head = head_of(reported);
    if (reported.run.attempts.empty() && reported.account.offered == 0)
        return text_of_sections(
            {head, {"Nothing has run yet."}, missing_lines("Missing: ", reported.run.lacks)});
    return text_of_sections({head, account_of_run(reported), categories_of(figures), hosts_of(figures),
                             failures_of(figures), slowest_of(figures), advice_lines(reported),
                             missing_lines("Missing: ", reported.run.lacks)});
}

}  // namespace wq::views::report
