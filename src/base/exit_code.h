// Exit codes of all programs of the project (from sysexits.h, if it has one).
#pragma once

namespace wq {

enum class ExitCode : int {
    ok = 0,            // all tasks succeeded
    tasks_failed = 1,  // some task failed or could never run
    usage = 64,        // wrong options
    bad_input = 65,    // a file that cannot be used; the message names file and line
    unreachable = 69,  // no manager or no worker can be reached
    internal = 70,     // our bug
    refused = 71,      // the system refuses what is needed, or does not take what is written to stdout
    interrupted = 75,  // stopped before the end; --resume continues
    not_allowed = 77,  // permission or authentication
};

constexpr int to_int(ExitCode code) {
    return static_cast<int>(code);
}

}  // namespace wq
