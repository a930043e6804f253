// Hears signals, and knows when the lease of running lines is over, while the worker waits for a master that
// does not answer. It has a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "threads/signals.h"

namespace wq::runtask {

class SignalWatch {
  public:
    // `lapsed`: called on that thread at the deadline. Throws Failure. Make it before other threads: they
    // must not take the signals.
    explicit SignalWatch(std::function<void()> lapsed);
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;

    // A signal that ends the worker has come. (With a second one, the process has ended.)
    bool stopped() const { return stopped_; }
    // The same, if it comes in this time.
    bool stopped_within(Duration time) const;
    int descriptor() const { return stop_.get(); }  // readable from then on

    // Beyond it, other workers may take the lines that run.
    void set_deadline(std::optional<Instant> deadline);
    bool take_lapsed() { return lapsed_now_.exchange(false); }

  private:
    void watch();
    void hear();
    std::optional<Instant> deadline();
    void check_deadline();

    std::function<void()> lapsed_;
    Signals signals_;
    Descriptor stop_, wake_;  // eventfds
    std::atomic<bool> stopped_ = false;
    std::atomic<bool> lapsed_now_ = false;
    std::atomic<bool> over_ = false;
    std::mutex mutex_;
    std::optional<Instant> deadline_;
    std::thread thread_;
};

}  // namespace wq::runtask
