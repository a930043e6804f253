// Tests of random things try all of them only with `scripts/test --long`; see WQ_EVERY in
// tests/CMakeLists.txt.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace wq::test {

// How many of `all` are tried here.
inline int some_of(int all) {
    const char* const every = std::getenv("WQ_EVERY");
    return std::max(1, all / (every != nullptr ? std::atoi(every) : 1));
}

}  // namespace wq::test
