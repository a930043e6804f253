#include "manager/report/failed_list.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/environment_changes.h"
#include "base/units.h"
#include "records/journal/append_file.h"

namespace wq::manager::report {

namespace {

using manager::TaskTable;
using manager::TaskText;

std::string text_of(std::int64_t value) {
    return std::to_string(value);
}
std::string text_of(std::uint32_t value) {
    return std::to_string(value);
}
std::string text_of(Count value) {
    return format_count_with_fraction(value);
}
const std::string& text_of(const std::string& value) {
    return value;
}
std::string text_of(Duration value) {
    constexpr std::int64_t second = 1'000'000'000;
    std::string text = std::to_string(value.count() / second);
    if (value.count() % second == 0) return text;
    text += "." + std::to_string(second + value.count() % second).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
    return text;
}

template <class T>
void put_change(std::string& line, const char* key, const std::optional<T>& before,
                const std::optional<T>& now, const char* unit = "") {
    if (now == before) return;
    line += std::string(" ") + key + "=" + (now ? text_of(*now) + unit : "");
}

void put_paths(std::string& line, const char* key, const std::vector<std::string>& before,
               const std::vector<std::string>& now) {
    if (now == before) return;
    for (const std::string& path : now) line += std::string(" ") + key + "=" + path;
    if (now.empty()) line += std::string(" ") + key + "=";
}

// Returns "#WQ cores=2 time=" and a newline; empty if nothing changes.
std::string settings_line(const engine::tasklist::Settings& before, const engine::tasklist::Settings& now) {
    std::string line;
    put_change(line, "cores", before.cores, now.cores);
    put_change(line, "memory", before.memory_mb, now.memory_mb, "M");
    put_change(line, "disk", before.disk_mb, now.disk_mb, "M");
    put_change(line, "gpus", before.gpus, now.gpus);
    put_change(line, "time", before.time, now.time);
    put_change(line, "min-time", before.min_time, now.min_time);
    put_change(line, "retries", before.retries, now.retries);
    put_change(line, "category", before.category, now.category);
    put_change(line, "batch-environment", before.batch_environment, now.batch_environment);
    put_paths(line, "input", before.inputs, now.inputs);
    put_paths(line, "output", before.outputs, now.outputs);
    return line.empty() ? line : "#WQ" + line + "\n";
}

// Bytes that no list line can contain: a newline, the start of a tag, a byte that the reader refuses.
bool is_unfit(char c) {
    return c == '#' || c == '\\' || (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
}

// A command from a template may not be a valid list line, so it is encoded; any shell can decode it.
std::string as_list_line(const std::string& command) {
    if (std::none_of(command.begin(), command.end(), is_unfit)) return command;
    std::string text = "eval \"$(printf %b '";
    for (const char c : command) {
        if (c == '\'') {
            text += "'\\''";
        } else if (is_unfit(c)) {
            std::array<char, 8> octal{};
            std::snprintf(octal.data(), octal.size(), "\\0%03o", static_cast<unsigned char>(c));
            text += octal.data();
        } else {
            text += c;
        }
    }
    return text + "')\"";
}

std::string command_line(const TaskText& text, const std::string& tags, const std::string& index_variable) {
    std::string line;
    for (const auto& [name, value] : text.variables) {     // variables of lists always have values
        if (name == batch_environment_variable) continue;  // a setting
        line += " " + name + "=" + engine::tasklist::shell_quote(value.value_or(""));
        if (name == engine::tasklist::index_variable_name && !index_variable.empty())
            line += " " + index_variable + "=" + value.value_or("");
    }
    return line.empty() ? text.command + tags : "export" + line + "; " + as_list_line(text.command);
}

// The category lines of these tasks.
std::string category_lines(const TaskTable& tasks, const IntervalSet& failed) {
    std::set<std::string> named;
    if (!tasks.category_lines().empty())
        failed.for_each([&](Interval part) {
            for (std::uint64_t id = part.first; id < part.end; ++id)
                named.insert(tasks.settings(TaskId(id)).category.value_or("default"));
        });
    std::string out;
    for (const auto& [name, line] : tasks.category_lines())
        if (named.contains(name)) out += line + "\n";
    return out;
}

}  // namespace

std::string failed_list(const TaskTable& tasks, const IntervalSet& failed, std::uint64_t skipped,
                        const std::string& list_name, const std::string& index_variable) {
    std::string out = "# " + count_of(failed.count(), "failed task") + " of " + quote_for_message(list_name) +
                      "; this list reruns them.\n";
    if (skipped > 0)
        out += "# Not included: " + count_of(skipped, "task") +
               " that could not run; --resume-failed runs them, too.\n";
    out += category_lines(tasks, failed);
    engine::tasklist::Settings settings;
    std::uint64_t position = 0;
    const auto put = [&](TaskId task) {
        const TaskText text = tasks.text(task);
        for (; position < text.environment_position; ++position)
            out += tasks.environment_lines()[position] + "\n";
        out += settings_line(settings, tasks.settings(task));
        settings = tasks.settings(task);
        out += "# " + manager::place_of(task, text.line) + "\n";
        out += command_line(text, tasks.tags(task), index_variable) + "\n";
    };
    failed.for_each([&](Interval part) {
        for (std::uint64_t id = part.first; id < part.end; ++id) put(TaskId(id));
    });
    return out;
}

namespace {

std::string path_in(const std::string& run_directory) {
    return run_directory + "/never_ran";
}

}  // namespace

// Lines "FIRST LAST REASON"; tasks are numbered from 1, as everywhere.
Status write_never_ran(const std::string& run_directory, const manager::Failures& failures) {
    std::string text;
    for (const manager::SkippedExample& example : failures.skipped())
        example.tasks.for_each([&](Interval part) {
            text +=
                std::to_string(part.first + 1) + " " + std::to_string(part.end) + " " + example.reason + "\n";
        });
    if (!text.empty()) return records::journal::write_atomically(path_in(run_directory), text);
    std::error_code none_there;
    std::filesystem::remove(path_in(run_directory), none_there);
    return success();
}

std::optional<std::string> why_never_ran(const std::string& run_directory, TaskId task) {
    std::ifstream file(path_in(run_directory));
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::string reason;
    while (file >> first >> last && file.ignore() && std::getline(file, reason))
        if (first <= task.value() + 1 && task.value() < last) return reason;
    return std::nullopt;
}

}  // namespace wq::manager::report
