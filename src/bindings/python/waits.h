// Waits that Ctrl-C ends: Python runs the handlers of signals only between two of our waits.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "base/signals.h"

namespace wq::bindings::python {

inline constexpr std::chrono::milliseconds signals_look{50};

// Raises what a signal's handler has raised.
inline void look_at_signals() {
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

// When the interpreter ends, it ends threads that want its lock again, by unwinding them up to Python 3.13:
// but destructors on their way may need that lock. So they wait for the end of the process, as later versions
// have it.
inline void take_lock(PyThreadState* thread) {
    try {
        PyEval_RestoreThread(thread);
    } catch (const abi::__forced_unwind&) {
        for (;;) ::pause();
    }
}

// Lets other threads of Python run meanwhile.
template <class Wait>
auto without_lock(Wait wait) -> decltype(wait()) {
    PyThreadState* const thread = PyEval_SaveThread();
    std::optional<decltype(wait())> result;
    std::exception_ptr error;
    try {
        result.emplace(wait());
    } catch (const std::exception&) {
        error = std::current_exception();
    }
    take_lock(thread);
    if (error) std::rethrow_exception(error);
    return std::move(*result);
}

// Waits by `part(limit)`, which returns an optional, and nullopt before its limit only if nothing will come.
// `seconds` below 0: without a limit. nullopt: nothing has come. Sets `ended` if nothing will come.
template <class Part>
auto in_parts(double seconds, bool& ended, Part part) -> decltype(part(signals_look)) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e9)));
    for (;;) {
        const auto begun = Clock::now();
        Clock::duration limit = signals_look;
        if (seconds >= 0) limit = std::clamp(end - begun, Clock::duration(0), limit);
        auto result =
            without_lock([&] { return part(std::chrono::duration_cast<std::chrono::nanoseconds>(limit)); });
        if (result) return result;
        look_at_signals();
        const auto now = Clock::now();
        ended = now - begun < limit;
        if (ended || (seconds >= 0 && now >= end)) return std::nullopt;
    }
}

// Runs `work` on a thread and waits for it. If a signal's handler raises, nobody waits for it any more: so it
// must own all that it uses.
template <class Work>
auto interruptibly(Work work) -> decltype(work()) {
    auto result = std::make_shared<std::promise<decltype(work())>>();
    auto coming = result->get_future();
    quiet_thread([work = std::make_shared<Work>(std::move(work)), result]() mutable {
        try {
            if constexpr (std::is_void_v<decltype((*work)())>) {
                (*work)();
                work.reset();
                result->set_value();
            } else {
                auto value = (*work)();
                work.reset();
                result->set_value(std::move(value));
            }
        } catch (...) {
            work.reset();
            result->set_exception(std::current_exception());
        }
    }).detach();
    for (;;) {
        if (without_lock([&] { return coming.wait_for(signals_look) == std::future_status::ready; })) break;
        look_at_signals();
    }
    return coming.get();
}

// A process that was forked from the one that made an object has its memory, but not its threads.
class OfThisProcess {
  public:
    bool is() const { return process_ == ::getpid(); }
    void check(const char* what, const char* remedy) const {
        if (!is()) throw std::runtime_error(std::string(what) + " belongs to the parent process: " + remedy);
    }

  private:
    const pid_t process_ = ::getpid();
};

}  // namespace wq::bindings::python
