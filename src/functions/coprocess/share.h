// What one coprocess may use: an equal share of all coprocesses' resources, and whether it uses more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/model/outcome.h"
#include "engine/model/resources.h"
#include "node/usage/disk_meter.h"
#include "node/usage/tree_sample.h"

namespace wq::functions::coprocess {

// One of `count` equal shares. Cores and GPUs may be fractions; memory and disk are rounded down, but at
// least 1 MB. 0 of anything stays 0: no limit.
engine::model::Resources equal_share(const engine::model::Resources& total, std::int64_t count);

// More was used than the share allows.
struct Excess {
    engine::model::Ending ending = engine::model::Ending::exhausted;
    std::string reason;
    engine::model::Measured measured;
};

// Watches the processes of one coprocess, and its folder.
//
// Cores are counted over at least a second, and a tenth of a core more is allowed: no sample is exact. One
// core is always allowed: a function that computes cannot use less. Memory is what the processes have
// resident; what they share counts once, since a forked child shares all with its parent.
class ShareWatch {
  public:
    ShareWatch(const engine::model::Resources& share, std::string folder)
        : share_(share), folder_(std::move(folder)) {}

    // `memory_mb`: the limit of the task, if that is below the share; 0: none. `sandbox`: a folder elsewhere
    // that also counts; empty: none. Cores are counted on from one call to the next.
    void begin_call(std::int64_t memory_mb, const std::string& sandbox);
    void end_call();
    // `root`: the parent of all its processes, which itself does not count. `starts`: the coprocess starts,
    // and may use any cores.
    std::optional<Excess> sample(pid_t root, Instant now, bool starts);

    // The part of sample() that judges cores; `cpu_us`: CPU time of all processes so far.
    std::optional<Excess> judge_cpu(std::int64_t cpu_us, Instant now);

  private:
    std::optional<Excess> memory(pid_t root);
    std::optional<Excess> disk(Instant now);
    void take_sandbox(const std::string& sandbox);
    Excess excess(engine::model::Ending ending, const std::string& reason) const;

    engine::model::Resources share_;
    std::string folder_;
    std::string sandbox_;
    std::int64_t task_memory_mb_ = 0;
    node::usage::ProcessTreeReader reader_;
    std::vector<node::usage::ProcessSample> processes_;
    std::optional<Instant> cores_since_;
    std::int64_t cpu_before_us_ = 0;
    std::optional<node::usage::DiskWalk> walk_;
    engine::model::Usage usage_;
};

}  // namespace wq::functions::coprocess
