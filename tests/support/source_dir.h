// The source folder, for tests that read its files (the pages of the guide).
#pragma once

#include <cstdlib>
#include <filesystem>

namespace wq::test {

// Set by ctest. __FILE__ is no alternative: compilers get relative paths if that makes their cache shareable.
inline std::filesystem::path source_dir() {
    const char* told = std::getenv("WQ_SOURCE_DIR");
    return told != nullptr ? told : ".";
}

}  // namespace wq::test
