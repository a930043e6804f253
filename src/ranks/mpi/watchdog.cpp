#include "ranks/mpi/watchdog.h"

#include "base/signals.h"

namespace wq::ranks::mpi {

Watchdog::Watchdog(Duration limit, std::function<void()> bite, Repeats repeats) noexcept {
    const SignalsHeld held;
    try {
        thread_ = std::thread([this, limit, bite = std::move(bite), repeats] {
            std::unique_lock lock(mutex_);
            do {
                if (told_.wait_for(lock, limit, [this] { return done_; })) return;
                bite();
            } while (repeats == Repeats::yes);
        });
    } catch (const std::exception&) {  // then nobody watches
    }
}

Watchdog::~Watchdog() {
    {
        std::lock_guard lock(mutex_);
        done_ = true;
    }
    told_.notify_one();
    if (thread_.joinable()) thread_.join();
}

}  // namespace wq::ranks::mpi
