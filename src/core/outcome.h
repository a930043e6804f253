// How one attempt of a task ended, as the launcher measured it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "core/usage.h"

namespace wq::core {

enum class Ending : std::uint8_t {
    exited = 0,            // `exit_code` says how
    signalled = 1,         // `signal` ended it
    timed_out = 2,         // its time was over; the tree was killed
    out_of_memory = 3,     // it used more than the memory it was given, or the kernel's OOM killer chose it
    not_started = 4,       // could not be executed; `exit_code` is 126 or 127, `reason` says why
    killed = 5,            // by our order: an interrupt, a halt, a cancel
    worker_lost = 6,       // its worker was lost with it; no figures
    never_ran = 7,         // a predecessor of its group failed, or no worker could hold it; `reason` names it
    raised = 8,            // a function threw; `reason` is what it said
    expired = 9,           // its end time came before it could start
    input_missing = 10,    // an input file was not there, or could not be brought; `reason` names it
    output_missing = 11,   // it ran to its end, and an output file is not there; `reason` names it
    disk_full = 12,        // of its worker
    not_transferred = 13,  // it ran to its end, and an output file could not be kept here
    too_slow = 14,         // it took much longer than others of its category and was ended (fast abort)
    exhausted = 15,        // it took more cores or disk than it was given; `reason` and `measured` say which
};
inline constexpr std::size_t ending_count = 16;

// It took more of something than it was given.
constexpr bool is_exhaustion(Ending ending) {
    return ending == Ending::out_of_memory || ending == Ending::exhausted;
}

// How a worker runs a function (see host/functions.h).
enum class CallMode : std::uint8_t {
    fork = 0,    // in a child process: whatever it does, the worker lives on
    thread = 1,  // on a thread of the worker, as many at once as it has cores
    direct = 2,  // one after the other in the worker: the fastest
};

struct Outcome {
    Ending ending = Ending::exited;
    int exit_code = 0;
    int signal = 0;
    WallMicros started_us = 0;  // when the process was started, wall clock of its host
    std::int64_t wall_us = 0;
    std::int64_t user_us = 0;  // CPU time of the process and the children it waited for
    std::int64_t system_us = 0;
    std::int64_t peak_memory_kb = 0;  // largest resident set of one process of it (ru_maxrss)
    std::int64_t bytes_read = 0;      // from block devices (ru_inblock * 512)
    std::int64_t bytes_written = 0;
    std::uint64_t stdout_bytes = 0;  // written by the task, also what was cut
    std::uint64_t stderr_bytes = 0;
    std::string reason;                  // one line where the fields above do not say it all
    std::optional<Measured> measured{};  // of one that was watched

    bool succeeded() const { return ending == Ending::exited && exit_code == 0; }
};

// The most cores that it kept busy, in thousandths; unsaid: nobody measured it. One that ended before that
// could be told, which takes a second, is taken to have had a second for what it did.
std::int64_t busy_cores(const Outcome& outcome);

// The last of it: kept text of the two streams, cut at the limit with a marker (see host/capture.h).
struct Output {
    std::string out;
    std::string err;
    std::string result{};  // of a function, msgpack
};

std::string signal_name(int number);  // "SIGSEGV"; "signal 35" where it has no name
const char* name_of(Ending ending);   // "exited", "signalled", ...
std::string describe(
    const Outcome& outcome);  // "exit 3", "signal 11 (SIGSEGV)", "timed out after 10m00s", ...

}  // namespace wq::core
