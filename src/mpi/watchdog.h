// Runs an action on a separate thread unless it is cancelled in time, once or each time that `limit` has
// passed: for library calls that may never return.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace wq::mpi {

class Watchdog {
  public:
    // If no thread can be created, nobody watches: the call is still worth making.
    enum class Bites { once, again };
    Watchdog(Duration limit, std::function<void()> bite, Bites bites = Bites::once) noexcept;
    ~Watchdog();  // cancels
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable told_;
    bool done_ = false;
    std::thread thread_;
};

}  // namespace wq::mpi
