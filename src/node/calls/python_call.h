// A call of a Python function, as work_queue/function_task.py packs it: the arguments of a call of the
// function `python`. A few lines that say what can run it come first; the rest only answer.py reads.
//
//   3.11                 version of the manager's Python, whose bytecode the function is
//   /usr/bin/python3     its interpreter; used if this machine has it, too
//   my-env.tar.gz        packed environment among the task's files, or an empty line
//   fork                 in a process of its own; `direct`: in one that may run others before and after
//   7.1234 /home/ada     what no other program has, and the folder of its script, where its modules are
//                        looked for if this machine has it, too; or an empty line
//   612 812 35           sizes of the parts: function (or the name of a file that has it), arguments,
//                        buffers of arrays
//   /proc/7/fd/8 1234    the manager's memory that has them, and its serial; an empty line: they follow
//
// The arguments are a pickled pair: positional ones and the named ones. If the latter are None, the former
// are the items of a chunk, and the function is called with each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wq::node::calls {

inline constexpr std::string_view python_function = "python";

struct PythonCall {
    std::string version;
    std::string executable;
    std::string environment;
    bool direct = false;
};

// nullopt: these are not the arguments of such a call.
std::optional<PythonCall> python_call(std::string_view arguments);

// The interpreter for it: $WORK_QUEUE_PYTHON (node/process/python.h), else the manager's if it exists here
// and its file names no other version, else `python3.11` or `python3` in `path` (of PATH). Empty: there is
// none.
std::string find_python(const PythonCall& call, const std::string& path);
// Whether this machine has any.
bool has_python();

}  // namespace wq::node::calls
