#include "base/shortage.h"

#include <cstdio>
#include <new>
#include <system_error>

namespace wq {

namespace {

// "" if nothing is short.
std::string remedy_of(int number) {
    switch (number) {
        case EAGAIN:
            return "allow more processes (ulimit -u) or memory (ulimit -v)";
        case EMFILE:
            return "allow more open files (ulimit -n)";
        case ENFILE:
            return "the machine has too many open files: end other programs";
        case ENOMEM:
            return "allow more memory (ulimit -v), or end other programs";
        default:
            return {};
    }
}

}  // namespace

Error refused_by_system(const std::string& what, int number, ExitCode other) {
    const std::string remedy = remedy_of(number);
    return {remedy.empty() ? other : ExitCode::refused,
            what + ": " + std::generic_category().message(number) + (remedy.empty() ? "" : "; " + remedy)};
}

std::optional<Error> shortage_of(const std::exception& error) {
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return refused_by_system("out of memory", ENOMEM);
    const auto* const system = dynamic_cast<const std::system_error*>(&error);
    if (system == nullptr) return std::nullopt;
    const int number = system->code().value();
    const auto& category = system->code().category();
    const bool of_system = category == std::generic_category() || category == std::system_category();
    if (!of_system || remedy_of(number).empty()) return std::nullopt;
    return refused_by_system(number == EAGAIN ? "no thread can be started" : error.what(), number);
}

Error unexpected(const std::exception& error) {
    if (auto shortage = shortage_of(error)) return *shortage;
    return {ExitCode::internal, std::string("bug: ") + error.what() + "; please report it"};
}

int after_output(const char* program, int code) {
    const bool lost_before = std::ferror(stdout) != 0;  // nothing tells any more why
    const bool lost = std::fflush(stdout) != 0;
    if (code != 0 || !(lost || lost_before)) return code;
    std::fprintf(stderr, "%s: cannot write to stdout: its disk is full, or it is closed\n", program);
    return to_int(ExitCode::refused);
}

}  // namespace wq
