// Hosts whose workers get no tasks: permanently, or until a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "engine/model/ledger.h"
#include "engine/model/worker_table.h"

namespace wq::engine::model {

struct HostBlock {
    std::optional<Instant> until;  // nullopt: until it is unblocked
    bool by_itself = false;        // the manager's decision, not the user's
};

class HostBlocks {
  public:
    // Replaces the host's earlier entry.
    void block_host(const std::string& host, const HostBlock& block);
    bool remove(const std::string& host);  // false: it was not blocked
    const HostBlock* find(const std::string& host) const;
    bool empty() const { return blocks_.empty(); }
    std::size_t size() const { return blocks_.size(); }
    const std::map<std::string, HostBlock>& all() const { return blocks_; }
    bool any_by_itself() const { return by_itself_ > 0; }
    std::uint64_t version() const { return version_; }  // grows with each change

    // The earliest end.
    std::optional<Instant> next_end() const;
    std::vector<std::string> over(Instant now) const;

    std::optional<std::string> audit() const;

  private:
    std::map<std::string, HostBlock> blocks_;
    std::set<std::pair<Instant, std::string>> ends_;
    std::size_t by_itself_ = 0;
    std::uint64_t version_ = 0;
};

// Ready tasks that avoid a host for a while because they were too slow there, or only their worker if no
// other host could run them. The tasks behind them in their shape do not wait for them, so the next task of a
// shape depends on the worker that asks.
class AvoidedHosts {
  public:
    struct Avoided {
        WorkerId worker;
        std::string host;
        bool whole_host = false;  // another host could run it
        Instant until;
        ShapeId shape;
    };

    AvoidedHosts(Ledger& ledger, const WorkerTable& workers) : ledger_(ledger), workers_(workers) {}

    void avoid_worker(TaskId task, const Worker& worker, bool whole_host, Instant until);
    void remove(TaskId task) {
        if (!avoided_.empty()) remove_known(task);
    }
    void remove(Interval tasks);

    bool empty() const { return avoided_.empty(); }
    const Avoided* find(TaskId task) const;
    std::optional<Instant> next_end() const;
    std::optional<TaskId> over(Instant now) const;  // one whose time to avoid has ended

    // A task avoids no host while only that host gets tasks, and no worker that is the last one of its host.
    bool avoids(TaskId task, const Worker& worker) const {
        return !avoided_.empty() && avoids_now(task, worker);
    }
    // The highest-priority ready task of the shape that does not avoid the worker.
    std::optional<ReadyHead> next_for(ShapeId shape, const Worker& worker) const;
    std::optional<TaskId> next_suspect_for(ShapeId shape, const Worker& worker) const;
    bool has_one_for(ShapeId shape, Among among, const Worker& worker) const;

    std::optional<std::string> audit() const;

  private:
    void remove_known(TaskId task);
    bool avoids_now(TaskId task, const Worker& worker) const;
    std::optional<TaskId> first_for(const IntervalSet& tasks, const Worker& worker) const;

    Ledger& ledger_;
    const WorkerTable& workers_;
    std::map<TaskId, Avoided> avoided_;
    std::map<ShapeId, std::uint32_t> avoiding_;  // how many tasks of each shape
    std::set<std::pair<Instant, TaskId>> ends_;
};

// Finds hosts where tasks fail that succeed elsewhere: a node with a broken file system fails each task
// within a second, and would drain the whole queue. Commands that are wrong themselves fail on every host and
// are often neighbours in a list. So each host is compared with the others, for tasks of the same kind that
// started while it failed, ended or still running. A host is excluded when its failures in a row are more
// than chance.

// Tasks of one category that need the same kind of worker are comparable.
using AlikeId = Id<struct AlikeTag, std::uint32_t>;

class FailingHosts {
  public:
    struct Verdict {
        std::uint64_t failures = 0;   // in a row
        Duration each{0};             // their mean run time
        std::uint64_t elsewhere = 0;  // started meanwhile on other hosts, and ended or still running
        std::uint64_t failed_elsewhere = 0;
        Duration time{0};  // how long to exclude it
    };
    struct Ended {
        std::string host;
        AlikeId alike;
        Duration wall{0};  // the sum over all of them
        Instant begun;
    };
    // How many comparable tasks other hosts run that started within the time; counting stops here, since more
    // add no certainty.
    static constexpr std::uint64_t most_running = 64;
    using Running = std::function<std::uint64_t(Instant from, Instant to)>;

    void succeeded(const Ended& ended, std::uint64_t tasks);
    std::optional<Verdict> failed(const Ended& ended, Instant now, const Running& running_elsewhere);

    // It was excluded. The next exclusion will be longer, unless it does well in between.
    void note_exclusion(const std::string& host);
    // It was not excluded because no other host could run the waiting tasks; it is judged again after some
    // more failures.
    void spared(const std::string& host, AlikeId alike);
    // The user overrides the decision, or the host has left.
    void forget(const std::string& host);
    void forget_unless_bad(const std::string& host);
    void forget_all();

  private:
    // Failures in a row on one host.
    struct Row {
        std::uint64_t failures = 0;  // since it was last excluded
        double wall_us = 0;          // the sum over all of them
        Instant looked_at;           // since the first few failures
        std::uint64_t all_failures = 0;
        Instant begun;  // when the first of all started
        // On other hosts, since the row began; successes count only if the task also started since then.
        std::uint64_t succeeded = 0;
        std::uint64_t failed_before = 0;   // on any host
        std::uint64_t count_again_at = 0;  // number of failures at which the tasks running elsewhere are
                                           // counted again
        std::uint64_t judge_again_at = 0;  // number of failures, if it was spared
    };
    struct Kind {  // comparable tasks
        std::uint64_t succeeded = 0;
        std::uint64_t failed = 0;
        double wall_us = 0;               // of the successful ones
        std::map<std::string, Row> rows;  // by host
    };
    struct Host {
        std::vector<AlikeId> rows;  // oldest first
        std::uint32_t times_excluded = 0;
        std::uint32_t good = 0;  // successes since it was excluded
    };
    Kind& kind(AlikeId alike);
    Row& row(const std::string& name, AlikeId alike);

    std::vector<Kind> kinds_;                      // by AlikeId
    std::unordered_map<std::string, Host> hosts_;  // those where some task failed
};

}  // namespace wq::engine::model
