// A thread of this library within a program: signals are the program's, so no handler of its runs there.
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
