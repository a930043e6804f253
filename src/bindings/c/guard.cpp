#include "bindings/c/guard.h"

#include <cstdio>
#include <set>

namespace wq::bindings::c {

void complain(const char* function, const char* what) noexcept {
    std::fprintf(stderr, "%s: %s\n", function, what);
}

void complain(const char* function, const std::string& what) noexcept {
    complain(function, what.c_str());
}

void no_effect(const char* function, const char* what) {
    static std::mutex& mutex = *new std::mutex;  // lives until the process has exited
    static auto& said = *new std::set<std::string>;
    const std::lock_guard lock(mutex);
    if (said.insert(function).second) std::fprintf(stderr, "%s: no effect: %s\n", function, what);
}

}  // namespace wq::bindings::c
