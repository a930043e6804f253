// Which attempts hold how many of a worker's cores at a moment, and what they take of its other resources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "views/model/attempt_times.h"
#include "views/model/stays.h"

namespace wq::views::model {

// Amounts of what a worker has, beside its cores.
struct Amounts {
    std::int64_t memory_mb = 0;
    std::int64_t memory_peak_mb = 0;  // what was used of it, where that is known
    std::int64_t disk_mb = 0;
    std::int64_t gpus = 0;  // thousandths
    std::int64_t coprocesses = 0;

    Amounts& operator+=(const Amounts& other);
    Amounts& operator-=(const Amounts& other);
    auto operator<=>(const Amounts&) const = default;
};

// An attempt from its dispatch to its end.
struct Holder {
    std::uint32_t attempt = 0;  // place in RunView::attempts
    std::int64_t cores = 0;     // its allocation, thousandths
    Amounts amounts;            // the same
    PhaseTimes times;
    Phase phase = Phase::over;
    bool is_counted = false;  // in WorkerHolders::amounts()
    std::int64_t rate = 0;    // the cores that it holds now
    WallMicros since = 0;     // of `rate`
    CoreTime ran{0};          // what it has held while it ran
};

// Takes what a holder has held at one rate in one phase.
class HeldSink {
  public:
    virtual ~HeldSink() = default;
    virtual void add_held(Holder& holder, CoreTime held) = 0;
};

// The holders of one worker. Running ones have their allocation, or a share of the cores in proportion; what
// they leave is held by the others, in the order of their dispatch. Other resources are taken by those that
// run, that hold cores, or that need none.
class WorkerHolders {
  public:
    // The holder enters `phase`, or (Phase::over) leaves. share() follows, before time goes on.
    void enter(Holder& holder, Phase phase, WallMicros now, HeldSink& sink);
    // Divides the cores anew. Costs the number of those that run, if they want more than there is; else the
    // number of those that hold.
    void share(std::int64_t cores, WallMicros now, HeldSink& sink);

    std::int64_t held() const { return held_; }  // cores
    const Amounts& amounts() const { return amounts_; }

  private:
    void set_rate(Holder& holder, std::int64_t rate, WallMicros now, HeldSink& sink);
    void count(Holder& holder, bool is_counted);
    void insert(std::vector<Holder*>& all, Holder& holder);
    void remove(std::vector<Holder*>& all, Holder& holder);

    std::vector<Holder*> running_;  // with cores, in the order of their dispatch
    std::vector<Holder*> pending_;  // the same
    std::size_t granted_ = 0;       // of pending_: only the first ones may hold cores
    std::int64_t wanted_ = 0;       // cores of running_
    bool was_short_ = false;        // when they were last shared
    std::int64_t held_ = 0;
    Amounts amounts_;
};

}  // namespace wq::views::model
