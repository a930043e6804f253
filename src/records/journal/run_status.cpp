#include "records/journal/run_status.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "records/journal/append_file.h"

namespace wq::records::journal {

namespace {

// As the columns of /manager.
constexpr std::pair<const char*, std::int64_t engine::model::ManagerStats::*> counts[] = {
    {"tasks_submitted", &engine::model::ManagerStats::tasks_submitted},
    {"tasks_done", &engine::model::ManagerStats::tasks_done},
    {"tasks_failed", &engine::model::ManagerStats::tasks_failed},
    {"tasks_running", &engine::model::ManagerStats::tasks_running},
    {"tasks_on_workers", &engine::model::ManagerStats::tasks_on_workers},
    {"tasks_waiting", &engine::model::ManagerStats::tasks_waiting},
};

void append_field(std::string& out, std::string_view key, std::string_view value) {
    out.append(key).append("=").append(value).append("\n");
}

std::string escaped(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c == '\n' ? ' ' : c;
        }
    }
    return out + "'";
}

std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i, 4) == "'\\''") {
            out += '\'';
            i += 3;
        } else if (text[i] != '\'') {
            out += text[i];
        }
    }
    return out;
}

template <class Number>
void read_number(std::string_view text, Number& value) {
    std::from_chars(text.data(), text.data() + text.size(), value);
}

void read_pair(std::string_view key, std::string_view value, RunStatus& status) {
    if (key == "state") status.state = value;
    if (key == "exit_code" && !value.empty()) {
        int code = 0;
        read_number(value, code);
        status.exit_code = code;
    }
    if (key == "started_us") read_number(value, status.started_us);
    if (key == "ended_us") read_number(value, status.ended_us);
    if (key == "written_us") read_number(value, status.written_us);
    for (const auto& [name, count] : counts)
        if (key == name) read_number(value, status.tasks.*count);
    if (key == "total_known") status.total_known = value == "yes";
    if (key == "tasks_per_second") read_number(value, status.tasks_per_second);
    if (key == "host") status.host = value;
    if (key == "pid") read_number(value, status.pid);
    if (key == "message") status.message = unescaped(value);
}

}  // namespace

Status write_status(const std::string& run_directory, const RunStatus& status) {
    std::string text;
    append_field(text, "state", status.state);
    append_field(text, "exit_code", status.exit_code ? std::to_string(*status.exit_code) : "");
    append_field(text, "started", format_utc(status.started_us));
    append_field(text, "ended", status.ended_us == 0 ? "" : format_utc(status.ended_us));
    const WallMicros now = wall_now();
    append_field(text, "written", format_utc(now));
    append_field(text, "started_us", std::to_string(status.started_us));
    append_field(text, "ended_us", std::to_string(status.ended_us));
    append_field(text, "written_us", std::to_string(now));
    for (const auto& [name, count] : counts) append_field(text, name, std::to_string(status.tasks.*count));
    append_field(text, "total_known", status.total_known ? "yes" : "no");
    append_field(text, "tasks_per_second",
                 status.tasks_per_second < 0 ? "" : std::to_string(status.tasks_per_second));
    append_field(text, "host", host_name());
    append_field(text, "pid", std::to_string(::getpid()));
    append_field(text, "message", escaped(status.message));
    // While the run continues, nobody waits for the disk.
    return write_atomically(run_directory + "/status", text, status.exit_code ? Sync::first : Sync::never);
}

Result<RunStatus> read_status(const std::string& run_directory) {
    const auto text = read_whole(run_directory + "/status");
    if (!text) return text.error();
    RunStatus status;
    for (std::string_view rest = *text; !rest.empty();) {
        const std::string_view line = next_line(rest);
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos)
            read_pair(line.substr(0, equals), line.substr(equals + 1), status);
    }
    if (status.state.empty()) {
        return Error{ExitCode::bad_input, run_directory + "/status: not the status of a run"};
    }
    return status;
}

std::string host_name() {
    char name[256] = "";
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    return name;
}

bool is_gone(const std::string& host, std::int64_t pid) {
    return pid > 0 && pid <= INT_MAX && host == host_name() && ::kill(static_cast<pid_t>(pid), 0) != 0 &&
           errno == ESRCH;
}

std::string user_name() {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> text(16384);
    ::getpwuid_r(::getuid(), &entry, text.data(), text.size(), &found);
    return found != nullptr ? found->pw_name : std::to_string(::getuid());
}

std::string format_utc(WallMicros time) {
    return utc_time(time, "%Y-%m-%dT%H:%M:%SZ");
}

RunEnd end_of_run(const std::string& contact) {
    std::error_code error;
    if (std::filesystem::exists(contact, error) || error) return RunEnd::no;
    const auto status = read_status(std::filesystem::absolute(contact, error).parent_path().string());
    if (!status || status->state == "running") return RunEnd::no;
    return status->state == "interrupted" ? RunEnd::resumable : RunEnd::over;
}

}  // namespace wq::records::journal
