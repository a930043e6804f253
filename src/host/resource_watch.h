// Samples the tasks that are to be watched, and ends those that take more than they were given. For tasks
// that are not it does nothing.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <vector>

#include "host/disk_meter.h"
#include "host/lane.h"
#include "host/leftovers.h"
#include "host/limits.h"
#include "host/oom_counter.h"
#include "host/poller.h"
#include "host/socket_meter.h"
#include "host/task_groups.h"
#include "host/tree_sample.h"

namespace wq::host {

// After walks over the mappings of tasks that look as if they had more memory than their limit: one part of a
// core in 200 is for these; but no limit is to be seen late for that by more than seconds, up to one in 20.
Duration rest_of_walks_for_limits(Duration walked);

class ResourceWatch {
  public:
    ResourceWatch(Leftovers& leftovers, Limits& limits, Poller& poller, OomCounter& oom)
        : leftovers_(leftovers), limits_(limits), poller_(poller), oom_(oom) {}

    void prepare(Lane& lane);                          // it is about to start
    void begin(Lane& lane);                            // it has
    void release(Lane& lane);                          // it has ended, and was finished
    void make_no_groups() { groups_.make_no_more(); }  // none can be entered
    bool idle() const { return lanes_.empty(); }

    // A child that has ended is about to be waited for: as yet /proc tells what it read and wrote.
    void last_look(pid_t pid);
    // And now it was; `lane`: whose main process it was, null: nobody's.
    void waited_for(pid_t pid, Lane* lane, const rusage& usage, Instant now);
    // How it ended is in lane.outcome: whether the kernel did that for lack of memory. Once for each task.
    bool ended_by_kernel(Lane& lane);
    // Its last: what was measured goes into lane.outcome.
    void finish(Lane& lane);

    void check(Instant now);
    std::optional<Instant> next() const;
    void take_disk_answer(Instant now);  // Source::disk_meter is ready

  private:
    void sample(Instant now);
    void sample(Lane& lane);
    void look_at_connections();
    Monitor::Memory memory_of(const Lane& lane, const std::vector<ProcessSample>& processes);
    Monitor::Memory resident_of(const Lane& lane, const std::vector<ProcessSample>& processes);
    std::int64_t own_kb(const Lane& lane, const std::vector<ProcessSample>& processes);
    static void take_kernels_count(const Lane& lane);
    void hold_to_limits(Lane& lane, Instant now);
    void ask_for_disk(Instant now);
    bool start_meter();
    void give_up_meter(Instant now);

    Leftovers& leftovers_;
    Limits& limits_;
    Poller& poller_;
    OomCounter& oom_;
    TaskGroups groups_;
    TreeReader reader_;
    DiskMeter disk_;
    SocketMeter sockets_;
    std::vector<Lane*> lanes_;  // that are watched
    std::optional<ProcessSample> last_look_;
    Instant not_before_{};  // samples: or they would take too much of a core
    Instant disk_not_before_{};
    // For proportional memory the kernel walks over all mappings.
    Instant walk_not_before_{};
    Instant walk_for_limit_not_before_{};
    bool may_walk_ = true;
    bool may_walk_for_limit_ = true;
    Duration walked_{};
    std::int64_t launcher_kb_ = 0;  // the most that it was seen to have for itself
    Instant connections_not_before_{};
};

}  // namespace wq::host
