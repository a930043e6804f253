// Measures calls on one thread: the wall time of each, and the CPU time of those that take a millisecond. For
// a shorter call, asking the kernel would take longer than the call itself. Because the kernel is asked at
// most once a millisecond, a call's CPU time may include short calls of the millisecond before it.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "base/time.h"
#include "engine/model/outcome.h"
#include "node/process/cpu_clock.h"

namespace wq::node::process {

class CallMeter {
  public:
    void begin() {
        began_ = instant_now();
        if (began_ - asked_ >= worth_asking) ask(began_);
    }
    void end(engine::model::Outcome& outcome) {
        const Instant now = instant_now();
        const Duration wall = now - began_;
        outcome.wall_us = wall.count() / 1000;
        outcome.started_us = wall_now() - outcome.wall_us;
        if (wall < worth_asking) return;
        const rusage before = usage_;
        ask(now);
        outcome.user_us = micros_of(usage_.ru_utime) - micros_of(before.ru_utime);
        outcome.system_us = micros_of(usage_.ru_stime) - micros_of(before.ru_stime);
    }

  private:
    static constexpr Duration worth_asking = std::chrono::milliseconds(1);

    void ask(Instant now) {
        getrusage(RUSAGE_THREAD, &usage_);
        asked_ = now;
    }

    Instant began_;
    Instant asked_;
    rusage usage_{};
};

}  // namespace wq::node::process
