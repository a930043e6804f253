#include "programs/runtask/running_lines.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/units.h"

namespace wq::programs::runtask {

namespace {

using shared_list::text::TryEnd;

// A terminal's key reaches the line and us; the line may be faster.
constexpr Duration signals_together = std::chrono::milliseconds(50);
constexpr std::array stop_codes{128 + SIGHUP, 128 + SIGINT, 128 + SIGTERM};

// As the user went there, by symbolic links perhaps.
std::string first_directory() {
    const char* const logical = std::getenv("PWD");
    std::error_code problem;
    if (logical != nullptr && std::filesystem::equivalent(logical, ".", problem)) return logical;
    return std::filesystem::current_path(problem).string();
}

}  // namespace

RunningLines::RunningLines(const Options& options, Terminal& terminal, WorkerShell& shell, SignalWatch& watch,
                           std::function<void(const std::string&)> say)
    : options_(options),
      terminal_(terminal),
      shell_(shell),
      watch_(watch),
      say_(std::move(say)),
      directory_(first_directory()) {}

bool RunningLines::has_room() const {
    return !terminal_.is_broken() && !shell_left_ && !lapsed_ && !environment_ &&
           lines_.size() < options_.jobs && shell_.ready();
}

bool RunningLines::must_stop() const {
    return watch_.stopped() || terminal_.is_broken();
}

void RunningLines::begin(const shared_list::text::Choice& choice) {
    if (choice.environment) return begin_environment(choice.number, std::nullopt);
    const shared_list::text::MarkedLine& line = member_->list().list().line(choice.number);
    const TaskKey key = ++keys_;
    lines_[key] = {choice.number, line.tries.back().begun, line.command, {}, options_.retries};
    if (choice.replay == 0) return begin_task(key);
    begin_environment(choice.replay, key);
}

void RunningLines::begin_environment(std::uint64_t number, std::optional<TaskKey> waiter) {
    const std::string& line = member_->list().list().line(number).command;
    environment_ = {number, waiter};
    terminal_.line_begins(member_->id(), directory_, line);
    shell_.begin_environment(line);
}

void RunningLines::begin_task(TaskKey key) {
    Running& line = lines_.at(key);
    line.directory = directory_;
    // Lines that run side by side are shown when they have ended, with their output.
    if (options_.jobs == 1) terminal_.line_begins(member_->id(), directory_, line.line);
    shell_.begin_task(key, line.line);
}

Result<std::vector<ShellEvent>> RunningLines::take_events(Instant now) {
    note_lapse();  // a line that has not begun must not begin
    auto events = shell_.take_events(now);
    if (events) note_lapse();
    return events;
}

RunningLines::Waiter RunningLines::end_environment(const LineAnswer& answer) {
    const Environment ended = std::exchange(environment_, std::nullopt).value_or(Environment{});
    directory_ = answer.directory;
    if (const int code = answer.exit_code; code != 0) {
        terminal_.line_ended(member_->id(), ended.number, "#error" + std::to_string(code));
        if (!std::exchange(said_failing_, true) && !terminal_.is_broken())
            say_("line " + std::to_string(ended.number) + " (#!) failed with exit code " +
                 std::to_string(code) + "; lines below it run anyway");
    }
    if (!ended.waiter) return Waiter::none;
    begin_task(*ended.waiter);
    return Waiter::began;
}

void RunningLines::note_exit(int exit_code) {
    const Environment ended = std::exchange(environment_, std::nullopt).value_or(Environment{});
    shell_left_ = true;
    if (must_stop()) return;
    say_("line " + std::to_string(ended.number) + " has ended this worker with exit code " +
         std::to_string(exit_code));
    lose_waiter(ended.waiter);
}

void RunningLines::end_task(TaskEnded event) {
    const auto found = lines_.find(event.key);
    if (found == lines_.end()) return;
    Running line = found->second;
    if (event.output.valid()) {
        terminal_.line_begins(member_->id(), line.directory, line.line);
        terminal_.output(event.output.get());
    }
    lines_.erase(found);
    if (line.given_up || is_lost(event)) return end_line(line, TryEnd::lost, 0);
    if (event.timed_out)
        say_("line " + std::to_string(line.number) + " ran longer than " +
             format_duration(*options_.timeout));
    if (tries_again(line, event)) return;
    end_line(line, event.exit_code == 0 ? TryEnd::ok : TryEnd::error, event.exit_code);
}

bool RunningLines::tries_again(Running& line, const TaskEnded& event) {
    if (event.exit_code == 0 || line.retries == 0 || shell_left_ || lapsed_) return false;
    --line.retries;
    terminal_.line_ended(member_->id(), line.number,
                         "#error" + std::to_string(event.exit_code) + ", tried again");
    lines_[++keys_] = line;
    begin_task(keys_);
    return true;
}

// Whether we have killed it, or whoever stops us.
bool RunningLines::is_lost(const TaskEnded& event) const {
    if (lapsed_) return event.exit_code == 128 + SIGKILL;
    // It may have failed for that reason, by SIGPIPE or with an exit code of its own.
    if (event.exit_code != 0 && terminal_.is_broken()) return true;
    if (event.exit_code <= 128) return false;
    if (watch_.stopped()) return true;
    return std::ranges::find(stop_codes, event.exit_code) != stop_codes.end() &&
           watch_.stopped_within(signals_together);
}

void RunningLines::end_line(const Running& line, TryEnd end, int exit_code) {
    const std::string stamp = member_->list().stamp();
    member_->lines().add_end({line.number, member_->id(), line.begun, stamp, end, exit_code, line.line});
    const std::string result = end == TryEnd::ok      ? "#ok"
                               : end == TryEnd::error ? "#error" + std::to_string(exit_code)
                                                      : "#lost";
    terminal_.line_ended(member_->id(), line.number, "# (" + line.begun + " ... " + stamp + ") " + result);
}

void RunningLines::lose_waiter(std::optional<TaskKey> waiter) {
    if (!waiter) return;
    const auto waited = lines_.extract(*waiter);
    end_line(waited.mapped(), TryEnd::lost, 0);
}

// The watch has killed what ran, but there may be lines that no shell has begun yet.
void RunningLines::note_lapse() {
    if (watch_.take_lapsed() && !lapsed_) lapse();
}

// The watch counts waking time only, and the machine may have slept.
void RunningLines::lapse_if_due() {
    if (!lines_.empty() && !lapsed_ && member_->lease().has_lapsed()) lapse();
}

void RunningLines::lapse() {
    say_(
        "this worker gave no sign of life for too long: running lines are killed, since others may take them "
        "over");
    lapsed_ = true;
    if (shell_.tasks() > 0) shell_.kill_all();
    if (environment_) lose_waiter(std::exchange(environment_->waiter, std::nullopt));
}

void RunningLines::end_lapse_if_none_runs() {
    if (lines_.empty()) lapsed_ = false;
}

// Somebody has released them, as it may happen to a worker that was cut off or stopped.
void RunningLines::give_up_taken_away() {
    for (auto& [key, line] : lines_) {
        if (line.given_up || !member_->lines().is_taken_away(line.number, line.begun, line.line)) continue;
        line.given_up = true;
        shell_.end_now(key);
        say_("line " + std::to_string(line.number) + " is killed here, since another worker may run it now");
    }
}

void RunningLines::lose_all() {
    shell_.kill_all();
    for (const auto& [key, line] : lines_) end_line(line, TryEnd::lost, 0);
    lines_.clear();
}

void RunningLines::set_times() {
    const bool may_lapse = !lines_.empty() && !lapsed_ && member_->joined();
    watch_.set_times(may_lapse ? member_->lease().lapses() : std::nullopt, shell_.next());
}

}  // namespace wq::programs::runtask
