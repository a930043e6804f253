#include "run/rank_worker.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "records/run_status.h"

namespace wq::run {

namespace {

constexpr Duration batch_answer_limit = std::chrono::seconds(5);

std::string temporary_folder() {
    const char* folder = std::getenv("TMPDIR");
    return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace

Result<std::string> find_shell(const std::string& wanted) {
    if (!wanted.empty()) {
        if (::access(wanted.c_str(), X_OK) != 0)
            return Error{ExitCode::usage, wanted + " cannot be executed; give the path of a shell"};
        return std::filesystem::absolute(wanted).string();
    }
    for (const char* shell : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"})
        if (::access(shell, X_OK) == 0) return std::string(shell);
    return std::string("/bin/sh");
}

machine::BatchEnd ask_for_end(bool asks_server) {
    return machine::BatchEnd::ask(
        [=](const char* name) -> const char* {
            const std::string_view variable = name;
            const bool needs_server = variable == "SLURM_JOB_ID" || variable == "PBS_JOBID";
            return needs_server && !asks_server ? nullptr : std::getenv(name);
        },
        wall_now());
}

std::optional<Instant> known_end(machine::BatchEnd& batch_end) {
    const auto told = batch_end.wait(batch_answer_limit);
    if (!told) return std::nullopt;
    return instant_now() + std::chrono::microseconds(*told - wall_now());
}

worker::WorkerOptions rank_worker(const RankWorkerOptions& options, const NodeShare& share) {
    worker::WorkerOptions worker;
    worker.hello.rank = static_cast<std::uint32_t>(options.rank);
    worker.hello.host = records::host_name();
    worker.hello.offers = share.offers;
    worker.leaves_at = options.leaves_at;
    // Rank 0's manager is in its own process, so it cannot be silent while the worker lives.
    if (options.rank == 0) worker.manager_silence.reset();
    for (const std::string& remark : options.rank == 0 ? std::vector<std::string>() : share.remarks)
        worker.hello.remark += (worker.hello.remark.empty() ? "" : "; ") + remark;
    worker.launcher.slice = share.slice;
    worker.launcher.shell = options.shell;
    worker.launcher.scratch = temporary_folder();
    worker.launcher.working_directory = std::filesystem::current_path().string();
    worker.launcher.environment = {{"WORKERID", std::to_string(options.rank)}};
    worker.index_variable = options.index_variable;
    worker.launcher.environment_lines = options.environment_lines;
    return worker;
}

}  // namespace wq::run
