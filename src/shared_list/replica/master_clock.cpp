#include "shared_list/replica/master_clock.h"

#include <chrono>

#include "base/time.h"

namespace wq::shared_list::replica {

namespace {

constexpr Duration lifetime = std::chrono::hours(1);

WallMicros micros(Duration duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

}  // namespace

Status MasterClock::read(store::ListStore& store) {
    const auto time = store.time();
    if (!time) return time.error();
    utc_ = time->now;
    east_ = micros(time->east_of_utc);
    read_at_ = instant_now();
    return success();
}

bool MasterClock::is_old() const {
    return instant_now() - read_at_ > lifetime;
}

WallMicros MasterClock::since() const {
    return micros(instant_now() - read_at_);
}

std::string MasterClock::stamp() const {
    return utc_time(now() + east_, "%m-%d %H:%M:%S");
}

}  // namespace wq::shared_list::replica
