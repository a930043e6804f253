#include "manager/report/go_on.h"

#include <algorithm>

#include "engine/tasklist/sources.h"

namespace wq::manager::report {

std::string how_to_go_on_with(const StartedAs& started, const std::string& option) {
    const std::vector<std::string>& words = started.command_line;
    // Words after `--` are the user's command.
    const auto end = std::find(words.begin(), words.end(), "--");
    const bool there =
        std::any_of(words.begin(), end, [&](const std::string& word) { return word.starts_with(option); });
    std::string text =
        started.launcher.empty() ? "run: " : "run: the same " + started.launcher + " command with ";
    if (started.by_job_script) {
        text = "submit the job script again";
        if (there) return text;
        text += ", with ";
    }
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (word < end && !there && *word == "--resume") continue;  // --resume-failed replaces it
        text += (word != words.begin() ? " " : "") + engine::tasklist::shell_quote(*word);
        if (word == words.begin() && !there) text += " " + option;
    }
    return text;
}

}  // namespace wq::manager::report
