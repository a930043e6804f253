#include "programs/worker/coprocess_options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/amounts.h"
#include "base/find_above.h"
#include "base/units.h"
#include "programs/command_line.h"
#include "programs/option_values.h"

namespace wq::programs::worker {

namespace po = boost::program_options;

namespace {

auto text_value(const char* name) {
    return po::value<std::string>()->value_name(name);
}

std::int64_t coprocesses_of(const CoprocessSettings& settings, const engine::model::Resources& worker) {
    if (settings.count) return *settings.count;
    return std::clamp<std::int64_t>(worker.cores.rounded_down(), 1, engine::model::most_coprocesses);
}

engine::model::Resources total_of(const CoprocessSettings& settings, const engine::model::Resources& worker) {
    return {settings.cores.value_or(worker.cores), settings.memory_mb.value_or(worker.memory_mb),
            settings.disk_mb.value_or(worker.disk_mb), settings.gpus.value_or(worker.gpus)};
}

bool means_all(const std::string& word, bool zero_is_all) {
    return word == "all" || word == "-1" || (zero_is_all && word == "0");
}

Error unusable(const std::string& file, const std::string& why) {
    return {ExitCode::bad_input, "--coprocess " + file + ": " + why};
}

Status check_file(const std::string& file) {
    if (::access(file.c_str(), R_OK) != 0) return unusable(file, std::strerror(errno));
    if (!is_executable_file(file) && !file.ends_with(".py"))
        return unusable(file, "it is not executable (chmod +x), and no .py file");
    return success();
}

}  // namespace

po::options_description coprocess_options() {
    po::options_description all("Coprocesses for remote tasks", help_width, help_width / 2);
    all.add_options()("coprocess", text_value("FILE"),
                      "run remote tasks in coprocesses started from FILE, which work_queue_serverize makes")(
        "coprocesses-total", text_value("N"), "start N coprocesses (default: one for each core)")(
        "coprocess-cores", text_value("N"),
        "cores of all coprocesses together (default: all that the worker offers)")(
        "coprocess-memory", text_value("MB"),
        "memory of all coprocesses together (default: all that the worker offers)")(
        "coprocess-disk", text_value("MB"),
        "disk space of all coprocesses together (default: all that the worker offers)")(
        "coprocess-gpus", text_value("N"),
        "GPUs of all coprocesses together (default: all that the worker offers). Each coprocess gets an "
        "equal share of cores, memory, disk and GPUs; a coprocess that exceeds its share is restarted");
    return all;
}

std::vector<std::string> with_one_spelling(std::vector<std::string> words) {
    for (std::string& word : words) {
        if (word == "--") break;
        if (!word.starts_with("--coprocess") && !word.starts_with("--num")) continue;
        const std::size_t end = std::min(word.find('='), word.size());
        std::string name = word.substr(0, end);
        std::replace(name.begin(), name.end(), '_', '-');
        if (name == "--num-coprocesses") name = "--coprocesses-total";
        word = name + word.substr(end);
    }
    return words;
}

Status take_coprocesses(const po::variables_map& given, CoprocessSettings& settings) {
    if (given.count("coprocess") != 0) settings.file = given["coprocess"].as<std::string>();
    const auto said = [&](const char* name, bool zero_is_all) {
        return given.count(name) != 0 && !means_all(given[name].as<std::string>(), zero_is_all);
    };
    const auto number = [](const std::string& word) {
        return parse_count_with_fraction(word, 0, most_cores);
    };
    std::vector<Status> taken;
    if (said("coprocesses-total", false))
        taken.push_back(
            take(given, "coprocesses-total", settings.count, between(1, engine::model::most_coprocesses)));
    if (said("coprocess-cores", true))
        taken.push_back(take(given, "coprocess-cores", settings.cores, number));
    if (said("coprocess-memory", true))
        taken.push_back(take(given, "coprocess-memory", settings.memory_mb, parse_amount_mb));
    if (said("coprocess-disk", true))
        taken.push_back(take(given, "coprocess-disk", settings.disk_mb, parse_amount_mb));
    if (said("coprocess-gpus", false)) taken.push_back(take(given, "coprocess-gpus", settings.gpus, number));
    for (const Status& status : taken)
        if (!status) return status;
    return success();
}

engine::model::Resources coprocess_share(const CoprocessSettings& settings,
                                         const engine::model::Resources& worker) {
    return functions::coprocess::equal_share(total_of(settings, worker), coprocesses_of(settings, worker));
}

Result<std::unique_ptr<functions::coprocess::Runner>> start_coprocesses(const CoprocessSettings& settings,
                                                                        const WorkerResources& worker,
                                                                        const std::string& folder,
                                                                        node::launcher::Launcher& launcher,
                                                                        double time_scale, int interrupt) {
    if (const Status usable = check_file(settings.file); !usable) return usable.error();
    functions::coprocess::PoolOptions pool;
    pool.file = std::filesystem::absolute(settings.file);
    pool.count = coprocesses_of(settings, worker.offers);
    pool.total = total_of(settings, worker.offers);
    pool.folder = folder;
    // The worker's program may be one with functions of its own, whose main() knows of no hosts.
    pool.fork = [&launcher](int socket) {
        return launcher.fork_child(socket, node::process::forked_host_main);
    };

    pool.first_back_off = std::chrono::duration_cast<Duration>(pool.first_back_off * time_scale);
    pool.gpu_variable = worker.slice.gpu_variable;
    pool.gpus = worker.slice.gpus;
    auto runner = functions::coprocess::Runner::start(std::move(pool), interrupt);
    if (!runner && runner.error().code == ExitCode::bad_input)
        return unusable(settings.file, runner.error().message);
    return runner;
}

std::string describe(const functions::coprocess::Runner& coprocesses, const engine::model::Resources& share) {
    engine::model::Resources amounts = share;
    amounts.coprocesses = 0;
    return std::to_string(coprocesses.count()) +
           (coprocesses.count() == 1 ? " coprocess " : " coprocesses ") +
           quote_for_message(coprocesses.name()) + " with " + engine::model::describe(amounts) +
           (coprocesses.count() == 1 ? "" : " each");
}

}  // namespace wq::programs::worker
