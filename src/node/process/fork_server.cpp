#include "node/process/fork_server.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wq::node::process {

void become_fork_server(const char* name, Ignored ignored) {
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int signal = 1; signal < NSIG; ++signal) {
        const bool needed =
            signal == SIGCHLD || signal == SIGPIPE;  // SIGCHLD ignored, ends would not be told
        if (needed || ignored == Ignored::reset) ::signal(signal, SIG_DFL);
    }
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
}

void leave_fork_server() {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

ChildEnds::ChildEnds() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_.reset(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool ChildEnds::take_signals() const {
    bool any = false;
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) > 0) any = true;
    return any;
}

pid_t ChildEnds::next_end(int& status) {
    return waitpid(-1, &status, WNOHANG | __WALL);
}

}  // namespace wq::node::process
