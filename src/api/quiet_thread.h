// A thread of this library within a program: signals are the program's, so no handler of its runs there.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace wq::api {

template <class Work>
std::thread quiet_thread(Work&& work) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread(std::forward<Work>(work));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace wq::api
