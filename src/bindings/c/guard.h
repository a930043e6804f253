// Messages of the C functions on stderr: one line each, starting with the function's name.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace wq::bindings::c {

void complain(const char* function, const char* what) noexcept;
void complain(const char* function, const std::string& what) noexcept;

// "FUNCTION: no effect: WHAT", once per process and function.
void no_effect(const char* function, const char* what);

// The boundary to C, which exceptions must not cross.

inline std::string text_or_empty(const char* text) {  // "" for NULL
    return text == nullptr ? std::string() : text;
}

// Calls `work` with the function's name and returns its result. If it throws, prints a line to stderr and
// returns `otherwise`.
template <class Value, class Work>
Value guarded(const char* function, Value otherwise, const Work& work) noexcept {
    try {
        return work(function);
    } catch (const std::bad_alloc&) {
        complain(function, "no memory left");
    } catch (const std::exception& error) {
        complain(function, error.what());
    } catch (...) {
        complain(function, "an unknown error");
    }
    return otherwise;
}

template <class Work>
void guarded(const char* function, const Work& work) noexcept {
    guarded(function, 0, [&](const char* name) {
        work(name);
        return 0;
    });
}

}  // namespace wq::bindings::c
