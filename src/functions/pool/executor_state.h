// How far an executor has come from its start to its end, for all threads that use it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"

namespace wq::functions::pool {

// What a look at all lanes has found.
struct LanesSeen {
    std::size_t all = 0;
    std::size_t up = 0;
    std::size_t gone = 0;
    std::string why_gone;  // of the first one
};

class ExecutorState {
  public:
    // Calls begin(), and the executor runs then. Returns false, without a call, if the executor runs already.
    // Throws SetupError in a copy, and after the close.
    template <class Begin>
    bool start(Begin&& begin) {
        const std::lock_guard lock(mutex_);
        if (stage_ == Stage::running) return false;
        check_can_start();
        begin();
        stage_ = Stage::running;
        return true;
    }
    // Returns why not all workers are up; "": they are, or were.
    std::string wait_until_all_are_up(Duration timeout);
    enum class Left { some, none };
    Left note_lanes(const LanesSeen& seen);

    // In a child that the program has forked: neither the collector nor the workers are its own.
    bool is_copy() const { return owner_ != getpid(); }
    void check_open() const;  // throws ExecutorClosed: put() takes no job
    bool is_made() const;     // and was not started
    bool is_running() const;
    std::string describe() const;

    // What is asked of the collector.
    struct CloseTimes {
        Instant kill_at{};
        Instant close_at{};  // what is not done then is left
    };
    struct Asked {
        bool aborts = false;
        std::optional<CloseTimes> closes;
    };
    Asked asked() const;
    void abort();
    // False: it is closed already.
    bool begin_close(CloseTimes times);
    void end_close();

    // An executor without workers calls its function in this process, once at a time. False: a call runs.
    bool begin_call();
    void end_call();
    bool has_call() const { return has_call_; }
    void wait_for_end_of_call(Instant until);

  private:
    enum class Stage : std::uint8_t { made, running, closing, closed };

    void check_can_start() const;

    const pid_t owner_ = getpid();
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Stage stage_ = Stage::made;
    bool aborted_ = false;
    bool all_up_ = false;
    std::string why_none_;               // why there are no workers; empty: there are
    std::string why_not_up_;             // why one is gone before all were up
    CloseTimes close_times_;             // while it is closing
    std::atomic<bool> has_call_{false};  // read without the lock: by is_full(), in forked copies, too
};

}  // namespace wq::functions::pool
