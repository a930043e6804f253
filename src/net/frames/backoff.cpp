#include "net/frames/backoff.h"

#include <algorithm>

namespace wq::net::frames {

namespace {

constexpr Duration first_ceiling = std::chrono::milliseconds(1);  // used if the minimum is 0

}  // namespace

Backoff::Backoff(Duration least, Duration most, std::uint64_t seed)
    : least_(std::max<Duration>(least, Duration{0})), most_(std::max(most, least_)), random_(seed) {
    reset();
}

void Backoff::reset() {
    ceiling_ = least_ > most_ / 2 ? most_ : std::min(std::max(2 * least_, first_ceiling), most_);
}

Duration Backoff::next() {
    std::uniform_int_distribution<Duration::rep> wait(least_.count(), ceiling_.count());
    const Duration drawn(wait(random_));
    ceiling_ = ceiling_ > most_ / 2 ? most_ : 2 * ceiling_;
    return drawn;
}

}  // namespace wq::net::frames
