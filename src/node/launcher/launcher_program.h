// The zygote as a separate program, work_queue_launcher, for a rank that has already started MPI and so must
// not fork. The program has none of the rank's descriptors and functions.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "node/launcher/zygote.h"

namespace wq::node::launcher {

// The program's path: `wanted`; else WORK_QUEUE_LAUNCHER; else libexec/work_queue/ in a folder above the
// calling library or program, in a folder above one in PATH, or where this was installed. Error: it is not
// there.
Result<std::string> find_launcher_program(const std::string& wanted);

// Starts the program without calling fork(). `memory`: a descriptor of the SharedPage. Error: it cannot be
// started, or does not answer as our version within `answer_limit` (it may be read from a busy file server).
Result<Zygote> spawn_zygote(const std::string& program, int memory,
                            Duration answer_limit = std::chrono::seconds(20));

// Its main(). It returns an exit code only if it was not started by spawn_zygote().
int launcher_program(int argc, char** argv);

}  // namespace wq::node::launcher
