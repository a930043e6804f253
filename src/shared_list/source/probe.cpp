#include "shared_list/source/probe.h"

#include <algorithm>

#include "base/next_line.h"

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
    std::string_view rest = output;
    for (std::string* const value : {&set.newtask, &set.newid, &set.jumpto}) *value = next_line(rest);
    return set;
}

}  // namespace wq::shared_list::source
