#include "programs/run/question_options.h"

#include <filesystem>

#include "programs/option_values.h"
#include "programs/run/run_place.h"

namespace wq::programs::run {

namespace {

namespace po = boost::program_options;

Result<Command> output_command(const po::variables_map& given) {
    const auto& words = given["output"].as<std::vector<std::string>>();
    if (words.size() != 2) return usage_error("--output needs RUN and TASK");
    const auto task = parse_count(words[1], 1, std::int64_t{1} << 62);
    if (!task) return usage_error("--output: TASK: " + task.error().message);
    Command command;
    command.kind = Command::Kind::output;
    command.output_directory = directory_of_run(words[0]);
    command.output_task = static_cast<std::uint64_t>(*task - 1);
    return command;
}

// The task list, or the run's directory, determines the run; --run-dir alone does, too.
Result<Command> why_command(const po::variables_map& given) {
    const auto line = parse_count(given["why"].as<std::string>(), 1, std::int64_t{1} << 62);
    if (!line) return usage_error("--why: LINE: " + line.error().message);
    Command command;
    command.kind = Command::Kind::why;
    command.why_line = static_cast<std::uint64_t>(*line);
    if (given.count("run-dir") != 0) {
        command.run.run_directory = given["run-dir"].as<std::string>();
        return command;
    }
    if (given.count("array") != 0) return usage_error("--why: an array has no lines to ask about");
    const bool each = given.count("each") != 0;
    const auto lists = given.count("tasklist") != 0 ? given["tasklist"].as<std::vector<std::string>>()
                                                    : std::vector<std::string>{};
    if (lists.size() + (each ? 1U : 0U) != 1)
        return usage_error("--why LINE needs the task list of the run, or --run-dir DIR");
    command.run.source.path = each ? given["each"].as<std::string>() : lists.front();
    std::error_code unknown;
    if (std::filesystem::is_directory(command.run.source.path, unknown))
        command.run.run_directory = command.run.source.path;
    return command;
}

Command status_command(const po::variables_map& given) {
    Command command;
    command.kind = Command::Kind::status;
    command.status_of = given["status"].as<std::string>();
    command.run.json = given.count("json") != 0;
    return command;
}

}  // namespace

bool asks(const po::variables_map& given) {
    return given.count("output") + given.count("why") + given.count("status") != 0;
}

Result<Command> parse_question(const po::variables_map& given) {
    if (given.count("output") != 0) return output_command(given);
    if (given.count("why") != 0) return why_command(given);
    return status_command(given);
}

}  // namespace wq::programs::run
