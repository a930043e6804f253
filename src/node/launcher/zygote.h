// The zygote forks launchers and waits for their ends (and, for rank parts that have processes of their own,
// it forks those). It is forked from a rank before MPI_Init, while the rank is small and has no threads. It
// is a subreaper: it adopts the processes that a killed launcher leaves behind, kills them, removes the
// scratch folder and only then tells the rank. It also creates that folder, because a rank could be killed
// before it had told anyone about the folder. After the rank's end, when all that its launchers had started
// is gone, it says the rank's last words, if the rank left any.
//
// Ends are noticed as follows. The rank's end: the zygote sees end of file on the control socket, the
// launcher on its own socket. The zygote's end: the launcher sees it on its lifeline, a pipe, and the rank on
// the control socket. The launcher's end: the zygote waits for it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "node/launcher/shared_page.h"
#include "node/process/functions.h"

namespace wq::node::launcher {

// The zygote reports, for every requested launcher, that it runs (or why not, or why it has no scratch
// folder), and later how it ended.
struct ZygoteNews {
    enum class Kind : std::uint8_t { forked, not_forked, no_scratch, ended } kind = Kind::forked;
    int value = 0;       // pid; errno; errno; status as of wait()
    pid_t launcher = 0;  // the one that ended, maybe not the last one
};

struct Zygote {
    pid_t pid = -1;
    Descriptor control;
};

// Runs in the zygote after the rank's end, with what the rank left (leave_last_words). `all_ended`: no
// process that the rank's launchers had started is left.
using LastWords = void (*)(const std::string& words, bool all_ended);

// `functions`: for the launchers' calls; may be null, as may `last_words`. Error: no process or socket can be
// created.
Result<Zygote> fork_zygote(SharedPage& shared, const process::FunctionTable* functions, LastWords last_words);
// The zygote's main function, in its own process; it keeps no descriptor but `control`.
[[noreturn]] void zygote_main(int control, SharedPage& shared, const process::FunctionTable* functions,
                              LastWords last_words);

// Asks for a launcher that uses `socket` and has its temporary folders below `scratch` (empty: none). The
// zygote first kills an existing launcher, with all that it started. False if the zygote is gone.
bool ask_for_launcher(int control, int socket, const std::string& scratch);
// Asks for a child that runs `main` with `socket`, and that the zygote leaves alone. False if the zygote is
// gone.
bool ask_for_child(int control, int socket, void (*main)(int socket));
// Replaces the rank's last words; empty: none. False if the zygote is gone.
bool leave_last_words(int control, const std::string& words);
// The zygote's next message, without waiting. Sets `gone` if there will be no more.
std::optional<ZygoteNews> hear_zygote(int control, bool& gone);

// The zygote as a separate program, work_queue_launcher, for a rank that has already started MPI and so must
// not fork. The program has none of the rank's descriptors and functions.

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
