#include "factory/batch_system.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "machine/asked_command.h"

namespace wq::factory {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) lines.push_back(line);
    return lines;
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
    return {ExitCode::unreachable, what + " printed what a driver must not: " + quote_for_message(text)};
}

}  // namespace

Result<std::string> BatchDriver::call(const std::string& what, std::vector<std::string> command) {
    // A driver that is not among ours finds there what drivers share.
    const std::string scripts = options_.submit.substr(0, options_.submit.rfind('/'));
    command.insert(command.begin(), {"env", "WORKERS_SCRIPTS=" + scripts});
    machine::AskedCommand asked(command, machine::AskedCommand::Errors::kept);
    const auto text = asked.answer(options_.limit);
    if (!text)
        return Error{ExitCode::unreachable,
                     what + " did not answer within " + format_duration(options_.limit)};
    if (asked.exit_code() == 0) return *text;
    const std::vector<std::string> lines = lines_of(*text);
    return Error{ExitCode::unreachable, what + ": " +
                                            (lines.empty() ? "exit code " + std::to_string(asked.exit_code())
                                                           : line_for_message(lines.back(), 400))};
}

Result<std::vector<std::string>> BatchDriver::submit(const Submission& submission) {
    const auto text = call("submit", submit_command(options_, submission, "--json"));
    if (!text) return text.error();
    const std::vector<std::string> lines = lines_of(*text);
    const auto answer = nlohmann::json::parse(lines.empty() ? "" : lines.back(), nullptr, false);
    if (!answer.is_object() || !answer.contains("ids") || !answer["ids"].is_array())
        return nonsense("submit", *text);
    std::vector<std::string> ids;
    for (const auto& id : answer["ids"]) {
        if (!id.is_string() || id.get<std::string>().empty()) return nonsense("submit", *text);
        ids.push_back(id.get<std::string>());
    }
    if (ids.empty()) return nonsense("submit", *text);
    return ids;
}

Result<std::vector<JobStatus>> BatchDriver::status(const std::vector<std::string>& ids) {
    std::vector<std::string> command{options_.driver, "status"};
    command.insert(command.end(), ids.begin(), ids.end());
    const auto text = call("status", command);
    if (!text) return text.error();
    std::vector<JobStatus> jobs;
    for (const std::string& line : lines_of(*text)) {
        auto job = job_in(line);
        if (!job) return nonsense("status", line);
        jobs.push_back(std::move(*job));
    }
    return jobs;
}

Status BatchDriver::remove(const std::vector<std::string>& ids) {
    std::vector<std::string> command{options_.driver, "remove"};
    command.insert(command.end(), ids.begin(), ids.end());
    const auto text = call("remove", command);
    return text ? success() : Status(text.error());
}

Result<std::vector<std::string>> BatchDriver::find(const Submission& submission) {
    const auto text =
        call("find", {"WORKERS_SCRIPT=" + submission.folder + "/" + submission.name,
                      "WORKERS_COUNT=" + std::to_string(submission.count), options_.driver, "find"});
    if (!text) return text.error();
    return lines_of(*text);
}

Result<std::string> BatchDriver::show(const Submission& submission) {
    return call("submit", submit_command(options_, submission, "--dry-run"));
}

}  // namespace wq::factory
