#include "report/go_on.h"

#include <algorithm>

#include "taskfile/sources.h"

namespace wq::report {

std::string command_to_go_on(const StartedAs& started, const std::string& option) {
    const std::vector<std::string>& words = started.command_line;
    // Words after `--` are the user's command.
    const auto end = std::find(words.begin(), words.end(), "--");
    const bool there =
        std::any_of(words.begin(), end, [&](const std::string& word) { return word.starts_with(option); });
    std::string text = started.launcher.empty() ? "" : "the same " + started.launcher + " command with ";
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (word < end && !there && *word == "--resume") continue;  // --resume-failed replaces it
        text += (word != words.begin() ? " " : "") + taskfile::shell_quote(*word);
        if (word == words.begin() && !there) text += " " + option;
    }
    return text;
}

}  // namespace wq::report
