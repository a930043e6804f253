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

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

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

// A call for an interpreter to run, and what becomes of it.
struct Request {
    std::uint64_t serial = 0;              // of the launcher's order
    int processes = 0;                     // that were given it
    bool shared = false;                   // its process may run others, before and after it
    bool fresh = false;                    // in a process that has imported no modules of earlier calls
    std::string directory;                 // empty: the launcher's
    std::string group;                     // file by which its process enters a control group; empty: none
    std::string cores;                     // "0,3": those it is bound to; empty: the launcher's
    std::vector<std::string> environment;  // "NAME=value" that differ from the launcher's; "NAME": unset
    Descriptor arguments;                  // memory with the arguments of the call; it can be sealed
    std::uint64_t size = 0;                // of the arguments
    int not_copied = 0;                    // errno, if they could not be copied for another process
    Descriptor result;                     // memory for its result, in the form of a call's
    Descriptor out, err;
};

// How a call ended.
struct PythonCallEnd {
    int status = 0;  // waitpid()'s, of the call's process; 0 if other calls share the process
    rusage usage{};
};

// may_pass: something is short at the moment.
enum class Refusal : std::uint8_t { may_pass, lasting };

// Receives what becomes of requests.
class Listener {
  public:
    virtual void interpreter_started(pid_t pid) = 0;  // a child of ours that is no task
    // A process with its own process group has it. Its parent is the interpreter; if that ends first, we are.
    virtual void call_given(std::uint64_t serial, pid_t pid) = 0;
    // That process has not begun it, and will not. Another one is given it, or it is refused.
    virtual void call_taken_back(std::uint64_t serial) = 0;
    // It ended, and its process as well unless it is shared. Not told if the interpreter ended first; but
    // then call_orphaned().
    virtual void call_ended(std::uint64_t serial, const PythonCallEnd& end) = 0;
    // The interpreter has ended, so nobody but us can wait for that process; if it is no child of ours, the
    // interpreter had waited for it.
    virtual void call_orphaned(std::uint64_t serial, pid_t pid) = 0;
    // No process will begin it.
    virtual void call_refused(std::uint64_t serial, std::string reason, Refusal kind) = 0;

  protected:
    ~Listener() = default;
};

}  // namespace wq::node::calls
