#include "manager/report/live_report.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include "manager/failures.h"
#include "records/journal/append_file.h"

namespace wq::manager::report {

namespace {
constexpr Duration between_statuses = std::chrono::seconds(3);
constexpr Duration between_looks_at_questions = std::chrono::seconds(1);
}  // namespace

LiveReport::LiveReport(Background& background, std::string run_directory, Content content, Instant started)
    : background_(background),
      run_directory_(std::move(run_directory)),
      content_(std::move(content)),
      next_status_(started + between_statuses),
      next_look_(started + between_looks_at_questions) {}

Instant LiveReport::wakeup() const {
    return std::min(next_status_, next_look_);
}

void LiveReport::tick(engine::model::Now now) {
    if (now.instant >= next_status_) {
        next_status_ = now.instant + between_statuses;
        if (!writing_) write_status();
    }
    if (now.instant >= next_look_) {
        next_look_ = now.instant + between_looks_at_questions;
        if (!looking_) look_for_questions(now);
    }
}

// If writing fails, for example on a full disk, the old status stays.
void LiveReport::write_status() {
    writing_ = true;
    background_.post([this, folder = run_directory_, status = content_.status()]() -> Background::Then {
        static_cast<void>(records::journal::write_status(folder, status));
        return [this] { writing_ = false; };
    });
}

void LiveReport::look_for_questions(engine::model::Now now) {
    looking_ = true;
    background_.post([this, folder = run_directory_, now]() -> Background::Then {
        return [this, now, questions = take_questions(folder, now)] {
            looking_ = false;
            if (!questions.empty()) answer(questions, now);
        };
    });
}

void LiveReport::answer(const std::vector<WhyQuestion>& questions, engine::model::Now now) {
    std::vector<std::string> answers;
    for (const WhyQuestion& question : questions) answers.push_back(content_.why(question.line, now));
    background_.post([questions, answers]() -> Background::Then {
        for (std::size_t i = 0; i < questions.size(); ++i) write_answer(questions[i], answers[i]);
        return {};
    });
}

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_at_a_look = 100;
// The asker has given up long before.
constexpr auto stale_after = std::chrono::minutes(10);
constexpr std::string_view ask = ".ask";
constexpr std::string_view answer = ".answer";

std::string folder_of(const std::string& run_directory) {
    return run_directory + "/why";
}

// Line numbers ascend with the tasks.
std::optional<TaskId> task_of_line(const manager::TaskTable& tasks, std::uint64_t line) {
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
    const auto text = records::journal::read_whole(path);
    std::uint64_t number = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
        return std::nullopt;
    return number;
}

// Lists the folder, because network file systems may cache a file's absence for long, but not a listing.
bool is_listed(const std::string& folder, const std::string& name) {
    std::error_code none_there;
    for (fs::directory_iterator at(folder, none_there), end; !none_there && at != end;
         at.increment(none_there))
        if (at->path().filename() == name) return true;
    return false;
}

// Left by a killed asker or manager. The file server's clock measures its age.
void remove_if_stale(const fs::path& path, engine::model::Now now) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const WallMicros written = std::int64_t{status.st_mtim.tv_sec} * 1'000'000;
    if (now.wall - written > stale_after / std::chrono::microseconds(1)) ::unlink(path.c_str());
}

Status write_question(const std::string& folder, const std::string& name, std::uint64_t line) {
    Status written = success();
    // Another asker may remove the folder in between.
    for (int tries = 0; tries < 3; ++tries) {
        if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
            return records::journal::write_error(folder, errno);
        written = records::journal::write_atomically(folder + "/" + name + std::string(ask),
                                                     std::to_string(line), records::journal::Sync::never);
        if (written) break;
    }
    return written;
}

}  // namespace

std::string why_line(const manager::Manager& manager, const manager::TaskTable& tasks, bool input_ended,
                     std::uint64_t line, engine::model::Now now) {
    const auto task = task_of_line(tasks, line);
    if (!task && !input_ended && (tasks.size() == 0 || tasks.line(TaskId(tasks.size() - 1)) < line))
        return "not now: the manager has not read this line yet";
    if (!task) return "?no task there";
    const engine::model::Ledger& ledger = manager.reactor().ledger();
    const std::string place = manager::place_of(*task, line) + ": ";
    const manager::RunRecords& records = manager.records();
    if (task->value() < ledger.size() && ledger.state(*task) == engine::model::TaskState::skipped)
        return place + "never: " + records.failures().why_skipped(*task).value_or(some_skip);
    return place + manager.reactor().why(*task, now, records.earlier_attempts(*task));
}

std::vector<WhyQuestion> take_questions(const std::string& run_directory, engine::model::Now now) {
    std::vector<WhyQuestion> questions;
    std::error_code none_there;
    std::size_t taken = 0;
    for (fs::directory_iterator at(folder_of(run_directory), none_there), end; !none_there && at != end;
         at.increment(none_there)) {
        const std::string path = at->path().string();
        if (!path.ends_with(ask)) {
            remove_if_stale(at->path(), now);
            continue;
        }
        if (taken == most_at_a_look) break;
        const auto line = number_in(path);
        // A question that cannot be removed would be answered for ever.
        if (::unlink(path.c_str()) != 0) continue;
        ++taken;
        if (line)
            questions.push_back({*line, path.substr(0, path.size() - ask.size()) + std::string(answer)});
    }
    return questions;
}

// The error can be ignored: the asker has a time limit.
void write_answer(const WhyQuestion& question, const std::string& text) {
    static_cast<void>(
        records::journal::write_atomically(question.answer_path, text + "\n", records::journal::Sync::never));
}

Result<std::string> ask_why(const std::string& run_directory, std::uint64_t line, Duration timeout,
                            const std::function<bool()>& goes_on) {
    const std::string folder = folder_of(run_directory);
    const std::string name = records::journal::host_name() + "-" + std::to_string(::getpid());
    const std::string answer_name = name + std::string(answer);
    const std::string answered = folder + "/" + answer_name;
    ::unlink(answered.c_str());
    if (const Status asked = write_question(folder, name, line); !asked) return asked.error();
    const Instant until = instant_now() + timeout;
    Result<std::string> text = Error{ExitCode::unreachable, ""};
    // Look once more after the run has ended: the answer may have been its last action.
    for (bool there = true; !text && there && instant_now() < until;) {
        there = goes_on();
        // No event reports a change by another host.
        ::poll(nullptr, 0, 50);
        if (is_listed(folder, answer_name)) text = records::journal::read_whole(answered);
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

}  // namespace wq::manager::report
