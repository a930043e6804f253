#include "shared_list/source/probe.h"

#include <algorithm>

namespace wq::shared_list::source {

namespace {

// Each variable in a line, nothing if none is set; also under `set -u`, and where functions are named like
// these commands.
constexpr const char* command =
    R"(command test -z "${newtask-}${newid-}${jumpto-}" || command printf '%s\n' "${newtask-}" "${newid-}" "${jumpto-}" # )";

}  // namespace

std::string probe_of(const std::string& line) {
    return command + line;
}

Result<replica::JumpVariables> answer_of(const std::string& output) {
    replica::JumpVariables set;
    if (output.empty()) return set;
    if (std::ranges::count(output, '\n') != 3 || !output.ends_with('\n'))
        return Error{ExitCode::bad_input, "newtask, newid or jumpto is no single line"};
    std::size_t at = 0;
    for (std::string* const value : {&set.newtask, &set.newid, &set.jumpto}) {
        const std::size_t end = output.find('\n', at);
        *value = output.substr(at, end - at);
        at = end + 1;
    }
    return set;
}

}  // namespace wq::shared_list::source
