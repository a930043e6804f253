// What follows the end of a task's process: its verdict, the rest of its output, what it left behind, its
// report, and its lane for the next task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "node/launcher/accounts.h"
#include "node/launcher/lane.h"
#include "node/launcher/launcher_wire.h"
#include "node/usage/resource_watch.h"
#include "node/usage/running_tasks.h"

namespace wq::node::launcher {

// Collects reports for the rank in batches, so that a short task does not cost the rank a wake-up.
class ReportBuffer {
  public:
    void add(std::uint64_t serial, Report report, Instant now);
    void note_unreported(Instant now);  // a start: reported only if the batch is sent before the task ends

    bool empty() const { return count_ == 0 && !first_; }
    // The batch is full, or its oldest part has waited long enough.
    bool due(Instant now) const;
    Instant due_at() const { return *first_ + longest_delay; }

    // Writes the batch to the socket. False if the rank is gone.
    bool flush(int socket);
    bool stuck() const { return !leaving_.empty(); }  // the rank does not read as fast as tasks write
    bool congested() const { return leaving_.size() > most_leaving; }

  private:
    static constexpr Duration longest_delay = std::chrono::milliseconds(10);
    static constexpr std::size_t most_reports = 100;
    static constexpr std::size_t most_bytes = 64u << 10;
    static constexpr std::size_t most_leaving = 64u << 20;

    std::string batch_;
    SendBuffer leaving_;
    std::size_t count_ = 0;
    std::optional<Instant> first_;
};

class TaskEnds {
  public:
    TaskEnds(Accounts& accounts, Lanes& lanes, usage::Leftovers& leftovers, usage::ResourceWatch& watch,
             OutputWatch& outputs, ReportBuffer& reports)
        : accounts_(accounts),
          lanes_(lanes),
          leftovers_(leftovers),
          watch_(watch),
          outputs_(outputs),
          reports_(reports) {}

    // Its process has ended and was waited for. settle() does the rest, for all of them together.
    void retire_lane(Lane& lane, int status, const rusage& usage, Instant now);
    bool any() const { return !noted_.empty(); }
    enum class Ended : std::uint8_t { tasks, others_too };  // whose processes
    void settle(Ended ended, Instant now);

    // A lane whose task is reported, or was not begun.
    void release(Lane& lane);

    std::uint64_t count() const { return count_; }                                // of tasks that have ended
    bool take_killed_orphans() { return std::exchange(killed_orphans_, false); }  // since it was last called

  private:
    void finish(Lane& lane, bool may_be_held, Instant now);

    Accounts& accounts_;
    Lanes& lanes_;
    usage::Leftovers& leftovers_;
    usage::ResourceWatch& watch_;
    OutputWatch& outputs_;
    ReportBuffer& reports_;
    std::vector<Lane*> noted_;
    std::uint64_t count_ = 0;
    bool killed_orphans_ = false;
};

}  // namespace wq::node::launcher
