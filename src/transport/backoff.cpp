#include "transport/backoff.h"

#include <algorithm>

namespace wq::transport {

Backoff::Backoff(Duration least, Duration most, std::uint64_t seed)
    : least_(std::max<Duration>(least, Duration{0})), most_(std::max(most, least_)), random_(seed) {
    reset();
}

void Backoff::reset() {
    ceiling_ = std::min(2 * least_, most_);
}

Duration Backoff::next() {
    std::uniform_int_distribution<Duration::rep> wait(least_.count(), ceiling_.count());
    const Duration drawn(wait(random_));
    ceiling_ = ceiling_ > most_ / 2 ? most_ : 2 * ceiling_;
    return drawn;
}

}  // namespace wq::transport
