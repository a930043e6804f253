#include "manager/run/job_end.h"

#include <cstdlib>
#include <string_view>

namespace wq::manager::run {

node::machine::BatchEnd ask_for_end(bool asks_server) {
    return node::machine::BatchEnd::ask(
        [=](const char* name) -> const char* {
            const std::string_view variable = name;
            const bool needs_server = variable == "SLURM_JOB_ID" || variable == "PBS_JOBID";
            return needs_server && !asks_server ? nullptr : std::getenv(name);
        },
        wall_now());
}

std::optional<Instant> known_end(node::machine::BatchEnd& batch_end, Duration limit) {
    const auto told = batch_end.wait(limit);
    if (!told) return std::nullopt;
    return instant_now() + std::chrono::microseconds(*told - wall_now());
}

}  // namespace wq::manager::run
