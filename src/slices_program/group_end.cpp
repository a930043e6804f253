#include "slices_program/group_end.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace wq::slices_program {

GroupEnd::GroupEnd() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const Descriptor read_end(ends[0]);
    pipe_.reset(ends[1]);
    std::string word(group_end_word);
    std::string name = "work_queue_slices";
    const std::array<char*, 3> argv{name.data(), word.data(), nullptr};
    process::SpawnPlan plan;
    plan.file = "/proc/self/exe";
    plan.argv = argv.data();
    plan.envp = ::environ;
    plan.in = read_end.get();
    plan.out = plan.err = "/dev/null";
    plan.only_standard = true;
    pid_ = process::spawn(plan, stack_).pid;
}

GroupEnd::~GroupEnd() {
    if (pid_ <= 0) return;
    watch(0);
    pipe_.reset();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void GroupEnd::watch(pid_t group) const {
    [[maybe_unused]] const ssize_t told = ::write(pipe_.get(), &group, sizeof group);
}

int end_group_of_lost_rank() {
    ::prctl(PR_SET_PDEATHSIG, 0);  // it outlives its rank
    pid_t group = 0;
    for (;;) {
        const ssize_t got = ::read(STDIN_FILENO, &group, sizeof group);
        if (got < 0 && errno == EINTR) continue;
        if (got != static_cast<ssize_t>(sizeof group)) break;
    }
    if (group > 0) ::kill(-group, SIGKILL);
    return 0;
}

}  // namespace wq::slices_program
