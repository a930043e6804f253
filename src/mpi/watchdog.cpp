#include "mpi/watchdog.h"

#include "threads/signals_held.h"

namespace wq::mpi {

Watchdog::Watchdog(Duration limit, std::function<void()> bite, Bites bites) noexcept {
    const SignalsHeld held;
    try {
        thread_ = std::thread([this, limit, bite = std::move(bite), bites] {
            std::unique_lock lock(mutex_);
            do {
                if (told_.wait_for(lock, limit, [this] { return done_; })) return;
                bite();
            } while (bites == Bites::again);
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

}  // namespace wq::mpi
