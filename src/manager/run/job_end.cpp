#include "manager/run/job_end.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/result.h"

namespace wq::manager::run {

node::machine::BatchEnd ask_for_end(EndFrom from) {
    return node::machine::BatchEnd::ask(
        [=](const char* name) -> const char* {
            const std::string_view variable = name;
            const bool needs_server = variable == "SLURM_JOB_ID" || variable == "PBS_JOBID";
            return needs_server && from != EndFrom::server ? nullptr : std::getenv(name);
        },
        wall_now());
}

std::optional<Instant> known_end(node::machine::BatchEnd& batch_end, Duration limit) {
    const auto told = batch_end.wait(limit);
    if (!told) return std::nullopt;
    return instant_now() + std::chrono::microseconds(*told - wall_now());
}

std::optional<Instant> known_start() {
    const auto told = node::machine::batch_start(node::machine::batch_environment());
    if (!told) return std::nullopt;
    return instant_now() + std::chrono::microseconds(*told - wall_now());
}

namespace {

void watch(int signals, int over, const std::string& last_words) {
    std::array<pollfd, 2> ready{{{over, POLLIN, 0}, {signals, POLLIN, 0}}};
    while (::poll(ready.data(), ready.size(), -1) <= 0) {
    }
    if (ready[0].revents != 0) return;
    if (!last_words.empty()) std::fprintf(stderr, "%s\n", last_words.c_str());
    ::_exit(to_int(ExitCode::interrupted));
}

}  // namespace

EarlyStop::EarlyStop(const Signals& signals, std::string last_words) {
    // Without a descriptor the thread could not be ended: signals then wait for the loop.
    if (over_.valid())
        thread_ = std::thread(watch, signals.descriptor(), over_.descriptor(), std::move(last_words));
}

void EarlyStop::end() {
    if (!thread_.joinable()) return;
    over_.set();
    thread_.join();
}

}  // namespace wq::manager::run
