// Converts CPU time to our types.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include "base/time.h"

namespace wq::node::process {

// `clock`: CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID.
inline Duration cpu_time(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

inline std::int64_t micros_of(const timeval& time) {
    return std::int64_t{time.tv_sec} * micros_per_second + time.tv_usec;
}

}  // namespace wq::node::process
