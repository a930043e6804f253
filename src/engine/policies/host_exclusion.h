// Excludes hosts: those that the user blocks, and those where tasks fail that succeed elsewhere. A failing
// host is excluded only while other hosts could run the waiting tasks. Tasks that run on an excluded host
// continue, and its workers may join and wait.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/model/shunned_hosts.h"
#include "engine/policies/policy.h"

namespace wq::engine::policies {

class HostExclusion : Policy {
  public:
    explicit HostExclusion(Shared& shared)
        : Policy(shared),
          options_(shared.state.options),
          pool_state_(shared.state.pool),
          blocks_(shared.state.blocks) {}

    void on(const HostBlocked& event);
    void on(const HostUnblocked& event);

    void reported(const Worker& worker, TaskId task, const Outcome& outcome, Instant began);
    void range_succeeded(const Worker& worker, ShapeId shape, std::uint64_t tasks, Duration all,
                         Duration each);
    void awakened(ShapeId shape);
    void worker_gone(const RemovedWorker& worker);
    void tuned(const Tuned& event);
    void tick();
    std::optional<Instant> next_due() const { return blocks_.next_end(); }
    std::optional<std::string> audit() const;

    // Called after every event. Acts when all other hosts have left or are blocked: a bad host is better than
    // none.
    void release_the_last_hosts();

  private:
    void block(const std::string& host, const HostBlock& block);
    void unblock(const std::string& host);
    void release(const std::string& host);
    void release_all();
    std::vector<std::string> excluded_here() const;

    AlikeId alike(ShapeId shape);
    void exclude(const std::string& host, const FailingHosts::Verdict& verdict, const Outcome& last);
    bool others_could_do(ShapeId failing, const std::string& host) const;
    std::uint64_t running_elsewhere(const std::string& host, AlikeId kind, Instant from, Instant to);
    std::uint64_t tickets_elsewhere(const std::string& host, AlikeId kind, Instant from, Instant to);

    ReactorOptions& options_;
    PoolState& pool_state_;
    HostBlocks& blocks_;
    FailingHosts failing_hosts_;
    // What makes tasks comparable: the category, whether they need GPUs, features and workers.
    std::map<std::tuple<CategoryId, bool, std::vector<std::string>, std::vector<WorkerId>>, AlikeId> alike_;
    PerShape<std::optional<AlikeId>> alike_of_;
    std::uint64_t needless_at_ = 0;  // pool version in which tasks waited for no excluded host
};

}  // namespace wq::engine::policies
