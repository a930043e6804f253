// Delivers signals through a descriptor. They are blocked before MPI starts its threads, which inherit the
// mask, so that only we receive them.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>
#include <thread>
#include <utility>

#include "base/result.h"

namespace wq {

class Signals {
  public:
    // INT, TERM, HUP, USR1 and USR2, because batch systems send different signals before the end of a job. If
    // the program ignores one, it stays ignored (but INT): `nohup` keeps a program alive at logout.
    static Result<Signals> block();
    Signals(Signals&& other) noexcept;
    Signals& operator=(Signals&&) = delete;
    ~Signals();

    int descriptor() const { return descriptor_; }
    std::optional<int> next();  // never waits

    static bool stops(int signal);  // whether it is one of these

  private:
    explicit Signals(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

// Blocks signals on this thread, and on threads that it starts, while the object exists. Signals belong to
// the program, and its handlers must not run on our threads. Signals caused by a thread's own fault are not
// blocked.
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
