#include "node/calls/python_call.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "node/process/python.h"

namespace wq::node::calls {

namespace {

constexpr std::size_t longest_line = 4096;

std::optional<std::string> take_line(std::string_view& text) {
    const std::size_t end = text.substr(0, longest_line).find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string line(text.substr(0, end));
    text.remove_prefix(end + 1);
    return line;
}

bool is_version(const std::string& text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

}  // namespace

std::optional<PythonCall> python_call(std::string_view arguments) {
    auto version = take_line(arguments);
    auto executable = version ? take_line(arguments) : std::nullopt;
    auto environment = executable ? take_line(arguments) : std::nullopt;
    const auto method = environment ? take_line(arguments) : std::nullopt;
    if (!method || !is_version(*version) || (*method != "fork" && *method != "direct")) return std::nullopt;
    return PythonCall{std::move(*version), std::move(*executable), std::move(*environment),
                      *method == "direct"};
}

namespace {

// As Debian 11's /usr/bin/python3, a link to python3.9, does for a call of Python 3.11.
bool names_another_version(const std::string& executable, const std::string& version) {
    std::error_code error;
    const std::string name = std::filesystem::canonical(executable, error).filename();
    return name.starts_with("python3.") && !name.starts_with("python" + version);
}

}  // namespace

std::string find_python(const PythonCall& call, const std::string& path) {
    std::vector<std::string> candidates{"python" + call.version, "python3"};
    if (call.executable.starts_with('/') && !names_another_version(call.executable, call.version))
        candidates.insert(candidates.begin(), call.executable);
    return process::find_python(candidates, path);
}

bool has_python() {
    const char* const path = std::getenv("PATH");
    return !find_python({}, path == nullptr ? "" : path).empty();
}

}  // namespace wq::node::calls
