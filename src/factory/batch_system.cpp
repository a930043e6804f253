#include "factory/batch_system.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "node/machine/asked_command.h"

namespace wq::factory {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) lines.push_back(line);
    return lines;
}

constexpr int by_signal = 128;  // exit codes above it: a driver that was killed may have submitted before

bool is_id(const std::string& text) {
    return !text.empty() && text.size() < 200 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<JobStatus> job_in(const std::string& line) {
    std::istringstream words(line);
    JobStatus job;
    std::string state;
    if (!(words >> job.id >> state)) return std::nullopt;
    std::getline(words >> std::ws, job.detail);
    if (state == "pending")
        job.state = JobState::pending;
    else if (state == "running")
        job.state = JobState::running;
    else if (state == "ended")
        job.state = JobState::ended;
    else if (state == "stuck")
        job.state = JobState::stuck;
    else if (state != "unknown")
        return std::nullopt;
    return job;
}

std::vector<std::string> submit_command(const DriverOptions& options, const Submission& submission,
                                        const char* how) {
    std::vector<std::string> command{options.submit,  options.driver,   how, "--job-name", submission.name,
                                     "--scratch-dir", submission.folder};
    const auto words = std::find(submission.options.begin(), submission.options.end(), "--");
    command.insert(command.end(), submission.options.begin(), words);
    command.push_back(std::to_string(submission.count));
    command.insert(command.end(), words, submission.options.end());
    return command;
}

Error nonsense(const std::string& what, const std::string& text) {
    return {ExitCode::interrupted,
            what + " printed text that a driver must not print: " + quote_for_message(text)};
}

}  // namespace

// The code is `interrupted` if the command may still go on.
Result<std::string> BatchDriver::call(const std::string& what, std::vector<std::string> command) {
    // A driver that is not among ours finds there what drivers share. A call of the system is given up before
    // we give up the driver.
    const std::string scripts = options_.submit.substr(0, options_.submit.rfind('/'));
    command.insert(command.begin(), {"env", "WORKERS_SCRIPTS=" + scripts});
    if (std::getenv("WORKERS_PATIENCE") == nullptr)
        command.insert(command.begin() + 1, "WORKERS_PATIENCE=35");
    node::machine::AskedCommand asked(command, node::machine::AskedCommand::Errors::kept);
    // A submission that is under way is waited for: its jobs are to be removed at the end.
    const auto text = asked.answer(options_.limit, what == "submit" ? -1 : options_.stop);
    if (!text)
        return Error{ExitCode::interrupted,
                     asked.stopped() ? what + ": stopped before the batch system answered"
                                     : what + " did not answer within " + format_duration(options_.limit)};
    if (asked.exit_code() == 0) return *text;
    std::vector<std::string> lines = lines_of(asked.errors());
    if (lines.empty()) lines = lines_of(*text);
    const ExitCode code = asked.exit_code() == to_int(ExitCode::interrupted) || asked.exit_code() > by_signal
                              ? ExitCode::interrupted
                              : ExitCode::unreachable;
    if (lines.empty())
        return Error{code, what + " ended with exit code " + std::to_string(asked.exit_code())};
    constexpr std::string_view prefix = "submit_workers: ";
    const std::string& last = lines.back();
    return Error{code, line_for_message(
                           last.starts_with(prefix) ? last.substr(prefix.size()) : what + ": " + last, 400)};
}

Result<std::vector<std::string>> BatchDriver::submit(const Submission& submission) {
    const auto text = call("submit", submit_command(options_, submission, "--json"));
    if (!text) return text.error();
    const std::vector<std::string> lines = lines_of(*text);
    const Json answer = Json::parse(lines.empty() ? "" : lines.back());
    const Json* const listed = answer.find("ids");
    if (listed == nullptr || !listed->is_array()) return nonsense("submit", *text);
    std::vector<std::string> ids;
    for (const Json& id : listed->parts()) {
        if (!id.is_string() || !is_id(id.text())) return nonsense("submit", *text);
        ids.push_back(id.text());
    }
    if (ids.empty() || std::ssize(ids) > submission.count) return nonsense("submit", *text);
    return ids;
}

Result<std::vector<JobStatus>> BatchDriver::status(const std::vector<std::string>& ids) {
    std::vector<JobStatus> jobs;
    for (const std::vector<std::string>& command : commands_with("status", ids)) {
        const auto text = call("status", command);
        if (!text) return text.error();
        for (const std::string& line : lines_of(*text)) {
            auto job = job_in(line);
            if (!job) return nonsense("status", line);
            jobs.push_back(std::move(*job));
        }
    }
    return jobs;
}

Status BatchDriver::remove(const std::vector<std::string>& ids) {
    for (const std::vector<std::string>& command : commands_with("remove", ids))
        if (const auto text = call("remove", command); !text) return text.error();
    return success();
}

// The kernel takes 2 MiB of arguments at most.
std::vector<std::vector<std::string>> BatchDriver::commands_with(const std::string& verb,
                                                                 const std::vector<std::string>& ids) const {
    constexpr std::size_t most = 5000;
    std::vector<std::vector<std::string>> commands;
    for (std::size_t first = 0; first < ids.size(); first += most) {
        commands.push_back({options_.driver, verb});
        const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
        commands.back().insert(commands.back().end(), begin,
                               begin + static_cast<std::ptrdiff_t>(std::min(most, ids.size() - first)));
    }
    return commands;
}

Result<std::vector<std::string>> BatchDriver::find(const Submission& submission) {
    const auto text =
        call("find", {"WORKERS_SCRIPT=" + submission.folder + "/" + submission.name,
                      "WORKERS_COUNT=" + std::to_string(submission.count), options_.driver, "find"});
    if (!text) return text.error();
    std::vector<std::string> ids = lines_of(*text);
    if (std::ssize(ids) > submission.count || !std::all_of(ids.begin(), ids.end(), is_id))
        return nonsense("find", *text);
    return ids;
}

Result<std::string> BatchDriver::show(const Submission& submission) {
    return call("submit", submit_command(options_, submission, "--dry-run"));
}

}  // namespace wq::factory
