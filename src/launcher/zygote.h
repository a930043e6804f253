// The zygote: forked from a rank before MPI_Init, when the rank is small and has no thread, it does nothing
// but fork launchers and see them end. It is a subreaper above them: whatever a launcher that was killed
// leaves behind comes to the zygote, which kills it, removes the scratch folder and only then tells the rank.
// It makes that folder too, so that no rank can be killed between making it and naming it to somebody who
// lives.
//
// Who sees whose end: the rank's by end of file on the control socket (zygote) and on the launcher's
// (launcher); the zygote's by its lifeline, a pipe (launcher), and by the control socket (rank); the
// launcher's by wait (zygote).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "launcher/shared_page.h"
#include "process/functions.h"

namespace wq::launcher {

// The zygote says one of these for every launcher it was asked for: that it runs (or why not, or why it has
// no scratch folder), then how it ended.
struct ZygoteNews {
    enum class Kind : std::uint8_t { forked, not_forked, no_scratch, ended } kind = Kind::forked;
    int value = 0;       // pid; errno; errno; status as of wait()
    pid_t launcher = 0;  // that ended: it may not be the last one
};

struct Zygote {
    pid_t pid = -1;
    Descriptor control;
};

// `functions`: for the launchers' calls; may be null. Error: no process or socket can be made.
Result<Zygote> fork_zygote(SharedPage& shared, const process::FunctionTable* functions);
// What a zygote does, in a process of its own; it keeps no descriptor but `control`.
[[noreturn]] void zygote_main(int control, SharedPage& shared, const process::FunctionTable* functions);

// Asks for a launcher that speaks over `socket` and has its temporary folders below `scratch` (empty: has
// none). One that there still is is killed first, with all that it started. False: the zygote is gone.
bool ask_for_launcher(int control, int socket, const std::string& scratch);
// What the zygote said, without waiting. `gone` is set when it says no more.
std::optional<ZygoteNews> hear_zygote(int control, bool& gone);

}  // namespace wq::launcher
