// Starts a library thread within a user's program. Signals belong to the program, so its handlers must not
// run on the thread.
#pragma once

#include <thread>
#include <utility>

#include "base/signals_held.h"

namespace wq {

template <class Work>
std::thread quiet_thread(Work&& work) {
    const SignalsHeld held;
    return std::thread(std::forward<Work>(work));
}

}  // namespace wq
