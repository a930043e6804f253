// Guards library calls that may never return. When `limit` has passed, a separate thread calls `bite`: once,
// or after each further `limit`. Destroying the watchdog cancels this.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "ranks/tickets/sealed_batch.h"

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

// Counters whose calls end the process if they do not return: a call that names a lost rank never does, and
// who waits for it hears nothing else, not even that the rank is lost.
class WatchedCounters final : public tickets::Counters {
  public:
    explicit WatchedCounters(tickets::Counters& all) : all_(all) {}
    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        const Watchdog watchdog(limit, end);
        return all_.add(counter, amount);
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        const Watchdog watchdog(limit, end);
        return all_.exchange(counter, value);
    }
    void serve() override { all_.serve(); }

  private:
    // As long as a silent rank is waited for: this one would be taken for lost.
    static constexpr Duration limit = std::chrono::seconds(10);
    static void end() {
        std::fputs(
            "work_queue: a one-sided call has not returned for 10 s, perhaps since rank 0 is lost; without "
            "them: "
            "--tickets message\n",
            stderr);
        ::_exit(to_int(ExitCode::unreachable));
    }
    tickets::Counters& all_;
};

}  // namespace wq::ranks::mpi
