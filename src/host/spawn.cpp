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
#include <cstdint>
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

// As in linux/sched.h from 5.7 on; the headers may be older than the kernel.
struct CloneArguments {
    std::uint64_t flags = 0;
    std::uint64_t pidfd = 0;
    std::uint64_t child_tid = 0;
    std::uint64_t parent_tid = 0;
    std::uint64_t exit_signal = 0;
    std::uint64_t stack = 0;
    std::uint64_t stack_size = 0;
    std::uint64_t tls = 0;
    std::uint64_t set_tid = 0;
    std::uint64_t set_tid_size = 0;
    std::uint64_t control_group = 0;
};
constexpr std::uint64_t into_control_group = 0x200000000;  // CLONE_INTO_CGROUP
constexpr long number_of_clone3 = 435;                     // on all architectures but Alpha

// glibc's clone() takes a function and a stack; clone3() has no wrapper there. Without memory in common the
// child goes on behind the call, as after a fork().
pid_t clone_into(int control_group, ChildArgument& argument) {
    CloneArguments how;
    how.flags = into_control_group | CLONE_VFORK;
    how.exit_signal = SIGCHLD;
    how.control_group = static_cast<std::uint64_t>(control_group);
    const long pid = syscall(number_of_clone3, &how, sizeof how);
    if (pid == 0) child_main(&argument);
    return static_cast<pid_t>(pid);
}

}  // namespace

ChildStack::ChildStack() {
    base_ = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    top_ = static_cast<char*>(base_) + stack_bytes;
}

ChildStack::~ChildStack() {
    munmap(base_, stack_bytes);
}

Spawned spawn(const SpawnPlan& plan, const ChildStack& stack) {
    ChildArgument& argument = *new (stack.base()) ChildArgument{&plan, {}, 0, false, false};
    sigemptyset(&argument.no_signals);
    const pid_t pid = plan.control_group >= 0
                          ? clone_into(plan.control_group, argument)
                          : clone(child_main, stack.top(), CLONE_VM | CLONE_VFORK | SIGCHLD, &argument);
    if (pid < 0) return {-1, errno, false, false};
    if (argument.error == 0) return {pid, 0, false, false};
    waitpid(pid, nullptr, 0);
    return {-1, argument.error, argument.at_exec, argument.at_directory};
}

}  // namespace wq::host
