#include "shared_list/replica/lease.h"

#include <algorithm>
#include <ctime>

#include "base/units.h"

namespace wq::shared_list::replica {

namespace {

constexpr Duration least_poll = std::chrono::milliseconds(10);
constexpr Duration least_lease = std::chrono::seconds(2);
constexpr Duration most_between_beats = std::chrono::seconds(30);

Duration clock_time(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Duration slept() {
    return clock_time(CLOCK_BOOTTIME) - clock_time(CLOCK_MONOTONIC);
}

}  // namespace

Result<Duration> parse_poll(const std::string& text) {
    const auto poll = parse_duration(text);
    if (poll && *poll < least_poll) return Error{ExitCode::usage, "at least 0.01 (seconds)"};
    return poll;
}

Result<Duration> parse_lease(const std::string& text) {
    const auto lease = parse_duration(text);
    if (lease && *lease != Duration{0} && *lease < least_lease)
        return Error{ExitCode::usage,
                     "at least 2s, or 0 (lines of lost workers never wait again by themselves)"};
    return lease;
}

Duration between_beats(Duration lease) {
    return lease == Duration{0} ? most_between_beats : std::min(lease / 4, most_between_beats);
}

std::optional<Instant> lapse_of(Instant beaten, Duration lease) {
    if (lease == Duration{0}) return std::nullopt;
    return beaten + lease - lease / 10;
}

void Lease::given(Instant when) {
    if (last_ && *last_ >= when) return;
    last_ = when;
    slept_ = slept();
}

std::optional<Instant> Lease::lapses() const {
    return last_ ? lapse_of(*last_, length_) : std::nullopt;
}

bool Lease::has_lapsed() const {
    const auto lapses = this->lapses();
    return lapses && instant_now() + (slept() - slept_) >= *lapses;
}

}  // namespace wq::shared_list::replica
