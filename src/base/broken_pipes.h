// A program that writes to pipes whose readers may end first.
#pragma once

#include <signal.h>

namespace wq {

// From now on, a write to a pipe without a reader is an error, on this thread and on threads that it starts
// later; it does not end the process. Child processes inherit that, unless they unblock SIGPIPE.
inline void block_broken_pipes() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace wq
