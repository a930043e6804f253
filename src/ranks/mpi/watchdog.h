// Guards library calls that may never return. When `limit` has passed, a separate thread calls `bite`: once,
// or after each further `limit`. Destroying the watchdog cancels this.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace wq::ranks::mpi {

class Watchdog {
  public:
    enum class Repeats { no, yes };

    // If no thread can be created, nobody watches: the call is still worth making.
    Watchdog(Duration limit, std::function<void()> bite, Repeats repeats = Repeats::no) noexcept;
    ~Watchdog();  // cancels
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable told_;
    bool done_ = false;
    std::thread thread_;
};

}  // namespace wq::ranks::mpi
