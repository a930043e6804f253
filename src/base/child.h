// A process that this one starts and waits for: commands of the system, helpers, our own programs. (Tasks are
// started by node/process/spawn.h, which a launcher can call thousands of times a second.)
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"

namespace wq {

// As shells give it: the exit code, or 128 + the signal that ended the process. Takes a status of waitpid().
int exit_code_of(int wait_status);

// Readable once `process` has ended; not valid (errno says why) before Linux 5.3, or if there is no such
// process.
Descriptor end_descriptor_of(pid_t process);

struct ChildOptions {
    // What become its descriptors 0, 1 and 2; -1: /dev/null.
    int in = -1;
    int out = -1;
    int err = -1;
    // A process of our group gets Ctrl-C with us. In its own group or session no signal is ignored, in our
    // group not SIGPIPE and SIGCHLD; none is blocked.
    enum class Group { ours, own, session };
    Group group = Group::ours;
    bool closes_others = false;          // also descriptors that are inherited
    char* const* environment = nullptr;  // null: ours
};

// Ends with this object: killed, with its group if that is its own.
class Child {
  public:
    Child() = default;
    // `words`: the program, found by PATH if it has no slash, and its arguments.
    Child(const std::vector<std::string>& words, const ChildOptions& options);
    Child(Child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), group_(other.group_), error_(other.error_) {}
    Child& operator=(Child&& other) noexcept;
    ~Child() { kill(); }

    bool running() const { return pid_ > 0; }   // started, and its end not taken
    int start_error() const { return error_; }  // an errno; 0: it was started
    void signal(int number) const;
    void signal_all(int number) const;  // to its group, if that is its own

    // Its exit code, once; nullopt: it still runs, or was not running. If this process ignores SIGCHLD, the
    // kernel keeps no exit codes: then it is `unknown_end`.
    static constexpr int unknown_end = 127;
    std::optional<int> take_end();
    int wait();  // for its end; returns the exit code, `unknown_end` if it was not running
    // nullopt: it still runs. Where the kernel has no pidfd_open() (before Linux 5.3), looks every 10 ms.
    std::optional<int> wait_until(Instant until);
    // Readable once it has ended; not valid before Linux 5.3.
    Descriptor end_descriptor() const { return end_descriptor_of(pid_); }
    void kill();     // and waits for its end
    void release();  // it runs on, or is reaped if it has ended

  private:
    std::optional<int> reaped(int flags);

    pid_t pid_ = -1;
    ChildOptions::Group group_ = ChildOptions::Group::ours;
    int error_ = 0;
};

}  // namespace wq
