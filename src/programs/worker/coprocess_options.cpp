#include "programs/worker/coprocess_options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "base/find_program.h"
#include "base/units.h"
#include "programs/command_line.h"

namespace wq::programs::worker {

namespace {

std::int64_t coprocesses_of(const CoprocessSettings& settings, const engine::model::Resources& worker) {
    if (settings.count) return *settings.count;
    return std::clamp<std::int64_t>(worker.cores.rounded_down(), 1, engine::model::most_coprocesses);
}

engine::model::Resources total_of(const CoprocessSettings& settings, const engine::model::Resources& worker) {
    return {settings.cores.value_or(worker.cores), settings.memory_mb.value_or(worker.memory_mb),
            settings.disk_mb.value_or(worker.disk_mb), settings.gpus.value_or(worker.gpus)};
}

enum class Zero : std::uint8_t { means_all, means_zero };

bool means_all(const std::string& word, Zero zero) {
    return word == "all" || word == "-1" || (zero == Zero::means_all && word == "0");
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

Status take_coprocesses(const Given& given, CoprocessSettings& settings) {
    const auto number = [](const std::string& word) {
        return parse_count_with_fraction(word, 0, most_cores);
    };
    OptionTaker take(given);
    const auto take_unless_all = [&](const char* name, Zero zero, auto& target, const auto& convert) {
        if (!means_all(given.text(name), zero)) take(name, target, convert);
    };
    take_unless_all("coprocesses-total", Zero::means_zero, settings.count,
                    between(1, engine::model::most_coprocesses));
    take_unless_all("coprocess-cores", Zero::means_all, settings.cores, number);
    take_unless_all("coprocess-memory", Zero::means_all, settings.memory_mb, parse_amount_mb);
    take_unless_all("coprocess-disk", Zero::means_all, settings.disk_mb, parse_amount_mb);
    take_unless_all("coprocess-gpus", Zero::means_zero, settings.gpus, number);
    return take.status();
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
    auto runner = functions::coprocess::Runner::start(pool, interrupt);
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
