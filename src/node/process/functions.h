// The table of functions that a worker calls by name. The manager and the worker know the same names; only
// the worker needs the functions.
//
// Arguments and results are msgpack, so that this folder needs no types; the typed interface is
// work_queue/functions.h. A function that throws ends its call as Ending::raised, with what() as the reason.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "engine/model/outcome.h"

namespace wq::node::process {

struct Function {
    // Takes an array of arguments and returns the result. Throws what the function throws, and
    // std::invalid_argument if the arguments do not match the function's.
    std::function<std::string(std::string_view arguments)> call;
    // The same for a single integer, without packing; the result is dropped. Empty if the function does not
    // take one integer.
    std::function<void(std::int64_t index)> call_index;
};

// A call of one of the functions, by name.
struct Call {
    std::string function;
    std::string arguments;  // msgpack array
};

class FunctionTable {
  public:
    // Replaces an existing function of that name.
    void add(std::string name, Function function) {
        functions_.insert_or_assign(std::move(name), std::move(function));
    }
    const Function* find(std::string_view name) const {
        const auto found = functions_.find(name);
        return found == functions_.end() ? nullptr : &found->second;
    }
    bool empty() const { return functions_.empty(); }
    template <class F>
    void for_each_name(F&& visit) const {
        for (const auto& [name, function] : functions_) visit(name);
    }

  private:
    std::map<std::string, Function, std::less<>> functions_;
};

// Runs one call of a function and describes how it ended. It catches all that the function throws.

// The largest result. It fits into a frame of any wire.
inline constexpr std::size_t most_result_bytes = std::size_t{960} << 20;

struct CallEnd {
    engine::model::Ending ending = engine::model::Ending::exited;
    int exit_code = 0;
    std::string reason;
    std::string result;
};
CallEnd run_call(const FunctionTable& functions, const Call& call);

// The end of a call of an unknown function: not_started, 127, and the known names.
CallEnd no_such_function(const FunctionTable& functions, const std::string& name);
// The end of a call in fork mode if MPI was started before the session: not_started, 126.
CallEnd forks_no_calls();
CallEnd takes_no_index(const std::string& name);
// Called in a catch block: the end of a call whose reason is the exception.
CallEnd raised();

// Converts CPU time to our types.

// `clock`: CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID.
inline Duration cpu_time(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

inline std::int64_t micros_of(const timeval& time) {
    return std::int64_t{time.tv_sec} * micros_per_second + time.tv_usec;
}

// Measures calls on one thread: the wall time of each, and the CPU time of those that take a millisecond. For
// a shorter call, asking the kernel would take longer than the call itself. Because the kernel is asked at
// most once a millisecond, a call's CPU time may include short calls of the millisecond before it.
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
