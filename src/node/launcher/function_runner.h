// Runs calls within this process: one after the other on one thread (`direct`), or on one thread per core
// (`thread`). A running call cannot be stopped, limited in time or memory, or bound to cores, and its crash
// ends this process. Calls that need this use `fork`, which the launcher does.
//
// Only one thread may use it. The next call of next() passes orders on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "node/launcher/launcher_wire.h"
#include "node/process/functions.h"

namespace wq::node::launcher {

struct CallOrder {
    TaskId task;
    Attempt attempt = 1;
    process::Call call;
};
// Calls the function for each of `tasks`, all of one batch and attempt 1. Task t gets the index t -
// tasks.first + first_index.
struct RangeOrder {
    BatchId batch;
    Interval tasks;
    std::int64_t first_index = 0;
    std::string function;
};
using CallJob = std::variant<CallOrder, RangeOrder>;

// Reported for a RangeOrder, at most every 100 ms, or after 1,000 failures, and at its end.
struct RangeProgress {
    BatchId batch;
    IntervalSet done;
    IntervalSet returned;           // not run, by order
    std::vector<TaskEnded> failed;  // one by one
    WallMicros started_us = 0;
    std::int64_t wall_us = 0;  // sum over `done`
};
using CallReport = std::variant<TaskEnded, OrderReturned, RangeProgress>;

// Runs calls on threads of this process. The threads end with the object, except a thread whose function does
// not return: it is detached, and the process should leave by _exit.
//
// Ended calls are collected, not sent, because a wake-up for each would cost more than a short call. The bell
// rings for the first end after set_armed(true), and for each call that ends or is returned while no other
// waits.
class CallThreads {
  public:
    // `bell`: set when collect() has something.
    CallThreads(std::shared_ptr<const process::FunctionTable> functions, std::size_t threads,
                std::shared_ptr<const Wake> bell);
    ~CallThreads();
    CallThreads(const CallThreads&) = delete;
    CallThreads& operator=(const CallThreads&) = delete;

    // False if no thread can be created to run them; `jobs` is then unchanged.
    bool add(std::vector<CallJob>& jobs);
    void collect(std::vector<CallReport>& reports);
    void set_armed(bool armed);

    // Returns up to `most` calls that have not begun, the last first, and says how many. Ranges stay.
    std::uint64_t recall(std::uint64_t most);
    // Returns the call, or, if it runs, makes its end count as killed.
    void kill(TaskId task, Attempt attempt);
    void kill_all();
    void return_ranges();

    // Waits until all running calls have ended. False if they do not end within `limit`.
    bool end(Duration limit);

  private:
    struct State;
    struct Runner;

    void make_threads();

    std::shared_ptr<State> state_;
    std::size_t threads_;
    std::vector<std::thread> running_;
};

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
    void set_armed(bool armed);

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
