#include "shared_list/replica/master_clock.h"

#include <chrono>
#include <ctime>

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
    const std::time_t seconds = (now() + east_) / micros_per_second;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%m-%d %H:%M:%S", &parts)};
}

}  // namespace wq::shared_list::replica
