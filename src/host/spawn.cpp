#include "host/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace wq::host {

namespace {

constexpr std::size_t stack_bytes = 256u << 10;

struct ChildArgument {
    const SpawnPlan* plan;
    sigset_t no_signals;
    volatile int error;
    volatile bool at_exec;
    volatile bool at_directory;
};

// Runs on our memory, so it only makes system calls. Sanitizers must not look: their bookkeeping is ours too.
__attribute__((no_sanitize("address", "undefined", "thread"))) int child_main(void* raw) {
    auto* const argument = static_cast<ChildArgument*>(raw);
    const SpawnPlan& plan = *argument->plan;
    if (plan.own_group) setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (plan.mask != nullptr) syscall(SYS_sched_setaffinity, 0, plan.mask->bytes(), plan.mask->words());
    if (plan.files != nullptr) setrlimit(RLIMIT_NOFILE, plan.files);
    if (plan.keep >= 0) fcntl(plan.keep, F_SETFD, 0);
    if (plan.directory != nullptr && chdir(plan.directory) != 0) {
        argument->error = errno;
        argument->at_directory = true;
        _exit(127);
    }
    const int out = open(plan.out, O_WRONLY | O_CLOEXEC);
    const int err = open(plan.err, O_WRONLY | O_CLOEXEC);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) {
        argument->error = errno;
        _exit(127);
    }
    sigprocmask(SIG_SETMASK, &argument->no_signals, nullptr);
    execve(plan.file, plan.argv, plan.envp);
    argument->error = errno;
    argument->at_exec = true;
    _exit(127);
}

}  // namespace

ChildStack::ChildStack() {
    base_ =
        mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    top_ = static_cast<char*>(base_) + stack_bytes;
}

ChildStack::~ChildStack() {
    munmap(base_, stack_bytes);
}

Spawned spawn(const SpawnPlan& plan, const ChildStack& stack) {
    ChildArgument argument{&plan, {}, 0, false, false};
    sigemptyset(&argument.no_signals);
    const pid_t pid = clone(child_main, stack.top(), CLONE_VM | CLONE_VFORK | SIGCHLD, &argument);
    if (pid < 0) return {-1, errno, false, false};
    if (argument.error == 0) return {pid, 0, false, false};
    waitpid(pid, nullptr, 0);
    return {-1, argument.error, argument.at_exec, argument.at_directory};
}

}  // namespace wq::host
