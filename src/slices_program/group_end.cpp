#include "slices_program/group_end.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace wq::slices_program {

GroupEnd::GroupEnd() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
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
    plan.dies_with_us = false;
    const process::Spawned child = process::spawn(plan, stack_);
    if (child.pid <= 0)
        throw std::runtime_error("cannot start a process: " + std::generic_category().message(child.error));
    pid_ = child.pid;
}

GroupEnd::~GroupEnd() {
    pipe_.reset();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void end_group_of_lost_rank() {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
    ::kill(0, SIGKILL);  // itself, too
    ::_exit(1);
}

}  // namespace wq::slices_program
