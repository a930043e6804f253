// The zygote as a program, work_queue_launcher: for a rank whose MPI is there already, so that it must not
// fork. It has none of the rank's descriptors and none of its functions.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "launcher/zygote.h"

namespace wq::launcher {

// Its path: `wanted`; else what WORK_QUEUE_LAUNCHER says; else libexec/work_queue/ in a folder above that of
// the library or program that asks, in one above a folder of PATH, or where this was installed. Error: it is
// not there.
Result<std::string> find_launcher_program(const std::string& wanted);

// Starts it without a fork() of ours. `memory`: a descriptor of the SharedPage. Error: it cannot be started,
// or does not answer as ours within `answer_limit` (it may come from a busy file server).
Result<Zygote> spawn_zygote(const std::string& program, int memory,
                            Duration answer_limit = std::chrono::seconds(20));

// Its main(): returns an exit code only where it was started otherwise.
int launcher_program(int argc, char** argv);

}  // namespace wq::launcher
