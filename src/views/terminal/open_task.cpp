#include "views/terminal/open_task.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "views/terminal/row_order.h"
#include "views/terminal/texts.h"

namespace wq::views::terminal {

namespace {

using model::RunAttempt;
using model::RunView;

// "TITLE 1.2s" if both ends are known and happened.
void add_span(std::string& line, const char* title, WallMicros from, WallMicros to) {
    if (from == 0 || to == 0) return;
    line += (line.empty() ? "" : ", ") + std::string(title) + " " +
            format_duration(std::chrono::microseconds(std::max<WallMicros>(to - from, 0)));
}

std::string spans_before(const RunAttempt& attempt) {
    std::string line;
    add_span(line, "waited", attempt.ready != 0 ? attempt.ready : attempt.submitted, attempt.dispatched);
    add_span(line, "files in", attempt.dispatched, attempt.inputs_there);
    add_span(line, "start", attempt.inputs_there != 0 ? attempt.inputs_there : attempt.dispatched,
             attempt.started);
    return line.empty() ? "-" : line;
}

std::string spans_after(const RunAttempt& attempt) {
    std::string line;
    add_span(line, "ran", attempt.started, attempt.ended);
    add_span(line, "files out", attempt.ended, attempt.outputs_there);
    add_span(line, "report", attempt.outputs_there != 0 ? attempt.outputs_there : attempt.ended,
             attempt.received);
    return line.empty() ? "-" : line;
}

std::string asked_and_used(std::string asked, std::string used) {
    return std::move(asked) + " allocated, " + std::move(used) + " used";
}

std::string bytes_text(std::int64_t bytes) {
    return bytes < 0 ? "-" : format_size(bytes);
}

std::string resources_of(const RunAttempt& attempt) {
    std::string cores = "-";
    if (attempt.cores_peak >= 0)
        cores = cores_text(attempt.cores_peak);
    else if (attempt.wall_us > 0 && attempt.cpu_us >= 0 && attempt.received != 0)
        cores = fixed(static_cast<double>(attempt.cpu_us) / static_cast<double>(attempt.wall_us), 2);
    return "cores " + asked_and_used(cores_text(attempt.cores), cores);
}

void add_attempt(const RunView& run, const RunAttempt& attempt, WallMicros at, std::vector<TextLine>& lines) {
    const bool runs = attempt.received == 0 || attempt.received > at;
    const std::string ending = runs ? "running" : ending_text(attempt);
    const Colour colour = runs ? Colour::busy : attempt.succeeded() ? Colour::good : Colour::bad;
    lines.push_back({});
    lines.push_back({"Attempt " + std::to_string(attempt.attempt) + ": " + ending, {colour, true}});
    std::string where = host_text(run, attempt.worker);
    if (attempt.worker < run.workers.size() && !run.workers[attempt.worker].address.empty())
        where += " (" + run.workers[attempt.worker].address + ")";
    lines.push_back({"  host        " + where});
    lines.push_back({"  submitted   " + date_text(attempt.submitted)});
    lines.push_back({"  dispatched  " + date_text(attempt.dispatched)});
    lines.push_back({"  began       " + date_text(attempt.started)});
    if (runs) {
        lines.push_back({"  runs for    " + micros_text(run_time_us(attempt, at))});
        lines.push_back({"  cores       " + cores_text(attempt.cores) + " allocated"});
        return;
    }
    lines.push_back({"  ended       " + date_text(attempt.ended)});
    lines.push_back({"  before      " + spans_before(attempt)});
    lines.push_back({"  time        " + spans_after(attempt)});
    lines.push_back({"  processor   " + micros_text(attempt.cpu_us) + "; " + resources_of(attempt)});
    lines.push_back(
        {"  memory      " + asked_and_used(mb_text(attempt.memory_mb), mb_text(attempt.memory_peak_mb))});
    lines.push_back(
        {"  disk        " + asked_and_used(mb_text(attempt.disk_mb), mb_text(attempt.disk_peak_mb))});
    if (attempt.gpus > 0) lines.push_back({"  GPUs        " + cores_text(attempt.gpus) + " allocated"});
    lines.push_back(
        {"  files       " + bytes_text(attempt.bytes_in) + " in, " + bytes_text(attempt.bytes_out) + " out"});
    if (attempt.calls > 1)
        lines.push_back({"  calls       " + format_count(attempt.calls) +
                         " of a range in this row; times are their sums"});
}

}  // namespace

std::vector<TextLine> lines_of_task(const RunView& run, const RunMoment& moment, std::uint64_t task) {
    const auto row =
        std::lower_bound(moment.tasks.begin(), moment.tasks.end(), task,
                         [](const TaskRow& each, std::uint64_t number) { return each.task < number; });
    if (row == moment.tasks.end() || row->task != task)
        return {{"Task " + std::to_string(task) + " was not dispatched yet at this moment."}};
    const RunAttempt& shown = run.attempts[row->shown];
    std::string title = "Task " + std::to_string(task) + ": " + name_of(row->state);
    if (shown.line > 0) title += ", line " + std::to_string(shown.line) + " of the list";
    std::vector<TextLine> lines{{title, {Colour::title, true}},
                                {"  category    " + category_text(run, shown.category)}};
    for (std::uint32_t n = 0; n < row->attempts; ++n)
        add_attempt(run, run.attempts[moment.by_task[row->first + n]], moment.at, lines);
    return lines;
}

}  // namespace wq::views::terminal
