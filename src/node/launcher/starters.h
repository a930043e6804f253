// Threads that start and reap commands. Each is bound to one core.
//
// With one thread for all cores, a core that becomes free waits for that thread, which the kernel wakes on
// the core where it ran last: with commands of 0.7 ms on two cores, 8 % of the time. A thread that is bound
// to the core is woken there, at once. All of them work on the same state, one at a time; the launcher's loop
// is one more that does so.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "base/wake.h"
#include "node/machine/cpu_mask.h"

namespace wq::node::launcher {

class Starters {
  public:
    using Index = std::size_t;                        // of its core in the slice
    static constexpr Index loop = ~std::size_t{0};    // the launcher's loop, which can start anything
    static constexpr std::size_t most_starters = 64;  // cores beyond have none

    class Work {
      public:
        // Called with the lock held. `child_ended`: a child of this thread has ended and is not reaped.
        // False: no starter has anything more to do.
        virtual bool turn(Index starter, bool child_ended) = 0;

      protected:
        ~Work() = default;
    };

    // `cores`: what each is bound to; an empty mask: to nothing. A thread is created when it is first asked.
    // It runs until the process ends, as its children would be killed when it ends: so this object, `work`
    // and what that uses must stay until then.
    Starters(std::vector<machine::CpuMask> cores, Work& work);

    // What the caller holds while it works on the common state.
    std::mutex& lock() { return lock_; }

    // The one for tasks on this core; `loop` if there is none.
    Index of_core(std::size_t core) const { return core < starters_.size() ? core : loop; }

    // With the lock held. Gives `starter` a turn, so that it does what `by` found. False if `by` must do it,
    // because
    //   the starter waits for a child and cannot be told,
    //   or it cannot be created,
    //   or it was asked before and has not come (another program may have its core); only the loop can wait.
    bool leave_to(Index starter, Index by);
    void ask_loop();
    // Becomes readable when the loop was asked, until taken.
    int descriptor() const { return loop_asked_.descriptor(); }
    void take();

  private:
    struct Starter {
        Starter(Starters& all, Index core, machine::CpuMask mask_of_core)
            : owner(all), index(core), mask(std::move(mask_of_core)) {}
        Starters& owner;
        Index index;
        machine::CpuMask mask;
        std::condition_variable asked;
        bool there = false;  // the thread exists
        bool idle = true;    // it waits to be asked
        bool wanted = false;
    };
    bool ask(Index starter);
    bool create(Index starter);
    static void* run_starter(void* starter);
    void run(Starter& self);

    Work& work_;
    std::mutex lock_;
    std::deque<Starter> starters_;
    Wake loop_asked_;
};

}  // namespace wq::node::launcher
