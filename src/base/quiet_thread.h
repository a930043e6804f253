// Blocks signals on this thread, and on threads that it starts, while the object exists. Signals belong to
// the program, and its handlers must not run on our threads. Signals caused by a thread's own fault are not
// blocked.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <thread>
#include <utility>

namespace wq {

class SignalsHeld {
  public:
    SignalsHeld() {
        sigset_t all;
        sigfillset(&all);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
            sigdelset(&all, own);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

  private:
    sigset_t before_{};
};

// Starts a library thread within a user's program. Signals belong to the program, so its handlers must not
// run on the thread.

template <class Work>
std::thread quiet_thread(Work&& work) {
    const SignalsHeld held;
    return std::thread(std::forward<Work>(work));
}

}  // namespace wq
