// The resource usage of an attempt's whole process tree, as its worker samples it, and its limits. Sampling
// is optional; figures that cost nothing are in model::Outcome.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/sizes.h"

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

}  // namespace wq::engine::model
