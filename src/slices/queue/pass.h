// What all who take slices of a queue agree on: how the works are cut, and the order of the slices.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slices/claims/taker.h"
#include "slices/plan/plan.h"
#include "slices/queue/slice_works.h"
#include "work_queue/slice_queue.h"

namespace wq::slices::queue {

// As Plan::make().
Result<plan::Plan> plan_of(std::vector<plan::PlanSource> sources, const SliceOptions& options);

class Pass {
  public:
    // Throws SetupError: the options make no order of this plan.
    Pass(SliceOptions options, plan::Plan plan, std::uint64_t seed);

    const SliceOptions& options() const { return options_; }
    const plan::Plan& plan() const { return plan_; }
    std::uint64_t seed() const { return order_.seed(); }
    std::uint64_t positions() const { return order_.positions(); }
    std::uint64_t epoch_of(std::uint64_t position) const { return order_.epoch_of(position); }
    bool at_most_once() const { return options_.delivery == Delivery::at_most_once; }
    plan::SliceOrder order() const;  // of one's own
    // On any thread; position < positions().
    Slice slice_at(std::uint64_t position) const;

    // Of all that must be equal on all ranks.
    std::uint64_t digest() const;
    // For workers, which have neither the works nor the options.
    std::string bytes() const;
    // Error bad_input: garbage.
    static Result<std::unique_ptr<Pass>> from_bytes(std::string_view bytes);

  private:
    SliceOptions options_;
    plan::Plan plan_;
    mutable std::mutex mutex_;  // of order_, which computes ahead
    mutable plan::SliceOrder order_;
};

// What a process is to its queue: the one that gives the slices and takes some (giving.h), a rank of its job
// (ranks.h), or a worker elsewhere (remote_worker.h).
class Giving;

class Member {
  public:
    virtual ~Member() = default;
    virtual const Pass& pass() const = 0;
    virtual RecordSource& records() = 0;
    virtual claims::Taker& taker() = 0;
    virtual Giving* giving() { return nullptr; }  // if it is the one
    // Its end: nothing else is called after it. Returns whether a rank was lost: then MPI cannot be
    // finalized.
    virtual bool leave() { return taker().lost_some() || taker().failure(); }
};

}  // namespace wq::slices::queue
