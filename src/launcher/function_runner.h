// Runs calls within this process: one after the other on one thread (`direct`), or on a thread a core
// (`thread`). Neither can be stopped once it runs, is held to a time or memory limit, or bound to cores, and
// its crash is ours: that is what `fork` is for, which the launcher does.
//
// One thread uses it. Orders are passed on with the next next().
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "launcher/call_threads.h"

namespace wq::launcher {

class FunctionRunner {
  public:
    // `threads`: of `thread` mode. The table is copied.
    FunctionRunner(const process::FunctionTable& functions, std::size_t threads);

    const process::FunctionTable& functions() const { return *functions_; }

    // Readable when next() has something to say or to do. Always the same; poll it, never read it.
    int descriptor() const { return bell_->get(); }
    // Besides: when to look again.
    std::optional<Instant> wakeup() const { return look_again_; }

    // `mode`: direct or thread.
    void run(CallOrder order, core::CallMode mode);
    void run(RangeOrder order);  // direct

    // As the launcher's: what has not begun comes back. What runs goes on to its end, which then counts as
    // killed. recall() returns how many calls come back.
    std::uint64_t recall(std::uint64_t most);
    void kill(TaskId task, Attempt attempt);
    void kill_all();
    // Ranges stop after the index that runs; the rest comes back.
    void return_ranges();

    // Nothing of what was ordered is told any more; a function that runs on is waited for at most `limit`.
    void forget(Duration limit);

    // What has come so far, without waiting.
    std::vector<CallReport> next(Instant now);

    std::uint64_t held() const { return held_; }                      // tasks not yet reported
    std::uint64_t held_of_ranges() const { return held_of_ranges_; }  // of them

    // Waits for what runs. False: some function does not return within `limit`; the process should leave by
    // _exit.
    bool end(Duration limit);

  private:
    void begin();
    void pass_on();
    void pass_on(std::vector<CallJob>& jobs, CallThreads& threads);
    void settle(const CallReport& report);
    void listen(bool armed);

    std::shared_ptr<const process::FunctionTable> functions_;
    std::size_t threads_;
    std::shared_ptr<Descriptor> bell_;
    std::optional<CallThreads> direct_;
    std::optional<CallThreads> pool_;
    bool one_runs_on_ = false;  // of those that were forgotten
    std::vector<CallJob> to_direct_;
    std::vector<CallJob> to_pool_;
    std::vector<CallReport> refused_;
    std::uint64_t held_ = 0;
    std::uint64_t held_of_ranges_ = 0;
    std::optional<Instant> look_again_;  // until then the threads do not wake us, but where they run dry
};

}  // namespace wq::launcher
