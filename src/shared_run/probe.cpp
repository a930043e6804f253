#include "shared_run/probe.h"

namespace wq::shared_run {

namespace {

// Each variable with a NUL behind it, as no value has one; also under `set -u`, and where a function is named
// printf.
constexpr const char* command = R"(command printf '%s\0' "${newtask-}" "${newid-}" "${jumpto-}" # )";

}  // namespace

std::string probe_of(const std::string& line) {
    return command + line;
}

Result<shared_list::JumpVariables> answer_of(const std::string& output) {
    shared_list::JumpVariables set;
    std::size_t at = 0;
    for (std::string* const value : {&set.newtask, &set.newid, &set.jumpto}) {
        const std::size_t end = output.find('\0', at);
        if (end == std::string::npos)
            return Error{ExitCode::bad_input, "its shell does not tell what the last `#!` line has set"};
        *value = output.substr(at, end - at);
        at = end + 1;
    }
    return set;
}

}  // namespace wq::shared_run
