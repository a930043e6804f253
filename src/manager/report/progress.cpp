#include "manager/report/progress.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "node/process/process_tree.h"
#include "records/journal/run_directory.h"

namespace wq::manager::report {

namespace {

Duration between_looks(ProgressLine::Style style, Duration elapsed = Duration{0}) {
    if (style == ProgressLine::Style::now_and_then)
        return std::chrono::seconds(elapsed < std::chrono::minutes(1) ? 10 : 60);
    if (style == ProgressLine::Style::every_second) return std::chrono::seconds(1);
    return std::chrono::milliseconds(200);
}

constexpr double recent_seconds = 5;  // the rate covers about this much of the past
constexpr double least_rate = 0.05;   // nothing has ended lately: a lower one tells nothing

constexpr double longest_guess = 10 * 365 * 86400.0;  // seconds; a run without progress has no estimated end

std::string whole_seconds(double value) {
    const auto seconds = static_cast<std::int64_t>(value);
    return seconds < 10 ? std::to_string(seconds) + "s" : format_duration(std::chrono::seconds(seconds));
}

pid_t parent_of(pid_t process) {
    return node::process::facts_of(process).value_or(node::process::ProcessFacts{}).parent;
}

bool is_terminal(const std::string& path) {
    std::array<char, 256> target{};
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size() - 1);
    if (size <= 0) return false;
    const std::string_view name(target.data(), static_cast<std::size_t>(size));
    return name.starts_with("/dev/pts/") || name.starts_with("/dev/tty") || name == "/dev/console";
}

}  // namespace

bool stderr_ends_at_terminal() {
    if (::isatty(STDERR_FILENO) == 1) return true;
    if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr && std::getenv("PMI_RANK") == nullptr) return false;
    // The rank's parent is its guard. The guard's parent is mpirun if rank 0 runs on mpirun's host; with
    // MPICH, it is a proxy whose parent is mpiexec.
    static constexpr std::array<std::string_view, 7> launchers{
        "mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"};
    pid_t process = ::getppid();
    for (int generation = 0; generation < 3 && process > 1; ++generation, process = parent_of(process)) {
        std::string command;
        std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), command);
        if (std::find(launchers.begin(), launchers.end(), command) != launchers.end())
            return is_terminal("/proc/" + std::to_string(process) + "/fd/2");
    }
    return false;
}

std::optional<double> seconds_left(const engine::model::ManagerStats& stats, Total total, double rate) {
    const bool goes_on = stats.tasks_on_workers > 0;  // otherwise nobody knows how long the rest waits
    if (total == Total::grows || !goes_on || rate < least_rate) return std::nullopt;
    const double left = std::ceil(static_cast<double>(stats.tasks_waiting + stats.tasks_on_workers) / rate);
    return left < longest_guess ? std::optional(left) : std::nullopt;
}

std::string progress_text(const engine::model::ManagerStats& stats, Total total,
                          std::optional<Duration> elapsed, double rate) {
    const auto number = [](std::int64_t value) {
        return format_count(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)));
    };
    std::string text = number(stats.tasks_done - stats.tasks_failed) + " succeeded, " +
                       number(stats.tasks_failed) + " failed, " + number(stats.tasks_running) +
                       " running of " + number(stats.tasks_submitted) + (total == Total::known ? "" : "+");
    if (total == Total::known && stats.tasks_submitted > 0)
        text += " | " + std::to_string(100 * stats.tasks_done / stats.tasks_submitted) + "%";
    if (rate >= least_rate) {
        std::array<char, 32> shown{};
        std::snprintf(shown.data(), shown.size(), rate < 10 ? "%.1f/s" : "%.0f/s", rate);
        text += std::string(" | ") + shown.data();
    }
    if (const auto left = seconds_left(stats, total, rate)) text += " | " + whole_seconds(*left) + " left";
    if (!elapsed) return text;
    return text + " | " + whole_seconds(std::chrono::duration<double>(*elapsed).count()) + " elapsed";
}

std::string workers_text(const engine::model::WorkerTable& workers) {
    std::uint64_t ranks = 0;
    std::uint64_t others = 0;
    for (const auto& [id, worker] : workers.all())
        if (!worker.disconnected()) ++(worker.watched ? others : ranks);
    std::string text = ranks > 0 ? count_of(ranks, "rank") : "";
    if (others > 0 || ranks == 0) text += (text.empty() ? "" : ", ") + count_of(others, "worker");
    return text;
}

std::string disconnected_text(const engine::model::WorkerTable& workers, Instant now) {
    if (workers.disconnected_count() == 0) return "";
    std::uint64_t tasks = 0;
    std::uint64_t holders = 0;
    Duration longest{0};
    for (const auto& [id, worker] : workers.all()) {
        if (!worker.disconnected() || worker.leases.empty()) continue;
        ++holders;
        tasks += worker.leases.size();
        longest = std::max(longest, *worker.disconnected_until - now);
    }
    if (tasks == 0) return "";
    const std::string who =
        holders == 1 ? "a disconnected worker" : format_count(holders) + " disconnected workers";
    return format_count(tasks) + " on " + who + " (up to " +
           whole_seconds(std::ceil(std::chrono::duration<double>(longest).count())) + " to reconnect)";
}

ProgressLine::ProgressLine(Style style, Instant started)
    : style_(style), started_(started), next_(started + between_looks(style)), rate_(started) {}

std::optional<Instant> ProgressLine::wakeup() const {
    if (style_ == Style::none) return std::nullopt;
    return next_;
}

double RecentRate::update(std::uint64_t ended, Instant now) {
    const double seconds = std::chrono::duration<double>(now - last_at_).count();
    if (seconds <= 0) return rate_;
    const double recent = static_cast<double>(ended - last_ended_) / seconds;
    const double weight = 1 - std::exp(-seconds / recent_seconds);
    rate_ = rate_ < 0 ? recent : rate_ + weight * (recent - rate_);
    last_ended_ = ended;
    last_at_ = now;
    return rate_;
}

void ProgressLine::update(const engine::model::ManagerStats& stats, Total total, std::uint64_t ended,
                          const std::vector<std::string>& more, Instant now) {
    if (style_ == Style::none || now < next_) return;
    next_ = now + between_looks(style_, now - started_);
    if (is_held_) return;
    std::string text = progress_text(stats, total, now - started_, rate_.update(ended, now));
    for (const std::string& part : more) text += part.empty() ? "" : " | " + part;
    write(text);
}

void ProgressLine::write(const std::string& text) {
    if (style_ == Style::rewritten) {
        std::fprintf(stderr, "\r\033[K%s", text.c_str());
        line_open_ = true;
    } else {
        std::fprintf(stderr, "work_queue_run: %s\n", text.c_str());
    }
    std::fflush(stderr);
}

void ProgressLine::print_line(const std::string& text) {
    if (is_held_) return held_.push_back(text);
    std::fprintf(stderr, "%swork_queue_run: %s\n", line_open_ ? "\r\033[K" : "", text.c_str());
    std::fflush(stderr);
    line_open_ = false;
}

void ProgressLine::release() {
    is_held_ = false;
    for (const std::string& line : std::exchange(held_, {})) print_line(line);
}

void ProgressLine::finish(const engine::model::ManagerStats& stats, std::uint64_t ended, Instant now) {
    if (style_ != Style::rewritten && style_ != Style::every_second) return;
    write(progress_text(stats, Total::known, now - started_, rate_.update(ended, now)));
    if (line_open_) std::fputc('\n', stderr);
    line_open_ = false;
}

namespace {

std::string state_of(const RunProgress& view) {
    return view.status.state == "running" && !view.live ? "killed" : view.status.state;
}

Total total_of(const RunProgress& view) {
    return view.status.total_known ? Total::known : Total::grows;
}

// Why it is in that state, and how it goes on.
std::string more_about(const RunProgress& view, const std::string& state) {
    const std::string& why = view.status.message;
    std::string text = why.empty() || why == state ? "" : ", " + why;
    if (state == "killed") text += ", no sign of life for " + format_duration(*view.age);
    if (view.status.exit_code) text += ", exit " + std::to_string(*view.status.exit_code);
    return text + (state == "killed" || state == "interrupted" ? "; --resume continues" : "");
}

}  // namespace

Result<RunProgress> view_of_directory(const std::string& run_directory) {
    auto status = records::journal::read_status(run_directory);
    if (!status)
        return Error{
            ExitCode::bad_input,
            run_directory +
                " is no directory of a run, and no contact file; the run directory of a list is LIST.wq"};
    RunProgress view{run_directory, std::move(*status)};
    view.live = view.status.state == "running" && records::journal::may_be_live(run_directory, view.status);
    view.age = std::chrono::microseconds(std::max<WallMicros>(wall_now() - view.status.written_us, 0));
    const WallMicros end = view.status.ended_us > 0 ? view.status.ended_us : view.status.written_us;
    view.elapsed = std::chrono::microseconds(std::max<WallMicros>(end - view.status.started_us, 0));
    return view;
}

std::string view_text(const RunProgress& view) {
    const std::string state = state_of(view);
    const double rate = view.live ? view.status.tasks_per_second : -1;
    return state + more_about(view, state) + ": " +
           progress_text(view.status.tasks, total_of(view), view.elapsed, rate);
}

std::string view_json(const RunProgress& view) {
    const engine::model::ManagerStats& tasks = view.status.tasks;
    const auto known = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
    const auto seconds = [&](std::optional<Duration> time) {
        return time ? Json(std::chrono::duration<double>(*time).count()) : Json();
    };
    const double rate = view.live ? view.status.tasks_per_second : -1;
    const Json all{
        {"exit_code", view.status.exit_code ? Json(*view.status.exit_code) : Json()},
        {"message", view.status.message},
        {"run", view.run},
        {"schema", 1},
        {"seconds_elapsed", seconds(view.elapsed)},
        {"seconds_left", known(seconds_left(tasks, total_of(view), rate))},
        {"seconds_old", seconds(view.age)},
        {"state", state_of(view)},
        {"tasks",
         {{"failed", tasks.tasks_failed},
          {"running", tasks.tasks_running},
          {"submitted", tasks.tasks_submitted},
          {"succeeded", tasks.tasks_done - tasks.tasks_failed},
          {"waiting", tasks.tasks_waiting}}},
        {"tasks_per_second", known(rate < 0 ? std::nullopt : std::optional(rate))},
        {"total_known", view.status.total_known},
    };
    return all.dump(2);
}

}  // namespace wq::manager::report
