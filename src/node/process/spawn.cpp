#include "node/process/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>

// glibc's internal name of clone(). It bypasses the sanitizers' wrappers, which keep the argument on the
// caller's stack.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" int __clone(int (*)(void*), void*, int, void*, ...) noexcept;

namespace wq::node::process {

namespace {

constexpr std::size_t stack_bytes = 64u << 10;

// Stored at the far end of the stack. The plan is a copy, because spawn() may return before it is used.
struct ChildArgument {
    SpawnPlan plan;
    const unsigned long* mask;  // the plan's mask, without its class, which may be instrumented
    std::size_t mask_bytes;
    sigset_t no_signals;
    std::atomic<pid_t> in_use;  // the kernel sets it to 0 when the child executes its file or ends
    volatile int error;
    volatile bool at_exec;
    volatile bool at_directory;
};
static_assert(std::atomic<pid_t>::is_always_lock_free);

ChildArgument& argument_of(const ChildStack& stack) {
    return *static_cast<ChildArgument*>(stack.base());
}

#define WQ_NOT_INSTRUMENTED __attribute__((no_sanitize("address", "undefined", "thread")))

constexpr long number_of_close_range = 436;  // on all architectures except Alpha

// System calls that return -errno and do not change errno, which belongs to our thread, and that may run at
// the same time.
#if defined(__x86_64__) && defined(__LP64__)
constexpr bool can_run_beside = true;
WQ_NOT_INSTRUMENTED inline long system_call(long number, long a, long b = 0, long c = 0, long d = 0) {
    long result = number;
    register long fourth asm("r10") = d;
    asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
constexpr bool can_run_beside = true;
WQ_NOT_INSTRUMENTED inline long system_call(long number, long a, long b = 0, long c = 0, long d = 0) {
    register long which asm("x8") = number;
    register long first asm("x0") = a;
    register long second asm("x1") = b;
    register long third asm("x2") = c;
    register long fourth asm("x3") = d;
    asm volatile("svc #0" : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory");
    return first;
}
#else
constexpr bool can_run_beside = false;
WQ_NOT_INSTRUMENTED inline long system_call(long number, long a, long b = 0, long c = 0, long d = 0) {
    const long result = syscall(number, a, b, c, d);
    return result < 0 ? -errno : result;
}
#endif

WQ_NOT_INSTRUMENTED inline long address(const volatile void* of) {
    return reinterpret_cast<long>(of);
}

[[noreturn]] WQ_NOT_INSTRUMENTED void give_up(ChildArgument& argument, long result) {
    argument.error = static_cast<int>(-result);
    for (;;) system_call(SYS_exit_group, 127);
}

WQ_NOT_INSTRUMENTED void redirect(ChildArgument& argument, const char* path, int place) {
    const long file = system_call(SYS_openat, AT_FDCWD, address(path), O_WRONLY | O_CLOEXEC, 0);
    const long put = file < 0 ? file : system_call(SYS_dup3, file, place, 0);
    if (put < 0) give_up(argument, put);
}

// Runs on our memory, perhaps at the same time as we, so it only makes system calls. It must not be
// instrumented, because it would share the sanitizers' data with us.
WQ_NOT_INSTRUMENTED int child_main(void* raw) {
    ChildArgument& argument = *static_cast<ChildArgument*>(raw);
    const SpawnPlan& plan = argument.plan;
    if (plan.own_group || plan.group > 0) system_call(SYS_setpgid, 0, plan.own_group ? 0 : plan.group);
    if (plan.dies_with_us) system_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (argument.mask != nullptr)
        system_call(SYS_sched_setaffinity, 0, static_cast<long>(argument.mask_bytes), address(argument.mask));
    if (plan.keep >= 0) system_call(SYS_fcntl, plan.keep, F_SETFD, 0);
    if (plan.directory != nullptr) {
        const long entered = system_call(SYS_chdir, address(plan.directory));
        if (entered < 0) {
            argument.at_directory = true;
            give_up(argument, entered);
        }
    }
    if (plan.out != nullptr) redirect(argument, plan.out, STDOUT_FILENO);
    if (plan.err != nullptr) redirect(argument, plan.err, STDERR_FILENO);
    if (plan.in > STDIN_FILENO) system_call(SYS_dup3, plan.in, STDIN_FILENO, 0);
    if (plan.in == STDIN_FILENO) system_call(SYS_fcntl, STDIN_FILENO, F_SETFD, 0);  // it is in its place
    if (plan.only_standard) system_call(number_of_close_range, STDERR_FILENO + 1, ~0U, 0);
    // Only now, because until the exec the child has all our descriptors, and could open nothing more.
    if (plan.files != nullptr) system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, address(plan.files), 0);
    constexpr long kernels_mask_bytes = (_NSIG - 1) / 8;
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, address(&argument.no_signals), 0, kernels_mask_bytes);
    const long result = system_call(SYS_execve, address(plan.file), address(plan.argv), address(plan.envp));
    argument.at_exec = true;
    give_up(argument, result);
}

// Copied from linux/sched.h (5.7), because the headers may be older than the kernel.
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
constexpr long number_of_clone3 = 435;                     // on all architectures except Alpha

// glibc's clone() takes a function and a stack, and clone3() has no wrapper. Without shared memory the child
// continues after the call, as after fork().
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
    new (base_) ChildArgument{};
}

ChildStack::~ChildStack() {
    munmap(base_, stack_bytes);
}

bool ChildStack::in_use() const {
    return argument_of(*this).in_use.load(std::memory_order_acquire) != 0;
}

Spawned ChildStack::failure() const {
    const ChildArgument& argument = argument_of(*this);
    if (argument.error == 0) return {0, 0, false, false};
    return {-1, argument.error, argument.at_exec, argument.at_directory};
}

void ChildStack::reaped() {
    argument_of(*this).in_use.store(0, std::memory_order_release);
}

void ChildStack::forget() {
    new (base_) ChildArgument{};
}

const char* shortage(int error) {
    if (error == EMFILE || error == ENFILE) return "no descriptors are left: raise their limit (ulimit -n)";
    if (error == EAGAIN || error == ENOMEM)
        return "no process can be forked: raise the limit of processes (ulimit -u) or free memory";
    return nullptr;
}

Spawned spawn(const SpawnPlan& plan, ChildStack& stack, Until until) {
    ChildArgument& argument = *new (stack.base()) ChildArgument{};
    argument.plan = plan;
    if (plan.mask != nullptr) {
        argument.mask = plan.mask->words();
        argument.mask_bytes = plan.mask->bytes();
    }
    sigemptyset(&argument.no_signals);
    if (can_run_beside && until == Until::begun && plan.control_group < 0) {
        argument.in_use.store(1, std::memory_order_relaxed);
        const pid_t pid = __clone(child_main, stack.top(), CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
                                  &argument, nullptr, nullptr, &argument.in_use);
        if (pid > 0) {
            if (plan.own_group) setpgid(pid, pid);  // also done in the child; either may be first
            return {pid, 0, false, false};
        }
        argument.in_use.store(0, std::memory_order_relaxed);
        if (errno != EINVAL) return {-1, errno, false, false};  // an emulator that only has vfork()
    }
    const pid_t pid = plan.control_group >= 0
                          ? clone_into(plan.control_group, argument)
                          : __clone(child_main, stack.top(), CLONE_VM | CLONE_VFORK | SIGCHLD, &argument);
    if (pid < 0) return {-1, errno, false, false};
    if (argument.error == 0) return {pid, 0, false, false};
    waitpid(pid, nullptr, 0);
    return stack.failure();
}

}  // namespace wq::node::process
