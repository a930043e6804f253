// Runs an action from a thread of its own unless stood down in time: for calls of libraries that may never
// return.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace wq::transport {

class Watchdog {
  public:
    // Where no thread can be had nobody watches: that is no reason not to make the call.
    Watchdog(Duration limit, std::function<void()> bite) noexcept;
    ~Watchdog();  // stands down
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable told_;
    bool done_ = false;
    std::thread thread_;
};

}  // namespace wq::transport
