// Runs calls on threads of this process. The threads end with the object, except a thread whose function does
// not return: it is detached, and the process should leave by _exit.
//
// Ended calls are collected, not sent, because a wake-up for each would cost more than a short call. The bell
// rings for the first end after listen(), and for each call that ends or is returned while no other waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "node/launcher/reports.h"
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
    void listen(bool armed);

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

}  // namespace wq::node::launcher
