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
#include "host/poller.h"
#include "host/socket_meter.h"
#include "host/tree_sample.h"

namespace wq::host {

class ResourceWatch {
  public:
    ResourceWatch(Leftovers& leftovers, Limits& limits, Poller& poller)
        : leftovers_(leftovers), limits_(limits), poller_(poller) {}

    void begin(Lane& lane);  // it has just started
    bool idle() const { return lanes_.empty(); }

    // A child that has ended is about to be waited for: as yet /proc tells what it read and wrote.
    void last_look(pid_t pid);
    // And now it was; `lane`: whose main process it was, null: nobody's.
    void waited_for(pid_t pid, Lane* lane, const rusage& usage, Instant now);
    // Its last: what was measured goes into lane.outcome.
    void finish(Lane& lane);

    void check(Instant now);
    std::optional<Instant> next() const;
    void take_disk_answer(Instant now);  // Source::disk_meter is ready

  private:
    void sample(Instant now);
    void sample(Lane& lane);
    void look_at_connections();
    Monitor::Memory memory_of(Monitor& monitor, const std::vector<ProcessSample>& processes);
    void hold_to_limits(Lane& lane, Instant now);
    void ask_for_disk(Instant now);
    bool start_meter();

    Leftovers& leftovers_;
    Limits& limits_;
    Poller& poller_;
    TreeReader reader_;
    DiskMeter disk_;
    const SocketMeter sockets_;
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
    Instant connections_not_before_{};
};

}  // namespace wq::host
