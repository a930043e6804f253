#include "host/batch_end.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace wq::host {

namespace {

constexpr std::int64_t micros = 1'000'000;
// Of an end, in 2169: no job lasts so long, and in nanoseconds from now on it is still a time.
constexpr WallMicros latest = std::int64_t{200} * 365 * 24 * 3600 * micros;

std::string file_text(const char* path) {
    std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool given(const char* value) {
    return value != nullptr && *value != '\0';
}

}  // namespace

BatchEnd BatchEnd::ask(const Variable& variable, WallMicros now) {
    BatchEnd asked;
    if (const char* end = variable("SLURM_JOB_END_TIME"); given(end)) {
        const long long seconds = std::strtoll(end, nullptr, 10);
        if (seconds > 0 && seconds < latest / micros) asked.known_ = seconds * micros;
    } else if (const char* job = variable("SLURM_JOB_ID"); given(job)) {
        asked.read_ = [](std::string_view text) { return end_in_scontrol(text); };
        asked.command_ = AskedCommand({"scontrol", "show", "job", job});
    } else if (const char* id = variable("PBS_JOBID"); given(id)) {
        if (const char* time = variable("PBS_WALLTIME"); given(time))
            if (const auto seconds = pbs_seconds(time)) asked.otherwise_ = now + *seconds * micros;
        asked.read_ = [now](std::string_view text) { return end_in_qstat(text, now); };
        asked.command_ = AskedCommand({"qstat", "-f", id});
    } else if (given(variable("_CONDOR_JOB_AD")) || given(variable("_CONDOR_MACHINE_AD"))) {
        asked.known_ = end_in_condor_ads(file_text(variable("_CONDOR_JOB_AD")),
                                         file_text(variable("_CONDOR_MACHINE_AD")), now);
    }
    return asked;
}

std::optional<WallMicros> BatchEnd::wait(Duration limit) {
    const auto end = answer(limit);
    return end && *end > 0 && *end < latest ? end : std::nullopt;
}

std::optional<WallMicros> BatchEnd::answer(Duration limit) {
    if (known_ || !read_) return known_ ? known_ : otherwise_;
    if (const auto text = command_.answer(limit)) known_ = read_(*text);
    read_ = nullptr;
    return known_ ? known_ : otherwise_;
}

}  // namespace wq::host
