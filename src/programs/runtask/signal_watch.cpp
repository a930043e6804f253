#include "programs/runtask/signal_watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/result.h"

namespace wq::programs::runtask {

namespace {

constexpr std::chrono::milliseconds soon{700};

int milliseconds_until(std::optional<Instant> when) {
    if (!when) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*when - instant_now());
    return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000));
}

}  // namespace

SignalWatch::SignalWatch(Calls calls)
    : calls_(std::move(calls)), signals_(Signals::block().or_throw()), thread_([this] { watch(); }) {}

SignalWatch::~SignalWatch() {
    over_ = true;
    wake_.set();
    thread_.join();
}

bool SignalWatch::stopped_within(Duration time) const {
    pollfd ready{stop_.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, milliseconds_until(instant_now() + time));
    return stopped_;
}

void SignalWatch::set_times(std::optional<Instant> deadline, std::optional<Instant> limit) {
    {
        const std::lock_guard lock(mutex_);
        if (deadline == deadline_ && limit == limit_) return;
        deadline_ = deadline;
        limit_ = limit;
    }
    wake_.set();
}

bool SignalWatch::take_lapsed() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lapsed_, false);
}

std::optional<Instant> SignalWatch::next() {
    const std::lock_guard lock(mutex_);
    std::optional<Instant> next = deadline_;
    earliest(next, limit_);
    if (lingers_) earliest(next, *lingers_);
    return next;
}

void SignalWatch::watch() {
    while (!over_) {
        std::array<pollfd, 2> ready{pollfd{signals_.descriptor(), POLLIN, 0},
                                    pollfd{wake_.descriptor(), POLLIN, 0}};
        ::poll(ready.data(), ready.size(), milliseconds_until(next()));
        wake_.clear();
        read_signals();
        check_times();
    }
}

// With the second one all ends at once; the host of commands notices, and kills them.
void SignalWatch::read_signals() {
    while (signals_.next()) {
        if (stopped_.exchange(true)) ::_exit(to_int(ExitCode::interrupted));
        lingers_ = instant_now() + soon;
        stop_.set();
    }
}

// Locked, so that who takes the lapse knows that all has been killed.
void SignalWatch::check_times() {
    const std::lock_guard lock(mutex_);
    const Instant now = instant_now();
    if (lingers_ && *lingers_ <= now && !over_) {
        lingers_.reset();
        calls_.lingers();
    }
    if (limit_ && *limit_ <= now) limit_ = calls_.at_limit(now);
    if (!deadline_ || *deadline_ > now) return;
    deadline_.reset();
    lapsed_ = true;
    calls_.lapsed();
}

}  // namespace wq::programs::runtask
