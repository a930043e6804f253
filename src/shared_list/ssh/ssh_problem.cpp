#include "shared_list/ssh/ssh_problem.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/next_line.h"
#include "base/units.h"

namespace wq::shared_list::ssh {

namespace {

constexpr std::size_t most_lines = 3;

struct Known {
    std::string_view text;    // of ssh
    std::string_view remedy;  // HOST: the host
    ExitCode code;
};

constexpr std::string_view password_free =
    "log in without a password must work: ssh-copy-id HOST; test: ssh -o BatchMode=yes HOST true";

constexpr std::array known{
    Known{"IDENTIFICATION HAS CHANGED", "if that is right: ssh-keygen -R HOST, then: ssh HOST true",
          ExitCode::not_allowed},
    Known{"Host key verification failed", "accept its key once: ssh HOST true", ExitCode::not_allowed},
    Known{"Permission denied", password_free, ExitCode::not_allowed},
    Known{"Too many authentication failures", password_free, ExitCode::not_allowed},
    Known{"Could not resolve hostname", "check the name; test: ssh HOST true", ExitCode::unreachable},
    Known{"Connection refused", "is sshd running there, on this port? Test: ssh HOST true",
          ExitCode::unreachable},
    Known{"timed out", "check the name and the firewall; test: ssh HOST true", ExitCode::unreachable},
    Known{"No route to host", "check the name and the network; test: ssh HOST true", ExitCode::unreachable},
};

struct HelperWord {
    std::string_view word;
    std::string_view what;  // FILE: the list
    std::string_view remedy;
    ExitCode code;
};

constexpr std::string_view get_permission =
    "get write permission for it and its folder, or use a copy of the list";

constexpr std::array helper_words{
    HelperWord{"directory", "FILE is a directory", "name a file, the list of tasks", ExitCode::bad_input},
    HelperWord{"nolist", "there is no list FILE", "a worker would make it", ExitCode::bad_input},
    HelperWord{"unreadable", "cannot read FILE", "get permission to read it", ExitCode::not_allowed},
    HelperWord{"special", "FILE is no regular file", "name a file, the list of tasks", ExitCode::bad_input},
    HelperWord{"missing", "the folder of FILE does not exist", "make it first", ExitCode::bad_input},
    HelperWord{"user", "no such user for FILE", "write ./~NAME if the name begins with '~'",
               ExitCode::bad_input},
    HelperWord{"link", "the symbolic link FILE cannot be followed", "name the file that it leads to",
               ExitCode::bad_input},
    HelperWord{"readonly", "cannot read and write FILE", get_permission, ExitCode::not_allowed},
    HelperWord{"folder", "cannot write in the folder of FILE", get_permission, ExitCode::not_allowed},
    HelperWord{"data", "cannot write in the folder FILE.runtask", get_permission, ExitCode::not_allowed},
    HelperWord{"flock", "the master has no command flock", "install it there (Debian: util-linux)",
               ExitCode::bad_input},
    HelperWord{
        "lock", "cannot lock FILE.lock",
        "get write permission for it; if its file system has no locks, put the list on a local disk of "
        "the master",
        ExitCode::bad_input},
    HelperWord{"write", "cannot write FILE.runtask or FILE",
               "nothing was changed: make room on that disk, or get write permission", ExitCode::bad_input},
    HelperWord{"splice", "awk at the master made a list of a wrong size",
               "nothing was changed: install another awk there (mawk, gawk, BusyBox)", ExitCode::bad_input},
    HelperWord{"sync", "cannot store FILE.runtask on the disk", "check the master's disk",
               ExitCode::unreachable},
    HelperWord{"halfway", "cannot complete a change of FILE",
               "its records are stored: make room on that disk, or get write permission",
               ExitCode::unreachable},
    HelperWord{"look", "cannot see how FILE is", "check `stat` at the master, or what killed it",
               ExitCode::unreachable},
    HelperWord{"unfinished", "cannot complete FILE",
               "all of it is in FILE.runtask/in_place.*: make room on that disk", ExitCode::unreachable},
};

std::string with(std::string_view text, std::string_view word, const std::string& value) {
    std::string result(text);
    for (std::size_t at = 0; (at = result.find(word, at)) != std::string::npos; at += value.size())
        result.replace(at, word.size(), value);
    return result;
}

}  // namespace

std::string end_of_errors(const std::string& errors) {
    std::vector<std::string> lines;
    for (std::string_view rest = errors; !rest.empty();) {
        std::string_view line = next_line(rest);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty() && !line.starts_with("Warning: Permanently added"))
            lines.push_back(line_for_message(line));
    }
    std::string result;
    for (std::size_t i = lines.size() - std::min(lines.size(), most_lines); i < lines.size(); ++i)
        result += (result.empty() ? "" : " / ") + lines[i];
    return result;
}

Error no_connection(const std::string& host, const std::string& errors, int exit_code) {
    std::string text = end_of_errors(errors);
    const std::string what = "cannot reach the master " + line_for_message(host) + ": ";
    for (const Known& one : known)
        if (errors.find(one.text) != std::string::npos)
            return {one.code, what + text + "; " + with(one.remedy, "HOST", host)};
    if (text.empty()) text = "ssh ended with exit code " + std::to_string(exit_code);
    return {ExitCode::unreachable, what + text + "; test: ssh " + host + " true"};
}

Error lost_connection(const std::string& host, const std::string& errors) {
    const std::string text = end_of_errors(errors);
    return {ExitCode::unreachable, "lost the connection to the master " + line_for_message(host) +
                                       (text.empty() ? "" : ": " + text)};
}

Error helper_problem(const std::string& host, const std::string& list, const std::string& why,
                     const std::string& errors) {
    const std::size_t blank = std::min(why.find(' '), why.size());
    std::string said = why.substr(std::min(blank + 1, why.size()));
    if (said.empty()) said = end_of_errors(errors);
    said = said.empty() ? "" : ": " + line_for_message(said);
    const std::string file = line_for_message(host + ":" + list, 400);
    for (const HelperWord& one : helper_words)
        if (why.substr(0, blank) == one.word)
            return {one.code, with(one.what, "FILE", file) + said + "; " + with(one.remedy, "FILE", file)};
    return {ExitCode::internal,
            "the helper at the master failed for " + file + ": " + line_for_message(why) + said};
}

}  // namespace wq::shared_list::ssh
