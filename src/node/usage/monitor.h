// Keeps the measured usage of one running task: peaks so far, and sums over its processes.
#pragma once

#include <regex.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/model/outcome.h"
#include "node/usage/disk_meter.h"
#include "node/usage/socket_meter.h"
#include "node/usage/tree_sample.h"

namespace wq::node::usage {

// Events in files of a task for which snapshots of its usage are taken, as CCTools' resource monitor has
// them. A JSON object names the files, in the task's folder:
//   {"FILE": {"from-start": false, "from-start-if-truncated": true, "delete-if-found": false, "events": [
//       {"label": "NAME", "on-create": false, "on-truncate": false, "pattern": "REGEXP", "count": -1}]}}
// A pattern is a POSIX extended regular expression for a line; `count` is the most snapshots of the event
// (-1: no limit).
class SnapshotEvents {
  public:
    // Reads engine::model::snapshots_file in this folder, of a task that began then. Null: there is none, or
    // it has no such object.
    static std::unique_ptr<SnapshotEvents> in(const std::string& folder, WallMicros began);

    // Labels of the events since the last call, each once.
    std::vector<std::string> new_labels();

  private:
    struct FreePattern {
        void operator()(regex_t* pattern) const;
    };
    struct Event {
        std::string label;
        bool on_create = false;
        bool on_truncate = false;
        std::unique_ptr<regex_t, FreePattern> pattern;
        long count = -1;
    };
    struct File {
        std::string path;
        bool from_start_if_truncated = true;
        bool delete_if_found = false;
        std::vector<Event> events;
        bool is_there = false;
        off_t read = 0;
        std::string line;  // its last one, as far as it is there
    };

    template <class Happened>
    void take(File& file, std::vector<std::string>& labels, const Happened& happened);
    void read_file(File& file, std::vector<std::string>& labels);
    void read_lines(File& file, int descriptor, std::vector<std::string>& labels);

    std::vector<File> files_;
};

// How fast a sum grows, over windows of at least `length`.
class RateWindow {
  public:
    RateWindow(Duration length, Instant begin) : length_(length), begin_(begin) {}
    // The rate per microsecond, times `scale`, when a window is full; the next window begins here.
    std::optional<std::int64_t> take(std::int64_t sum, std::int64_t scale, Instant now);

  private:
    Duration length_;
    Instant begin_;
    std::int64_t sum_ = 0;
};

class Monitor {
  public:
    Monitor(const engine::model::Watch& watch, Instant started);

    const engine::model::Watch& watch() const { return watch_; }
    const std::vector<ProcessSample>& processes() const { return processes_; }  // of the last sample
    // Whether the last sample had that process. `began`: distinguishes it from a later process with the same
    // pid.
    bool holds(pid_t pid, std::optional<std::uint64_t> began = std::nullopt) const;

    // Whether to ask for the proportional memory of processes whose sum is `resident_kb`, which counts shared
    // memory for each of them. Asking is costly.
    bool wants_proportional(const std::vector<ProcessSample>& processes, std::int64_t resident_kb);
    struct Memory {
        std::int64_t kb = 0;      // 0: unknown
        bool shared_out = false;  // only its part of the memory shared with other tasks
        std::int64_t swapped_kb = 0;
    };
    void take(std::vector<ProcessSample> processes, const Memory& memory, Instant now);
    void take(const DiskUse& use);
    // The traffic of all connections, including its own.
    void take(const TrafficOf& all, Instant now);

    // Sets the CPU time of all its processes so far, if the kernel counts it. Called before each take().
    void counted_by_kernel(std::int64_t cpu_us) { kernels_cpu_us_ = cpu_us; }
    // The kernel killed it, because it needed more memory than its limit.
    void reached_memory_limit();

    // We reaped a process, which may be one of the task's. `seen`: its last sample, if known.
    void waited_for(pid_t pid, const rusage& usage, const std::optional<ProcessSample>& seen);
    // The same for its main process. `bytes`: its last sample, if known. `left`: the task's other processes.
    void ended(const rusage& usage, const std::optional<ProcessSample>& bytes,
               const std::vector<ProcessSample>& left, Instant now);

    // The limits that it exceeds now; unsaid for the others.
    engine::model::Sizes excess() const;
    engine::model::Usage usage() const;
    // The sums so far, and memory and disk now.
    engine::model::Usage now() const;
    // As Measured::disk_wait.
    std::int64_t disk_wait() const;

    // Notes a point for each label, and one of the time series if that is wanted and due.
    void record_point(const std::vector<std::string>& labels, Instant now);
    engine::model::MonitorReport take_report() { return std::move(report_); }

    std::unique_ptr<SnapshotEvents> events;  // null: the task has none

    engine::model::Sizes exceeded{};  // it is being killed for these
    Instant next_sample;
    Instant next_disk;
    bool disk_hangs = false;       // the meter hung on its folders
    bool disk_seems_over = false;  // over its limit: must be found once more
    bool memory_is_held = false;   // the kernel enforces its limit (except for cached files)

  private:
    void settle_missing(const std::vector<ProcessSample>& processes, const SamplesByPid& before,
                        const SamplesByPid& missing);
    void count(std::int64_t cpu_us, std::int64_t bytes_read, std::int64_t bytes_written);
    void count_sample(const std::vector<ProcessSample>& processes);
    void take_windows(Instant now);

    void note_peaks(std::int64_t at_us);

    const engine::model::Watch watch_;
    const Instant started_;
    engine::model::Usage noted_;  // peaks
    engine::model::MonitorReport report_;
    Duration series_every_;
    Instant next_of_series_;
    static constexpr std::size_t most_snapshots = 1000;
    static constexpr std::size_t most_of_series = 3600;
    std::size_t snapshots_ = 0;
    std::vector<ProcessSample> processes_;
    struct SampleCount {
        std::int64_t all = 0;
        std::int64_t waiting_for_disk = 0;
    };
    SampleCount samples_;
    engine::model::Usage peak_;  // except memory, which is kept in kB
    // Processes that the last sample missed. Their parents have reaped them or soon will, and then have their
    // time; if a parent ignores SIGCHLD, their time is lost.
    std::vector<ProcessSample> missing_;
    std::int64_t missing_us_ = 0;  // the part of their time that no parent has
    std::int64_t lost_us_ = 0;
    ProcessSample gone_;  // usage of processes that we reaped
    std::optional<std::int64_t> kernels_cpu_us_;
    std::int64_t switches_ = 0;
    std::int64_t memory_kb_ = 0;  // peak
    std::int64_t memory_now_kb_ = 0;
    std::int64_t resident_kb_ = 0;  // peak of one process, with its mapped file pages
    std::int64_t asked_at_kb_ = 0;  // resident, when proportional memory was last asked for
    int since_asked_ = 0;
    bool shared_out_ = false;
    std::int64_t disk_now_bytes_ = 0;
    std::int64_t cores_for_long_ = 0;  // thousandths, in the last long window
    TrafficOf connections_;
    Traffic closed_;  // traffic of closed connections
    RateWindow traffic_window_;
    RateWindow window_;
    RateWindow long_window_;
};

}  // namespace wq::node::usage
