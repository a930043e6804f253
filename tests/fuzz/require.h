// A condition for every input of a fuzzer; unlike assert() it is checked in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace wq::fuzz {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace wq::fuzz
