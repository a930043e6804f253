// What the program asks of its zygote, and hears from it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "work_queue/job_executor.h"

namespace wq::functions::pool {

// A function, by its place in memory, which is the same in all processes that are forked from this program.
struct FunctionPlace {
    Batch (*run)(void* callable, Batch&& in, const JobContext& context) = nullptr;
    void* callable = nullptr;       // if bytes is 0
    std::uint64_t bytes = 0;        // of `copy`
    const void* library = nullptr;  // where the code was loaded, which a process forked earlier may not have
    alignas(std::max_align_t) std::array<std::byte, detail::most_callable_bytes> copy{};

    static FunctionPlace of(const detail::JobFunction& function);
    // Whether this process has the code.
    bool is_here() const;
    void* object() { return bytes > 0 ? copy.data() : callable; }
};

// The descriptors that come along: `fork` has page, socket and doorbell; `streams` has stdout and stderr.
struct Request {
    enum class Kind : std::uint32_t { fork, kill, streams } kind = Kind::fork;
    std::uint32_t lane = 0;
    std::uint64_t life = 0;  // counts the processes of all lanes
    FunctionPlace function;
};

// `zygote_lost`: it was killed, and so were all workers; another one serves.
struct ZygoteReport {
    enum class Kind : std::uint32_t { forked, not_forked, ended, zygote_lost } kind = Kind::forked;
    std::uint32_t lane = 0;
    std::uint64_t life = 0;
    pid_t pid = 0;
    int value = 0;  // not_forked: errno; ended: status as of wait()
};

// The process that forks an executor's workers: it is itself forked while the program has one thread, so that
// workers can be started at any later time. It reaps them, tells how they ended, and kills them all when the
// program is gone. It adopts what they leave behind (it is a subreaper), and kills that at its end.
//
// Its parent, the keeper, is what the program forks. It waits. If the zygote is killed, the kernel kills the
// workers; the keeper adopts and kills what these have left, and forks the next zygote from its own memory,
// which is as the first one's was. If the keeper is killed, the zygote goes on without one.
//
// The program's end is noticed by end of file on the control socket, or by its pidfd (a child of the program
// may have a copy of the socket). If keeper and zygote are gone, the program sees end of file.
struct ZygoteLink {
    Descriptor control;
    pid_t child = -1;  // the keeper; -1: it is no child of this process
};

// Forks one. Error: the program has several threads or MPI, or no process can be forked.
Result<ZygoteLink> fork_zygote();

Result<ZygoteLink> begin_link(Descriptor& theirs);
void lend_streams(int control);  // its stdout and stderr are this process's then
// Its workers are dead or it kills them. Whatever may keep it, it lives no longer than `until`, but for 100
// ms at least.
void end_zygote(ZygoteLink& zygote, Instant until);

// For poll(): milliseconds, rounded up, and a minute at most.
int poll_limit(Instant until);

// One that another process forks, by ask(socket), which is of an older image of this program.
template <class Ask>
Result<ZygoteLink> ask_for_zygote(Ask&& ask) {
    Descriptor theirs;
    auto link = begin_link(theirs);
    if (!link) return link;
    if (Status asked = ask(theirs.get()); !asked) return asked.error();
    theirs.reset();
    lend_streams(link->control.get());
    return link;
}

// The keeper's main function, in its own process, which keeps no descriptor but `control`, stdout and stderr.
// What escapes from it would run the program's own frames in another process.
[[noreturn]] void zygote_main(int control) noexcept;

// For a zygote that is a newly started program, such as an interpreter: its workers run this function, not
// the one of the program that started it. The interpreter of a language learns of forks.
struct OwnFunction {
    FunctionPlace function;
    void (*before_fork)() = nullptr;
    void (*after_fork)(bool in_child) = nullptr;
    void (*begin_worker)() = nullptr;
};
[[noreturn]] void started_zygote_main(int control, const OwnFunction& own) noexcept;

}  // namespace wq::functions::pool
