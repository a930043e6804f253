// The rank's interface to the launcher: a small process that starts, binds, limits, captures and reaps tasks,
// so that no task is forked from a process that uses MPI. The process itself is in launcher_process.h.
//
// Orders queue in the launcher in the sequence given. The head starts as soon as the slice has its cores,
// GPUs, memory and disk free; a later order goes first only if it does not delay the head. A rank keeps a few
// orders queued, so that no core waits for a message. Memory and disk are counted; cores and GPUs are chosen:
// cores close together, lowest first.
//
// Lifetime: call start() before MPI_Init and before any thread exists, or start_program(). If the rank ends
// in any way, the launcher sees the end of their socket, kills every process tree that it started, and exits.
// If the launcher dies, a helper parent forked before MPI_Init (the "zygote", see zygote.h) kills every
// process that the lost orders had started. Then next() reports LauncherDied once, with these orders, and
// open() makes the zygote fork a new launcher.
//
// When the main process of a task ends, the launcher at once kills what it left behind (its process group,
// and orphans that left the group), so a task cannot leave a daemon. Daemons of `#!` lines live as long as
// the worker's shell.
//
// Tasks inherit the environment as it was at start() (see process::BaseEnvironment).
//
// A call runs in a process that is forked (through several forks, without exec) from the program as it was at
// start(): it sees the memory of that time, and none of the program's descriptors. Limits, output, usage and
// kills work as for commands. The return value comes as Output::result, an exception as Ending::raised. If
// the process ends before the function returns, the call has failed, even with exit code 0.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "node/launcher/launcher_wire.h"
#include "node/launcher/zygote.h"
#include "node/process/functions.h"
#include "node/process/order.h"

namespace wq::node::launcher {

class Launcher {
  public:
    // Forks the zygote; call it before MPI_Init and before any thread exists. `functions`: the table for
    // calls, as it is now; null: none. `last_words`: see leave_last_words(); with it, this
    // process becomes a subreaper, and kills all its children if launcher and zygote were killed. Error: a
    // broken environment.
    static Result<std::unique_ptr<Launcher>> start(const process::FunctionTable* functions = nullptr,
                                                   LastWords last_words = nullptr);
    // The same with a separate program (zygote.h), at any time and with any threads, because this
    // process does not fork. It has no functions. Error: `path` is not that program.
    static Result<std::unique_ptr<Launcher>> start_program(const std::string& path);
    virtual ~Launcher() = default;

    // Forks the launcher process with these options (known only after the ranks have divided the node). After
    // LauncherDied it can be called again, and resends the earlier environment lines. Error: the folders of
    // the options cannot be used, no process can be forked, or the zygote was killed (this rank can run no
    // more tasks).
    virtual Status open(const LauncherOptions& options) = 0;

    // The launcher's own folder below options.scratch, while it is open; empty if it has none.
    virtual std::string scratch() const = 0;

    // Readable when next() has something to report or to do. It never changes; poll it, do not read it.
    virtual int descriptor() const = 0;

    // None of these blocks. They are buffered here and sent together by the next call of next(), for which
    // descriptor() is readable at once.
    virtual void environment(const EnvironmentLine& line) = 0;
    // Later orders start in that directory. If it is empty or cannot be entered, they start where the
    // launcher started.
    virtual void enter(const std::string& directory) = 0;
    virtual void run(process::Order order) = 0;
    virtual void kill(TaskId task,
                      Attempt attempt) = 0;       // ends as Ending::killed, or is returned if not started
    virtual void recall(std::uint64_t most) = 0;  // returns up to `most` orders not started, the last first
    virtual void kill_all() = 0;                  // as kill() of every order

    // All reports that are available without waiting.
    virtual std::vector<Report> next() = 0;

    // Forks one more process from the program as it was at start(), as which `main` runs with `socket`. It is
    // no launcher: it notices by the socket that it has to end. May be called by any thread. Error: the
    // program's code is not in the process that would fork it (start_program), or that is gone.
    virtual Status fork_child(int socket, void (*main)(int socket)) = 0;

    // After this process has ended or closed the launcher, a process that outlives it calls `last_words` of
    // start() with these, once all that was started has ended, or could not be ended in time. Empty: it calls
    // nothing.
    virtual void leave_last_words(const std::string&) {}

    // Until when the tasks may run if this process says nothing later: for the case that it is stopped. Then
    // the launcher ends, with all that runs. Instant::max(): without a limit, as after open().
    virtual void keep_until(Instant) {}

    // Ends the launcher process and opens a new one. Earlier orders and environment lines are dropped, and
    // never reported.
    virtual Status begin_anew(const LauncherOptions& options, Duration limit) = 0;

    // Kills all that runs and waits up to `limit` for the process. No process that tasks left survives.
    virtual void close(Duration limit) = 0;
};

}  // namespace wq::node::launcher
