#include "manager/run/loop.h"

#include <sched.h>
#include <sys/prctl.h>

namespace wq::manager::run {

void wakes_on_time() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
}

void Waiter::wait(std::optional<Duration> longest) {
    timespec limit{};
    if (longest) {
        const auto nanoseconds = std::max<Duration::rep>(longest->count(), 0);
        limit.tv_sec = nanoseconds / 1'000'000'000;
        limit.tv_nsec = nanoseconds % 1'000'000'000;
    }
    for (pollfd& entry : descriptors_) entry.revents = 0;
    // An interrupted wait counts as over: the caller checks everything anyway.
    if (::ppoll(descriptors_.data(), descriptors_.size(), longest ? &limit : nullptr, nullptr) < 0)
        for (pollfd& entry : descriptors_) entry.revents = 0;
}

void Waiter::yield() {
    ::sched_yield();
    wait(Duration{0});
}

}  // namespace wq::manager::run
