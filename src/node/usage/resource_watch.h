// Samples the monitored tasks, and kills those that exceed their limits. It does nothing for other tasks.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <vector>

#include "node/process/poller.h"
#include "node/usage/disk_meter.h"
#include "node/usage/kills.h"
#include "node/usage/running_tasks.h"
#include "node/usage/socket_meter.h"
#include "node/usage/task_groups.h"
#include "node/usage/tree_sample.h"

namespace wq::node::usage {

// How long to rest after walks over the mappings of tasks that seem to exceed their memory limit. The walks
// may take 1/200 of a core, or up to 1/20 so that exceeded limits are noticed within seconds.
Duration rest_of_walks_for_limits(Duration walked);

class ResourceWatch {
  public:
    ResourceWatch(Leftovers& leftovers, Limits& limits, process::Poller& poller, OomCounter& oom)
        : leftovers_(leftovers), limits_(limits), poller_(poller), oom_(oom) {}

    void prepare(RunningTask& task);                   // before it starts
    void begin(RunningTask& task);                     // after it has started
    void release(RunningTask& task);                   // after finish()
    void take_back(RunningTask& task);                 // undoes begin(): the process that had it never began
    void make_no_groups() { groups_.make_no_more(); }  // because none can be entered
    bool idle() const { return watched_.empty(); }

    // Called before an ended child is reaped, while /proc still shows what it read and wrote.
    void last_look(pid_t pid);
    // Called after it was reaped. `task`: the task whose main process it was, or null.
    void waited_for(pid_t pid, RunningTask* task, const rusage& usage, Instant now);
    // Whether the kernel killed the task for lack of memory. task.outcome must say how it ended. Called once
    // per task.
    bool ended_by_kernel(RunningTask& task);
    // The last call for a task: writes the measured usage into task.outcome.
    void finish(RunningTask& task);

    void check(Instant now);
    std::optional<Instant> next() const;
    void handle_disk_answer(Instant now);  // PollSource::disk_meter is ready

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
    ProcessTreeReader reader_;
    DiskMeter disk_;
    SocketMeter sockets_;
    std::vector<RunningTask*> watched_;  // the monitored tasks
    std::optional<ProcessSample> last_look_;
    Instant not_before_{};  // limits the CPU time for samples
    Instant disk_not_before_{};
    Instant last_disk_not_before_{};
    // For proportional memory the kernel walks over all mappings, which is costly.
    Instant walk_not_before_{};
    Instant walk_for_limit_not_before_{};
    bool may_walk_ = true;
    bool may_walk_for_limit_ = true;
    Duration walked_{};
    std::int64_t launcher_kb_ = 0;  // peak of its own unshared memory
    Instant connections_not_before_{};
};

}  // namespace wq::node::usage
