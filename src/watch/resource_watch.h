// Samples the tasks that are to be watched, and ends those that take more than they were given. For tasks
// that are not it does nothing.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <vector>

#include "process/poller.h"
#include "watch/disk_meter.h"
#include "watch/leftovers.h"
#include "watch/limits.h"
#include "watch/oom_counter.h"
#include "watch/running_tasks.h"
#include "watch/socket_meter.h"
#include "watch/task_groups.h"
#include "watch/tree_sample.h"

namespace wq::watch {

// After walks over the mappings of tasks that look as if they had more memory than their limit: one part of a
// core in 200 is for these; but no limit is to be seen late for that by more than seconds, up to one in 20.
Duration rest_of_walks_for_limits(Duration walked);

class ResourceWatch {
  public:
    ResourceWatch(Leftovers& leftovers, Limits& limits, process::Poller& poller, OomCounter& oom)
        : leftovers_(leftovers), limits_(limits), poller_(poller), oom_(oom) {}

    void prepare(RunningTask& task);                   // it is about to start
    void begin(RunningTask& task);                     // it has
    void release(RunningTask& task);                   // it has ended, and was finished
    void make_no_groups() { groups_.make_no_more(); }  // none can be entered
    bool idle() const { return watched_.empty(); }

    // A child that has ended is about to be waited for: as yet /proc tells what it read and wrote.
    void last_look(pid_t pid);
    // And now it was; `task`: whose main process it was, null: nobody's.
    void waited_for(pid_t pid, RunningTask* task, const rusage& usage, Instant now);
    // How it ended is in task.outcome: whether the kernel did that for lack of memory. Once for each task.
    bool ended_by_kernel(RunningTask& task);
    // Its last: what was measured goes into task.outcome.
    void finish(RunningTask& task);

    void check(Instant now);
    std::optional<Instant> next() const;
    void take_disk_answer(Instant now);  // Source::disk_meter is ready

  private:
    void sample(Instant now);
    void sample(RunningTask& task);
    void look_at_connections();
    Monitor::Memory memory_of(const RunningTask& task, const std::vector<ProcessSample>& processes);
    Monitor::Memory resident_of(const RunningTask& task, const std::vector<ProcessSample>& processes);
    std::int64_t own_kb(const RunningTask& task, const std::vector<ProcessSample>& processes);
    static void take_kernels_count(const RunningTask& task);
    void hold_to_limits(RunningTask& task, Instant now);
    void last_look_at_disk(const RunningTask& task, Monitor& monitor);
    void ask_for_disk(Instant now);
    bool start_meter();
    void give_up_meter(Instant now);

    Leftovers& leftovers_;
    Limits& limits_;
    process::Poller& poller_;
    OomCounter& oom_;
    TaskGroups groups_;
    TreeReader reader_;
    DiskMeter disk_;
    SocketMeter sockets_;
    std::vector<RunningTask*> watched_;  // that are watched
    std::optional<ProcessSample> last_look_;
    Instant not_before_{};  // samples: or they would take too much of a core
    Instant disk_not_before_{};
    Instant last_disk_not_before_{};
    // For proportional memory the kernel walks over all mappings.
    Instant walk_not_before_{};
    Instant walk_for_limit_not_before_{};
    bool may_walk_ = true;
    bool may_walk_for_limit_ = true;
    Duration walked_{};
    std::int64_t launcher_kb_ = 0;  // the most that it was seen to have for itself
    Instant connections_not_before_{};
};

}  // namespace wq::watch
