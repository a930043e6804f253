#include "cli/why_questions.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

#include "app/failures.h"
#include "stats/append_file.h"
#include "stats/run_status.h"

namespace wq::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_at_a_look = 100;
// Whoever asked has given up long before.
constexpr auto stale_after = std::chrono::minutes(10);
constexpr std::string_view ask = ".ask";
constexpr std::string_view answer = ".answer";

std::string folder_of(const std::string& run_directory) {
    return run_directory + "/why";
}

// Lines ascend with the tasks.
std::optional<TaskId> task_of_line(const app::TaskTable& tasks, std::uint64_t line) {
    std::uint64_t low = 0;
    std::uint64_t high = tasks.size();
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (tasks.line(TaskId(middle)) < line)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < tasks.size() && tasks.line(TaskId(low)) == line) return TaskId(low);
    return std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > 32)
        return std::nullopt;
    const auto text = stats::read_whole(path);
    std::uint64_t number = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
        return std::nullopt;
    return number;
}

// By the listing, which network file systems read anew; that a name is not there they may believe for long.
bool is_listed(const std::string& folder, const std::string& name) {
    std::error_code none_there;
    for (fs::directory_iterator at(folder, none_there), end; !none_there && at != end;
         at.increment(none_there))
        if (at->path().filename() == name) return true;
    return false;
}

// Of one who was killed while he waited for it, or of ours that we were killed at. By the clock of the host
// of the files, which may be another one.
void remove_if_stale(const fs::path& path, core::Now now) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const WallMicros written = std::int64_t{status.st_mtim.tv_sec} * 1'000'000;
    if (now.wall - written > stale_after / std::chrono::microseconds(1)) ::unlink(path.c_str());
}

Status write_question(const std::string& folder, const std::string& name, std::uint64_t line) {
    Status written = success();
    // Who asked before may take the folder away in between.
    for (int tries = 0; tries < 3; ++tries) {
        if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return stats::write_error(folder, errno);
        written =
            stats::write_atomically(folder + "/" + name + std::string(ask), std::to_string(line), false);
        if (written) break;
    }
    return written;
}

}  // namespace

std::string why_line(const app::Manager& manager, const app::TaskTable& tasks, bool input_ended,
                     std::uint64_t line, core::Now now) {
    const auto task = task_of_line(tasks, line);
    if (!task && !input_ended && (tasks.size() == 0 || tasks.line(TaskId(tasks.size() - 1)) < line))
        return "not now: the manager has yet to read it";
    if (!task) return "?no task stands there";
    const core::Ledger& ledger = manager.reactor().ledger();
    const std::string place = app::place_of(*task, line) + ": ";
    if (task->value() < ledger.size() && ledger.state(*task) == core::TaskState::skipped)
        return place + "never: " +
               manager.failures().why_skipped(*task).value_or(
                   "one that it waits for has failed, or nothing here can run it");
    return place + manager.reactor().why(*task, now);
}

void answer_questions(const std::string& run_directory, const app::Manager& manager,
                      const app::TaskTable& tasks, bool input_ended, core::Now now) {
    std::error_code none_there;
    std::size_t questions = 0;
    for (fs::directory_iterator at(folder_of(run_directory), none_there), end; !none_there && at != end;
         at.increment(none_there)) {
        const std::string path = at->path().string();
        if (!path.ends_with(ask)) {
            remove_if_stale(at->path(), now);
            continue;
        }
        if (questions == most_at_a_look) return;
        const auto line = number_in(path);
        // What cannot be put away is nobody's question.
        if (::unlink(path.c_str()) != 0) continue;
        ++questions;
        if (!line) continue;
        const std::string to = path.substr(0, path.size() - ask.size()) + std::string(answer);
        // Who asks waits for so long and no longer: there is nobody else to be told.
        static_cast<void>(
            stats::write_atomically(to, why_line(manager, tasks, input_ended, *line, now) + "\n", false));
    }
}

Result<std::string> ask_why(const std::string& run_directory, std::uint64_t line, Duration patience,
                            const std::function<bool()>& goes_on) {
    const std::string folder = folder_of(run_directory);
    const std::string name = stats::host_name() + "-" + std::to_string(::getpid());
    const std::string answer_name = name + std::string(answer);
    const std::string answered = folder + "/" + answer_name;
    ::unlink(answered.c_str());
    if (const Status asked = write_question(folder, name, line); !asked) return asked.error();
    const Instant until = instant_now() + patience;
    Result<std::string> text = Error{ExitCode::unreachable, ""};
    // Once more after its end: the answer may have been its last word.
    for (bool there = true; !text && there && instant_now() < until;) {
        there = goes_on();
        // A change by another host is told by no event.
        ::poll(nullptr, 0, 50);
        if (is_listed(folder, answer_name)) text = stats::read_whole(answered);
    }
    ::unlink((folder + "/" + name + std::string(ask)).c_str());
    ::unlink(answered.c_str());
    ::rmdir(folder.c_str());
    if (!text)
        return Error{ExitCode::unreachable,
                     run_directory + ": the manager of the run does not answer; it may be stopped"};
    while (text->ends_with('\n')) text->pop_back();
    return text;
}

}  // namespace wq::cli
