// What a worker's shell is told, and what it answers.
//
// The shell is started with a program that loops: it reads an empty line from a pipe, which wakes it, then
// the text of a step from a file, and evaluates it. (Of a file, bash reads blocks; of a pipe, single bytes.)
// Each step writes its answer to a pipe: words that end in NUL.
//
// Builtins are called with `\command`, because a list may define functions and aliases of their names, and
// because an error in a special builtin would end dash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wq::programs::runtask {

// Paths by which the shell and its subshells open our descriptors.
struct ShellPaths {
    std::string wake;    // a pipe: a byte '\n' for each step
    std::string step;    // a file: the step, one line
    std::string answer;  // a pipe
    bool is_bash = false;
};

// The program for `sh -c`.
std::string shell_program(const ShellPaths& paths);

using Exports = std::vector<std::pair<std::string, std::string>>;
std::string export_text(const Exports& exports);

// `options`: of `set`, such as "ex", which are on for lines and off for our own text.
std::string environment_step(std::string_view line, std::string_view options, const ShellPaths& paths);
// In a subshell that the shell waits for.
std::string task_step(std::string_view line, std::string_view options, const ShellPaths& paths);
// In a subshell that it does not wait for, and that is forked twice: its parent ends at once, so that the
// nearest subreaper gets to know its end.
struct BackgroundTask {
    std::uint64_t key = 0;  // value of task_key_variable, for what it executes
    std::string output;     // a file to append to
    std::string go;         // a pipe: with a byte '\n' it begins; give it after its parent has ended
};
std::string background_step(std::string_view line, std::string_view options, const BackgroundTask& task,
                            const ShellPaths& paths);

inline constexpr const char* task_key_variable = "RUNTASK_TASK";

struct LineAnswer {  // of environment_step()
    int exit_code = 0;
    std::string options;  // that are on now, of those that need care
    std::string directory;
    std::string newtask, newid, jumpto;  // variables; empty: not set
};
struct TaskAnswer {  // of task_step()
    int exit_code = 0;
};
struct StartAnswer {  // of background_step()
    int pid = 0;      // 0: no process could be forked
};
struct OrphanAnswer {};  // of background_step(), after that: the parent has ended
struct ShellAnswer {
    std::optional<LineAnswer> line;
    std::optional<TaskAnswer> task;
    std::optional<StartAnswer> start;
    std::optional<OrphanAnswer> orphan;
};
// Takes the first answer off `bytes`; nullopt: it is not complete.
std::optional<ShellAnswer> take_answer(std::string& bytes);

}  // namespace wq::programs::runtask
