// Tasks that are to begin in a control group, and what becomes of them where they cannot.
#include "node/launcher/task_starter.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "unit/node/usage/shown_group.h"

namespace wq::node::launcher::test {
namespace {

using Result = TaskStarter::Result;

constexpr unsigned number_of_clone3 = 435;

// As a container's filter does it: from now on that call fails with `error` in this process.
bool forbid_clone3(int error) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{4, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

struct Tried {
    Result result = Result::impossible;
    bool has_group = false;
};

// One task that was given a group, which is a plain folder: the kernel refuses it (EBADF).
Tried start_one() {
    const wq::test::Folder folder;
    char* none = nullptr;
    const process::BaseEnvironment base{&none, {}};
    Lanes lanes{base, folder / "scratch", ""};
    TaskStarter starter{"/bin/sh", "/bin:/usr/bin", nullptr};
    usage::test::ShownGroup shown;
    Lane& lane = *lanes.acquire();
    lane.order.order.text = "exit 0";
    lane.out.begin(0);
    lane.err.begin(0);
    lane.group = std::move(shown.owned);
    Tried tried{starter.start(lane, {}, &none), lane.group != nullptr};
    if (lane.pid > 0) waitpid(lane.pid, nullptr, 0);
    return tried;
}

constexpr int no_filter = 77;

// What becomes of it where clone3() fails so: in a process of its own, since a filter is for ever.
int started_despite(int error) {
    const pid_t pid = fork();
    if (pid == 0) {
        if (!forbid_clone3(error)) _exit(no_filter);
        const Tried tried = start_one();
        _exit(2 * static_cast<int>(tried.result) + (tried.has_group ? 1 : 0));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int with_group(Result result) {
    return 2 * static_cast<int>(result) + 1;
}

int without_group(Result result) {
    return 2 * static_cast<int>(result);
}

// Containers may forbid it, and kernels before 5.7 know of no groups in it.
bool clone3_knows_groups() {
    clone_args how{};
    how.flags = CLONE_INTO_CGROUP;
    how.exit_signal = SIGCHLD;
    how.cgroup = static_cast<std::uint64_t>(INT_MAX);  // nobody's
    return syscall(SYS_clone3, &how, sizeof how) < 0 && errno == EBADF;
}

TEST(TaskStarter, AGroupThatCannotBeEnteredIsPassedOverByItsTaskAlone) {
    if (!clone3_knows_groups()) GTEST_SKIP() << "clone3() does not begin in control groups here";
    const Tried tried = start_one();
    EXPECT_EQ(tried.result, Result::started);
    EXPECT_TRUE(tried.has_group);  // else no more would be made
}

TEST(TaskStarter, GroupsAreGivenUpWhereNobodyMayBeginInOne) {
    if (started_despite(ENOSYS) == no_filter) GTEST_SKIP() << "no filter may be set here";
    for (const int error : {ENOSYS, EINVAL, E2BIG, EPERM, EACCES, EOPNOTSUPP, EBUSY})
        EXPECT_EQ(started_despite(error), without_group(Result::started)) << error;
}

TEST(TaskStarter, WhereThereIsNoRoomItTriesInItsGroupAgain) {
    if (started_despite(ENOSYS) == no_filter) GTEST_SKIP() << "no filter may be set here";
    for (const int error : {EAGAIN, ENOMEM})
        EXPECT_EQ(started_despite(error), with_group(Result::try_later)) << error;
}

}  // namespace
}  // namespace wq::node::launcher::test
