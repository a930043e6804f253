// Runs calls within this process: one after the other on one thread (`direct`), or on one thread per core
// (`thread`). A running call cannot be stopped, limited in time or memory, or bound to cores, and its crash
// ends this process. Calls that need this use `fork`, which the launcher does.
//
// Only one thread may use it. The next call of next() passes orders on.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "node/launcher/call_threads.h"

namespace wq::node::launcher {

class FunctionRunner {
  public:
    // `threads`: for `thread` mode. Copies the table.
    FunctionRunner(const process::FunctionTable& functions, std::size_t threads);

    const process::FunctionTable& functions() const { return *functions_; }

    // Readable when next() has something to report or to do. It never changes; poll it, do not read it.
    int descriptor() const { return bell_->descriptor(); }
    // When to call next() even if the descriptor is not readable.
    std::optional<Instant> wakeup() const { return look_again_; }

    // `mode`: direct or thread.
    void run(CallOrder order, engine::model::CallMode mode);
    void run(RangeOrder order);  // direct

    // As in the launcher, calls that have not begun are returned. A running call continues to its end, which
    // then counts as killed. recall() says how many calls are returned.
    std::uint64_t recall(std::uint64_t most);
    void kill(TaskId task, Attempt attempt);
    void kill_all();
    // Ranges stop after the running index; the rest is returned.
    void return_ranges();

    // Drops all orders without reports, and waits up to `limit` for running functions.
    void forget(Duration limit);

    // The reports so far, without waiting.
    std::vector<CallReport> next(Instant now);

    std::uint64_t held() const { return held_; }                      // tasks not yet reported
    std::uint64_t held_of_ranges() const { return held_of_ranges_; }  // those in ranges

    // Waits for running functions. False if one does not return within `limit`; the process should then leave
    // by _exit.
    bool end(Duration limit);

  private:
    void begin();
    void pass_on();
    void pass_on(std::vector<CallJob>& jobs, CallThreads& threads);
    void settle(const CallReport& report);
    void listen(bool armed);

    std::shared_ptr<const process::FunctionTable> functions_;
    std::size_t threads_;
    std::shared_ptr<const Wake> bell_;
    std::optional<CallThreads> direct_;
    std::optional<CallThreads> pool_;
    bool one_runs_on_ = false;  // a forgotten function still runs
    std::vector<CallJob> to_direct_;
    std::vector<CallJob> to_pool_;
    std::vector<CallReport> refused_;
    std::uint64_t held_ = 0;
    std::uint64_t held_of_ranges_ = 0;
    std::optional<Instant> look_again_;  // until then threads wake us only if they run dry
};

}  // namespace wq::node::launcher
