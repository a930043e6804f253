#include "engine/model/outcome.h"

#include <array>

#include "base/units.h"

namespace wq::engine::model {

// The names of Linux' first 31 signals on x86 and arm, so that messages do not depend on the host's C
// library.
std::string signal_name(int number) {
    constexpr std::array names{"",       "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",
                               "FPE",    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM",
                               "STKFLT", "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",
                               "XCPU",   "XFSZ", "VTALRM", "PROF", "WINCH", "IO",   "PWR",  "SYS"};
    if (number <= 0 || number >= static_cast<int>(names.size())) return "signal " + std::to_string(number);
    return std::string("SIG") + names[static_cast<std::size_t>(number)];
}

namespace {

// "signal 11 (SIGSEGV)"
std::string signal_text(int number) {
    const std::string name = signal_name(number);
    return name.starts_with("SIG") ? "signal " + std::to_string(number) + " (" + name + ")" : name;
}

}  // namespace

const char* name_of(Ending ending) {
    constexpr std::array names{"exited",      "signalled",       "timed_out",     "out_of_memory",
                               "not_started", "killed",          "worker_lost",   "never_ran",
                               "raised",      "expired",         "input_missing", "output_missing",
                               "disk_full",   "not_transferred", "too_slow",      "exhausted"};
    static_assert(names.size() == ending_count);
    return names[static_cast<std::size_t>(ending)];
}

std::string describe(const Outcome& outcome) {
    const auto after = [&] { return format_duration(std::chrono::microseconds(outcome.wall_us)); };
    const std::string because = outcome.reason.empty() ? "" : ": " + outcome.reason;
    switch (outcome.ending) {
        case Ending::exited:
            return "exit " + std::to_string(outcome.exit_code) + because;
        case Ending::signalled:
            return signal_text(outcome.signal) + because;
        case Ending::timed_out:
            return "timed out after " + after() + because;
        case Ending::out_of_memory:
            return "out of memory" + because;
        case Ending::not_started:
            return "could not be started" + because;
        case Ending::killed:
            return "killed" + because;
        case Ending::worker_lost:
            return "worker lost" + because;
        case Ending::never_ran:
            return "never ran" + because;
        case Ending::raised:
            return "exception" + because;
        case Ending::expired:
            return (outcome.started_us == 0 ? "its end time came before it could start"
                                            : "its end time came after " + after()) +
                   because;
        case Ending::input_missing:
            return "an input file is missing" + because;
        case Ending::output_missing:
            return "an output file is missing" + because;
        case Ending::disk_full:
            return "the disk of its worker was full" + because;
        case Ending::not_transferred:
            return "an output file could not be kept" + because;
        case Ending::too_slow:
            return "took too long" + because;
        case Ending::exhausted:
            return "took more than it was given" + because;
    }
    return "unknown ending";
}

Usage within_bounds(const Usage& usage) {
    Usage within = usage;
    const auto keep = [](std::int64_t& amount, std::int64_t most) {
        amount = std::clamp(amount, unsaid, most);
    };
#define WQ_KEEP(name, unit, meaning) keep(within.name, most_measured);
    WQ_USAGE(WQ_KEEP)
#undef WQ_KEEP
    for (std::int64_t* size :
         {&within.cores, &within.memory, &within.virtual_memory, &within.swap_memory, &within.disk})
        keep(*size, most_size);
    return within;
}

void set_not_started(Outcome& outcome, std::string reason, int exit_code) {
    outcome.ending = Ending::not_started;
    outcome.exit_code = exit_code;
    outcome.reason = std::move(reason);
}

int return_status_of_call(const Outcome& outcome) {
    return outcome.ending == Ending::not_started ? outcome.exit_code : return_status(outcome);
}

int return_status(const Outcome& outcome) {
    constexpr int killed = 9;
    switch (outcome.ending) {
        case Ending::not_started:
            return outcome.started_us != 0 ? outcome.exit_code : -1;
        case Ending::exited:
        case Ending::input_missing:  // -1, or 1 if the worker was to make it
        case Ending::output_missing:
        case Ending::not_transferred:
            return outcome.exit_code;
        case Ending::raised:
            return outcome.exit_code != 0 ? outcome.exit_code : 1;
        case Ending::signalled:
            return outcome.signal;
        case Ending::timed_out:
        case Ending::out_of_memory:
        case Ending::exhausted:
        case Ending::killed:
        case Ending::too_slow:
            return killed;
        case Ending::expired:
            return outcome.started_us != 0 ? killed : -1;
        case Ending::worker_lost:
        case Ending::never_ran:
        case Ending::disk_full:
            return -1;
    }
    return -1;
}

std::int64_t busy_cores(const Outcome& outcome) {
    if (!outcome.measured) return unsaid;
    const Usage& usage = outcome.measured->usage;
    if (usage.cores >= 0 || usage.cpu_time < 0) return usage.cores;
    constexpr std::int64_t second_us = 1'000'000;
    constexpr std::int64_t most_us = INT64_MAX / 1000;
    return std::min(usage.cpu_time, most_us) * 1000 / std::max(outcome.wall_us, second_us);
}

std::string cut_marker(const char* stream, std::uint64_t lost, std::uint64_t limit) {
    return "[work_queue: " + std::to_string(lost) + " more bytes of " + stream + " not kept; the limit is " +
           std::to_string(limit) + " bytes]";
}

void cut_at(std::uint64_t limit, std::string& text, const char* stream, std::uint64_t total) {
    if (total <= limit) return;
    if (text.size() > limit) text.resize(limit);
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += cut_marker(stream, total - limit, limit) + '\n';
}

void cut_again(std::uint64_t limit, Output& output, const Outcome& outcome) {
    constexpr std::uint64_t longest_marker = 160;
    const auto cut = [&](std::string& text, const char* stream, std::uint64_t total) {
        if (text.size() <= limit + longest_marker) return;
        cut_at(limit, text, stream, std::max<std::uint64_t>(total, text.size()));
        text.shrink_to_fit();
    };
    cut(output.out, "stdout", outcome.stdout_bytes);
    cut(output.err, "stderr", outcome.stderr_bytes);
}

}  // namespace wq::engine::model
