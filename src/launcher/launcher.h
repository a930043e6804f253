// The launcher: a small process of a rank that starts, binds, limits, captures and reaps tasks, so that none
// is forked from a process that holds MPI. This is the rank's end of it; the process itself is
// launcher_process.h.
//
// Orders queue in the launcher in the order given; the head starts as soon as the slice has its cores, GPUs,
// memory and disk free; past it goes only what takes nothing from it. So a rank keeps a few orders ahead of
// the free cores and no core waits for a message. Memory and disk are counted, cores and GPUs are chosen:
// cores close together, lowest first.
//
// Life: start() before MPI_Init and before any thread, or start_program(). When the rank ends in any way the
// launcher sees the end of their socket, kills every process tree that it started and exits. When the
// launcher itself dies, next() reports LauncherDied once with the orders that were lost, after every process
// that they had started was killed, and open() begins anew: a helper parent ("zygote", see zygote.h) forked
// before MPI_Init does the fork and the killing.
//
// When the main process of a task has ended, what it left behind (its process group, and orphans that left
// the group) is killed at once: a task cannot leave a daemon. Daemons of `#!` lines live as long as the
// worker's shell.
//
// Tasks inherit the environment of the time of start(), as process::BaseEnvironment says.
//
// A call runs in a process that was never executed but forked, again and again, from the program as it was at
// start(): it sees the memory of that time, and none of the program's descriptors. All that holds for
// commands holds for it (limits, output, usage, kills). What it returns comes as Output::result, what it
// throws as Ending::raised; a process that ends before the function returns has failed, also with exit code
// 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/outcome.h"
#include "machine/slice.h"
#include "process/functions.h"
#include "process/order.h"

namespace wq::launcher {

struct LauncherOptions {
    machine::Slice slice;
    std::string shell;              // absolute path; runs what needs a shell, as `shell -c LINE`
    std::string scratch;            // folder for the tasks' temporary directories (TMPDIR), made if missing;
                                    // empty: TMPDIR is left as it is
    std::string working_directory;  // empty: where start() was called
    std::vector<std::pair<std::string, std::string>> environment;  // set for every task, e.g. WORKERID
    std::uint64_t output_limit =
        8u << 20;  // bytes kept of each stream of a task; the rest is counted and marked
    // The list may have `#!` lines: a task below one runs in a subshell of the worker's shell.
    bool environment_lines = false;
    // Tasks run in the launcher's own folder below `scratch`, whose path they have as WORK_QUEUE_SANDBOX,
    // instead of working_directory: all that they leave there goes with it.
    bool work_in_scratch = false;
};

// `#!` lines that apply to this worker, in order; told once each, `position` counts them from 1.
struct EnvironmentLine {
    std::uint64_t position = 0;
    std::string text;
};

// What comes back.
struct TaskStarted {  // left out when the task ended within the same batch of reports (a few ms)
    TaskId task;
    Attempt attempt;
};
struct TaskEnded {
    TaskId task;
    Attempt attempt;
    core::Outcome outcome;
    core::Output output;
};
struct OrderReturned {  // answer to recall(), kill(), kill_all() or after EnvironmentExit: it had not started
    TaskId task;
    Attempt attempt;
};
struct EnvironmentOutput {  // a `#!` line that failed or wrote something
    std::uint64_t position = 0;
    int exit_code = 0;
    core::Output output;
};
// A `#!` line ended the worker's shell with `exit` (or by a signal: 128 + its number). Orders that stand
// below that line come back as OrderReturned.
struct EnvironmentExit {
    std::uint64_t position = 0;
    int exit_code = 0;
};
struct LauncherDied {
    std::vector<std::pair<TaskId, Attempt>> started;      // were running: their attempts are lost with it
    std::vector<std::pair<TaskId, Attempt>> not_started;  // were queued: go back at no cost
    std::string why;                                      // "killed by signal 9"
};
using Report =
    std::variant<TaskStarted, TaskEnded, OrderReturned, EnvironmentOutput, EnvironmentExit, LauncherDied>;

class Launcher {
  public:
    // Forks the zygote; call before MPI_Init and before any thread exists. `functions`: what calls name, as
    // it is now; null: none. Error: a broken environment.
    static Result<std::unique_ptr<Launcher>> start(const process::FunctionTable* functions = nullptr);
    // The same by a program of its own (launcher_program.h), at any time and beside any thread: no process is
    // forked from this one. It has no functions. Error: `path` is not that program.
    static Result<std::unique_ptr<Launcher>> start_program(const std::string& path);
    virtual ~Launcher() = default;

    // Forks the launcher process proper with these options (known only after the ranks have divided the
    // node). Also after LauncherDied: environment lines told before are then told again. Error: the folders
    // of the options cannot be used, no process can be forked, or the zygote was killed (this rank can run no
    // more tasks).
    virtual Status open(const LauncherOptions& options) = 0;

    // The launcher's own folder below options.scratch, while it is open; empty: it has none.
    virtual std::string scratch() const = 0;

    // Readable when next() has something to say or to do. Always the same; poll it, never read it.
    virtual int descriptor() const = 0;

    // None of these blocks: they are buffered on this side and leave together with the next next(), for which
    // descriptor() is readable at once.
    virtual void environment(const EnvironmentLine& line) = 0;
    // Orders given after it start there, where it can be entered; else, and where it is empty, as if nothing
    // had been said.
    virtual void enter(const std::string& directory) = 0;
    virtual void run(process::Order order) = 0;
    virtual void kill(TaskId task,
                      Attempt attempt) = 0;       // ends as Ending::killed (or is returned when not started)
    virtual void recall(std::uint64_t most) = 0;  // returns up to `most` orders not started, the last first
    virtual void kill_all() = 0;                  // as kill() of every order

    // All reports that can be had without waiting.
    virtual std::vector<Report> next() = 0;

    // As close(), then open(): of orders and environment lines told before, nothing is left and nothing is
    // reported.
    virtual Status begin_anew(const LauncherOptions& options, Duration limit) = 0;

    // Kills what runs, waits for the process, at most `limit`. Nothing that tasks left survives.
    virtual void close(Duration limit) = 0;
};

}  // namespace wq::launcher
