#define CCTOOLS_NO_SHORT_NAMES
#include "cctools/cctools.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bindings/c/guard.h"
#include "cctools/debug.h"

namespace {

// "prog version 0.1.0 (Work Queue)"
std::string version_line(const char* program) {
    const std::string name = program == nullptr ? "" : program;
    return name + (name.empty() ? "" : " ") + "version " + cctools_version_string() + " (Work Queue)";
}

// Major, minor and micro of "1.2.3"; missing numbers are 0.
std::array<long, 3> numbers_of(const char* version) {
    std::array<long, 3> numbers{};
    for (long& number : numbers) {
        if (version == nullptr) break;
        char* end = nullptr;
        number = std::strtol(version, &end, 10);
        version = *end == '.' ? end + 1 : nullptr;
    }
    return numbers;
}

}  // namespace

using wq::bindings::c::guarded;

const char* cctools_version_string(void) {
    return WQ_VERSION;
}
void cctools_version_print(FILE* stream, const char* cmd) {
    guarded(__func__, [&](const char*) {
        if (stream != nullptr) std::fprintf(stream, "%s\n", version_line(cmd).c_str());
    });
}
void cctools_version_debug(std::uint64_t type, const char* cmd) {
    guarded(__func__, [&](const char*) {
        cctools_debug(static_cast<std::int64_t>(type), "%s", version_line(cmd).c_str());
    });
}
int cctools_version_cmp(const char* v1, const char* v2) {
    const auto one = numbers_of(v1);
    const auto other = numbers_of(v2);
    return one < other ? -1 : other < one ? 1 : 0;
}
