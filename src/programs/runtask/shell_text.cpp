#include "programs/runtask/shell_text.h"

#include <array>
#include <charconv>

#include "base/text.h"

namespace wq::programs::runtask {

namespace {

// Exported by `set -a`, a step of 1 MB would let no command start.
constexpr std::string_view forget_step = "\\command unset _runtask_step; ";

// An option that would end the shell, or show our own text.
constexpr std::string_view delicate_options = "evx";

std::string with_options(std::string_view options) {
    return options.empty() ? "" : "\\command set -" + std::string(options) + "; ";
}

std::string evaluated(std::string_view line, std::string_view options) {
    return with_options(options) + "\\command eval " + single_quoted(line);
}

std::string read_line(const std::string& path, bool is_bash) {
    // Its own limit, because TMOUT may have another one.
    const std::string limit = is_bash ? "-t 100000000 " : "";
    return "IFS= \\command read -r " + limit + "_runtask_step <" + path;
}

std::optional<std::vector<std::string>> take_words(std::string& bytes, std::size_t count) {
    std::vector<std::string> words;
    std::size_t at = 0;
    while (words.size() < count) {
        const std::size_t end = bytes.find('\0', at);
        if (end == std::string::npos) return std::nullopt;
        words.push_back(bytes.substr(at, end - at));
        at = end + 1;
    }
    bytes.erase(0, at);
    return words;
}

int number_in(const std::string& word) {
    int number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    return number;
}

std::string delicate_in(const std::string& options) {
    std::string found;
    for (const char option : delicate_options)
        if (options.find(option) != std::string::npos) found += option;
    return found;
}

}  // namespace

std::string shell_program(const ShellPaths& paths) {
    return std::string(paths.is_bash ? "shopt -s expand_aliases; " : "") +
           "unset newtask newid jumpto; while " + read_line(paths.wake, paths.is_bash) + " && " +
           read_line(paths.step, paths.is_bash) + "; do \\command eval \"$_runtask_step\"; done";
}

std::string export_text(const Exports& exports) {
    std::string text;
    for (const auto& [name, value] : exports)
        text += "\\command export " + name + "=" + single_quoted(value) + "; ";
    return text;
}

std::string environment_step(std::string_view line, std::string_view options, const ShellPaths& paths) {
    return std::string(forget_step) + evaluated(line, options) +
           "; { \\command printf '%s\\0' l $? \"$-\" \"$PWD\" \"${newtask-}\" \"${newid-}\" \"${jumpto-}\" "
           ">" +
           paths.answer + "; \\command set +evx; \\command unset newtask newid jumpto; } 2>/dev/null";
}

std::string task_step(std::string_view line, std::string_view options, const ShellPaths& paths) {
    return "( " + std::string(forget_step) + evaluated(line, options) +
           " ); \\command printf '%s\\0' t $? >" + paths.answer;
}

std::string background_step(std::string_view line, std::string_view options, const BackgroundTask& task,
                            const ShellPaths& paths) {
    return "( ( " + read_line(task.go, paths.is_bash) + " || \\command exit; " + std::string(forget_step) +
           "\\command export " + task_key_variable + "=" + std::to_string(task.key) + "; " +
           evaluated(line, options) + " ) </dev/null >>" + task.output +
           " 2>&1 & \\command printf '%s\\0' s \"$!\" >" + paths.answer +
           " ); \\command printf '%s\\0' o 0 >" + paths.answer;
}

std::optional<ShellAnswer> take_answer(std::string& bytes) {
    if (bytes.empty()) return std::nullopt;
    const std::size_t count = bytes.front() == 'l' ? 7 : 2;
    const auto words = take_words(bytes, count);
    if (!words) return std::nullopt;
    const auto& word = *words;
    ShellAnswer answer;
    if (word[0] == "l")
        answer.line = {number_in(word[1]), delicate_in(word[2]), word[3], word[4], word[5], word[6]};
    else if (word[0] == "t")
        answer.task = {number_in(word[1])};
    else if (word[0] == "o")
        answer.orphan.emplace();
    else
        answer.start = {number_in(word[1])};
    return answer;
}

}  // namespace wq::programs::runtask
