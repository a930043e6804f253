#include "runtask/signal_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/exit_code.h"

namespace wq::runtask {

namespace {

void ring(const Descriptor& bell) {
    const std::uint64_t one = 1;
    (void)!::write(bell.get(), &one, sizeof one);
}

int milliseconds_until(std::optional<Instant> when) {
    if (!when) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*when - instant_now());
    return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000));
}

}  // namespace

SignalWatch::SignalWatch(std::function<void()> lapsed)
    : lapsed_(std::move(lapsed)),
      signals_(Signals::block().or_throw()),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { watch(); }) {}

SignalWatch::~SignalWatch() {
    over_ = true;
    ring(wake_);
    thread_.join();
}

bool SignalWatch::stopped_within(Duration time) const {
    pollfd ready{stop_.get(), POLLIN, 0};
    ::poll(&ready, 1, milliseconds_until(instant_now() + time));
    return stopped_;
}

void SignalWatch::set_deadline(std::optional<Instant> deadline) {
    {
        const std::lock_guard lock(mutex_);
        deadline_ = deadline;
    }
    ring(wake_);
}

std::optional<Instant> SignalWatch::deadline() {
    const std::lock_guard lock(mutex_);
    return deadline_;
}

void SignalWatch::watch() {
    while (!over_) {
        std::array<pollfd, 2> ready{pollfd{signals_.descriptor(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
        ::poll(ready.data(), ready.size(), milliseconds_until(deadline()));
        std::uint64_t rings = 0;
        (void)!::read(wake_.get(), &rings, sizeof rings);
        hear();
        check_deadline();
    }
}

// With the second one all ends at once; the host of commands notices, and kills them.
void SignalWatch::hear() {
    while (signals_.next()) {
        if (stopped_.exchange(true)) ::_exit(to_int(ExitCode::interrupted));
        ring(stop_);
    }
}

void SignalWatch::check_deadline() {
    {
        const std::lock_guard lock(mutex_);
        if (!deadline_ || *deadline_ > instant_now()) return;
        deadline_.reset();
    }
    lapsed_now_ = true;
    lapsed_();
}

}  // namespace wq::runtask
