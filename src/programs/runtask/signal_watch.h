// A thread that hears signals, and knows when the lease or the time limit of running lines is over. It does
// so also while the worker waits for the list's lock, or for a master that does not answer.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/signals.h"
#include "base/time.h"

namespace wq::programs::runtask {

class SignalWatch {
  public:
    struct Calls {                     // on that thread
        std::function<void()> lapsed;  // at the deadline
        // At a time limit; returns the next one.
        std::function<std::optional<Instant>(Instant now)> at_limit;
        std::function<void()> lingers;  // the worker has not ended soon after the first signal
    };
    // Throws Failure. Make it before other threads: they must not take the signals.
    explicit SignalWatch(Calls calls);
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;

    // A signal that ends the worker has come. (With a second one, the process has ended.)
    bool stopped() const { return stopped_; }
    // The same, if it comes in this time.
    bool stopped_within(Duration time) const;
    int descriptor() const { return stop_.descriptor(); }  // readable from then on

    // `deadline`: beyond it, other workers may take the lines that run. `limit`: of a line's time.
    void set_times(std::optional<Instant> deadline, std::optional<Instant> limit);
    // Whether the deadline has passed since the last call.
    bool take_lapsed();

  private:
    void watch();
    void read_signals();
    std::optional<Instant> next();
    void check_times();

    Calls calls_;
    Signals signals_;
    Wake stop_, wake_;
    std::atomic<bool> stopped_ = false;
    std::atomic<bool> over_ = false;
    std::mutex mutex_;
    std::optional<Instant> deadline_;
    std::optional<Instant> limit_;
    bool lapsed_ = false;
    std::optional<Instant> lingers_;  // from then on; the thread's own
    std::thread thread_;
};

}  // namespace wq::programs::runtask
