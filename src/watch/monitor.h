// What was seen of one running task: peaks so far, and sums of what its processes took.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/usage.h"
#include "watch/disk_use.h"
#include "watch/socket_meter.h"
#include "watch/tree_sample.h"

namespace wq::watch {

// How fast a sum grows, over windows of at least `length`.
class RateWindow {
  public:
    RateWindow(Duration length, Instant begin) : length_(length), begin_(begin) {}
    // By the microsecond, times `scale`, once a window is full; the next one begins here.
    std::optional<std::int64_t> take(std::int64_t sum, std::int64_t scale, Instant now);

  private:
    Duration length_;
    Instant begin_;
    std::int64_t sum_ = 0;
};

class Monitor {
  public:
    Monitor(const core::Watch& watch, Instant started);

    const core::Watch& watch() const { return watch_; }
    const std::vector<ProcessSample>& processes() const { return processes_; }  // the last time
    // Whether it had that process then. `began`: by which one that was given its pid since is told from it.
    bool holds(pid_t pid, std::optional<std::uint64_t> began = std::nullopt) const;

    // Whether to ask for the proportional memory of processes that have together `resident_kb`: what they
    // share is counted for each of them there. To ask is costly.
    bool wants_proportional(const std::vector<ProcessSample>& processes, std::int64_t resident_kb);
    struct Memory {
        std::int64_t kb = 0;      // 0: not known
        bool shared_out = false;  // of what it shares with other tasks only its part
        std::int64_t swapped_kb = 0;
    };
    void take(std::vector<ProcessSample> processes, const Memory& memory, Instant now);
    void take(const DiskUse& use);
    // What went over all connections that there are, its own among them.
    void take(const TrafficOf& all, Instant now);

    // The CPU time of all that ever was of it, where the kernel counts that; said before each take().
    void counted_by_kernel(std::int64_t cpu_us) { kernels_cpu_us_ = cpu_us; }
    // The kernel has ended it, since it needed more memory than its limit.
    void reached_memory_limit();

    // A process has ended and was waited for by us, perhaps one of its. `seen`: as it ended, if known.
    void waited_for(pid_t pid, const rusage& usage, const std::optional<ProcessSample>& seen);
    // So has its main process. `bytes`: of it as it ended, if known. `left`: what there is of its others.
    void ended(const rusage& usage, const std::optional<ProcessSample>& bytes,
               const std::vector<ProcessSample>& left, Instant now);

    // The limits that it takes more than now; unsaid: none.
    core::Sizes excess() const;
    core::Usage usage() const;

    core::Sizes exceeded{};  // it is being ended for these
    Instant next_sample;
    Instant next_disk;
    bool disk_hangs = false;       // who looked at it did not come back
    bool disk_seems_over = false;  // its limit: to be found once more
    bool memory_is_held = false;   // by the kernel: it never has more than its limit but of cached files

  private:
    void settle_missing(const std::vector<ProcessSample>& processes, const SamplesByPid& before,
                        const SamplesByPid& missing);
    void count(std::int64_t cpu_us, std::int64_t bytes_read, std::int64_t bytes_written);
    void take_windows(Instant now);

    const core::Watch watch_;
    std::vector<ProcessSample> processes_;
    core::Usage peak_;  // but memory, of which less than a MB is seen too
    // Who was there the time before the last and was not the last time. Their parents have waited for them,
    // and have their time, or soon will; or have chosen not to (SIGCHLD ignored): then it is lost with them.
    std::vector<ProcessSample> missing_;
    std::int64_t missing_us_ = 0;  // of their time what no parent has
    std::int64_t lost_us_ = 0;
    ProcessSample gone_;  // what those took that we have waited for
    std::optional<std::int64_t> kernels_cpu_us_;
    std::int64_t switches_ = 0;
    std::int64_t memory_kb_ = 0;  // the most
    std::int64_t memory_now_kb_ = 0;
    std::int64_t resident_kb_ = 0;  // the most of one process, with the pages of files that it has mapped
    std::int64_t asked_at_kb_ = 0;  // resident, when proportional memory was last asked for
    int since_asked_ = 0;
    bool shared_out_ = false;
    std::int64_t disk_now_bytes_ = 0;
    std::int64_t cores_for_long_ = 0;  // thousandths, in the last long window
    TrafficOf connections_;
    Traffic closed_;  // what went over connections that are no more
    RateWindow traffic_window_;
    RateWindow window_;
    RateWindow long_window_;
};

}  // namespace wq::watch
