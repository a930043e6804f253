// Where the project's files are, for tests that read some of them (the guide's pages).
#pragma once

#include <cstdlib>
#include <filesystem>

namespace wq::test {

// ctest tells it. __FILE__ does not: compilers are given relative paths where that makes their cache shareable.
inline std::filesystem::path source_dir() {
    const char* told = std::getenv("WQ_SOURCE_DIR");
    return told != nullptr ? told : ".";
}

}  // namespace wq::test
