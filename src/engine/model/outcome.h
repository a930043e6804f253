// The resource usage of an attempt's whole process tree, as its worker samples it, and its limits. Sampling
// is optional; figures that cost nothing are in model::Outcome.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/model/resources.h"

namespace wq::engine::model {

// How an attempt is watched while it runs.
struct Watch {
    bool measures = false;  // sampled; the figures are in Outcome::measured
    Sizes limits{};         // the attempt is killed if it exceeds one; GPUs are not measured
    bool series = false;    // has a point now and then; they are in Output::monitor

    bool limited() const { return limits != Sizes{}; }
    bool operator==(const Watch&) const = default;
};

// X(name, unit, meaning): of a process tree; -1 if the kernel does not report it. MB are 2^20 bytes.
#define WQ_USAGE(X)                                                                                 \
    X(cores, "1/1000", "the most that it kept busy at once: CPU time by time, of a second or more") \
    WQ_USAGE_BUT_CORES(X)
#define WQ_USAGE_BUT_CORES(X)                                                                    \
    X(cpu_time, "us", "of all its processes, user and system, those that nobody waited for too") \
    X(memory, "MB", "the most at once, resident; what its processes share counts once")          \
    X(virtual_memory, "MB", "the most at once, of address space")                                \
    X(swap_memory, "MB", "the most at once, swapped out")                                        \
    X(disk, "MB", "the most at once, in its sandbox and its temporary folder")                   \
    X(files, "files", "the most at once, files and folders in these")                            \
    X(bytes_read, "bytes", "read from files, by system calls")                                   \
    X(bytes_written, "bytes", "written to files, by system calls")                               \
    X(bytes_received, "bytes", "over TCP, by the connections that were seen")                    \
    X(bytes_sent, "bytes", "over TCP, by the connections that were seen")                        \
    X(bandwidth, "bytes/s", "the most that went over these, both ways, in a second or more")     \
    X(processes_at_once, "processes", "the most at once")                                        \
    X(processes, "processes", "that were seen")                                                  \
    X(context_switches, "1", "of those that were seen")

struct Usage {
#define WQ_FIELD(name, unit, meaning) std::int64_t name = unsaid;
    WQ_USAGE(WQ_FIELD)
#undef WQ_FIELD
    bool operator==(const Usage&) const = default;
};

struct Measured {
    Usage usage;
    Sizes exceeded;  // the limits that it was killed for; unsaid: not this one
    // Samples in which one of its processes waited for a disk or a file server (state D in /proc/PID/stat),
    // of a thousand; unsaid: not sampled.
    std::int64_t disk_wait = unsaid;
    bool operator==(const Measured&) const = default;
};

// The usage of a task up to a moment, with its memory and disk at that moment.
struct UsagePoint {
    std::int64_t at_us = 0;  // since its start
    std::string label;       // of a snapshot, which an event of the task took; "": of the time series
    Usage usage;
    bool operator==(const UsagePoint&) const = default;
};

// Further measurements of an attempt, as its worker reports them.
struct MonitorReport {
    std::int64_t machine_cpus = unsaid;
    std::int64_t machine_load = unsaid;  // 1/1000, of the last minute
    Usage peak_us;                       // when each was reached, since its start
    std::vector<UsagePoint> points;
    bool operator==(const MonitorReport&) const = default;
};

// The input by which a task says what events take snapshots, in its sandbox.
inline constexpr const char* snapshots_file = ".work_queue-snapshots.json";

// Upper bound for figures other than sizes, so that sums stay far from overflow: microseconds of 36,000
// years; an exabyte.
inline constexpr std::int64_t most_measured = std::int64_t{1} << 60;

// Bounds measurements from a peer. They are lowered, not refused: a worker is not to blame for what a task
// did or a kernel reported.
Usage within_bounds(const Usage& usage);

// What a category learns from it; nothing for GPUs.
inline Sizes peaks_of(const Usage& usage) {
    return {usage.cores, usage.memory, usage.disk, unsaid};
}

// How one attempt of a task ended, as the launcher measured it.
enum class Ending : std::uint8_t {
    exited = 0,            // with `exit_code`
    signalled = 1,         // killed by `signal`
    timed_out = 2,         // exceeded its time; the process tree was killed
    out_of_memory = 3,     // exceeded its memory, or the kernel's OOM killer killed it
    not_started = 4,       // could not be executed (126 or 127), see `reason`. `started_us` 0: never tried
    killed = 5,            // by our order: interrupt, halt, cancel
    worker_lost = 6,       // lost with its worker; no figures
    never_ran = 7,         // a predecessor in its group failed, or no worker is large enough; see `reason`
    raised = 8,            // a function threw `reason`
    expired = 9,           // its end time came before it started, or while it ran (then `started_us` is set)
    input_missing = 10,    // an input file was missing or could not be transferred; see `reason`
    output_missing = 11,   // it ended, but an output file is missing; see `reason`
    disk_full = 12,        // the worker's disk
    not_transferred = 13,  // it ended, but an output file could not be stored here
    too_slow = 14,         // it took much longer than others of its category and was killed (fast abort)
    exhausted = 15,        // exceeded its cores or disk; see `reason` and `measured`
};
inline constexpr std::size_t ending_count = 16;
constexpr Ending last_of(Ending) {
    return static_cast<Ending>(ending_count - 1);
}

// It exceeded part of its allocation.
constexpr bool is_exhaustion(Ending ending) {
    return ending == Ending::out_of_memory || ending == Ending::exhausted;
}

// How a worker runs a function (see node/process/functions.h).
enum class CallMode : std::uint8_t {
    fork = 0,    // in a child process: the worker survives whatever it does
    thread = 1,  // on a thread of the worker, up to one per core
    direct = 2,  // one after the other in the worker process: fastest
};
constexpr CallMode last_of(CallMode) {
    return CallMode::direct;
}

// When the files of an attempt were where they belong, by the wall clock of its host; 0: it had none, or its
// worker did not say. Its worker knows these times, the launcher does not.
struct FileTimes {
    WallMicros inputs_there_us = 0;   // the last input was in its sandbox
    WallMicros outputs_there_us = 0;  // the manager had stored the last output
    bool operator==(const FileTimes&) const = default;
};

struct Outcome {
    Ending ending = Ending::exited;
    int exit_code = 0;
    int signal = 0;
    WallMicros started_us = 0;  // start of the process, wall clock of its host
    std::int64_t wall_us = 0;
    std::int64_t user_us = 0;  // CPU time of the process and its reaped children
    std::int64_t system_us = 0;
    std::int64_t peak_memory_kb = 0;  // largest resident set of any one process (ru_maxrss)
    std::int64_t bytes_read = 0;      // from block devices (ru_inblock * 512)
    std::int64_t bytes_written = 0;
    std::uint64_t stdout_bytes = 0;  // written by the task, including what was truncated
    std::uint64_t stderr_bytes = 0;
    std::string reason;                  // one line, if the fields above do not explain enough
    std::optional<Measured> measured{};  // only if it was watched
    FileTimes files{};

    bool succeeded() const { return ending == Ending::exited && exit_code == 0; }
};

// Exit codes of what could not be executed, as the shell has them.
inline constexpr int exit_cannot_execute = 126;
inline constexpr int exit_not_found = 127;
// `started_us` stays: it says whether the command was tried.
void set_not_started(Outcome& outcome, std::string reason, int exit_code = exit_cannot_execute);

// return_status in Work Queue's manual: the exit code as in a shell, or the signal, 9 if it was killed for a
// time or a limit; -1: it never ran.
int return_status(const Outcome& outcome);
int return_status_of_call(
    const Outcome& outcome);  // the same, but that of a call which was not started is its exit code

// The largest number of cores that it kept busy, in thousandths; unsaid: not measured. A task too short to
// measure (under a second) is counted as if it ran for one second.
std::int64_t busy_cores(const Outcome& outcome);

// The most bytes of one stream that are kept: an output travels whole, and three processes hold it in memory.
inline constexpr std::uint64_t most_output_limit = 256u << 20;

// The captured text of both streams, truncated at the limit with a marker (see node/process/capture.h).
struct Output {
    std::string out;
    std::string err;
    std::string result{};                    // of a function, as msgpack
    std::optional<MonitorReport> monitor{};  // only if it was measured
};

std::string signal_name(int number);  // "SIGSEGV"; "signal 35" if it has no name
const char* name_of(Ending ending);   // "exited", "signalled", ...
std::string describe(
    const Outcome& outcome);  // "exit 3", "signal 11 (SIGSEGV)", "timed out after 10m00s", ...

// ---- the limit of kept output: the launcher cuts a stream there, the manager what a worker sends uncut ----

// The most bytes of one stream that a program's manager keeps. Of most_output_limit bytes and less, a stream
// travels whole; above, one larger than most_in_memory is a file that travels in parts.
inline constexpr std::uint64_t most_output = std::uint64_t{1} << 30;
inline constexpr std::uint64_t most_in_memory = 16u << 20;

// "[work_queue: 12 more bytes of stdout not kept; the limit is 8388608 bytes]"
std::string cut_marker(const char* stream, std::uint64_t lost, std::uint64_t limit);

// Truncates a stream of which the task wrote `total` bytes, and appends the marker, if that exceeds the
// limit.
void cut_at(std::uint64_t limit, std::string& text, const char* stream, std::uint64_t total);

// The same for both streams of an output that was to be cut already: nothing changes if it was.
void cut_again(std::uint64_t limit, Output& output, const Outcome& outcome);

// The duration of an attempt, as its worker reports it.

// A peer's figure may exceed a Duration: a century at most.
inline Duration wall_time(const Outcome& outcome) {
    constexpr std::int64_t most = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000;
    return std::chrono::microseconds(std::clamp<std::int64_t>(outcome.wall_us, 0, most));
}

}  // namespace wq::engine::model
