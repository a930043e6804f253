// A process beside a rank that runs the rank's commands, as a launcher does for tasks. When the rank is gone,
// it ends all that the commands have started, in process groups and sessions of their own, too: the kernel
// makes it the parent of what a command leaves behind. mpirun would wait for all who hold its output.
//
// A process of its own, because MPI has begun when commands start: a rank that is killed can end nothing, and
// libraries have changed its signals (MpiSession ignores SIGPIPE).
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "process/spawn.h"

namespace wq::slices_program {

// The command line of that process: work_queue_slices with this word alone.
inline constexpr std::string_view command_host_word = "--host-of-a-ranks-commands";

struct CommandLine {
    std::string file;
    std::vector<std::string> words;        // argv
    std::vector<std::string> environment;  // "NAME=value"
};

class CommandHost {
  public:
    CommandHost();   // starts it; throws std::runtime_error
    ~CommandHost();  // ends it, and with it all that its commands have left running
    CommandHost(const CommandHost&) = delete;

    // Starts a command that reads `in`, and has nothing else of this process but stdout and stderr; signals
    // are as they were when this process began, SIGPIPE ends it. Error: why it cannot be started. One at a
    // time.
    Status start(const CommandLine& command, int in);
    // Waits for the end of the command. Returns its status as of waitpid(); nullopt: the host is gone, killed
    // by the command perhaps. The next start() starts another one.
    std::optional<int> wait();
    // Kills the command, with all that is left of others. The next start() starts another host.
    void end_command() { end(); }
    // On any thread: ends the host with all that runs, and starts no other one.
    void stop();

    // Readable once the command has ended, or the host.
    int descriptor() const { return control_.get(); }

  private:
    std::optional<int> ask(const CommandLine& command,
                           int in);  // returns an errno; nullopt: the host is gone
    void begin();
    void end();

    process::ChildStack stack_;
    std::mutex mutex_;    // of a change of control_, stopped_
    Descriptor control_;  // ends with the rank
    bool stopped_ = false;
    pid_t pid_ = -1;
};

// That process; its control is stdin. Does not return.
[[noreturn]] void host_commands();

}  // namespace wq::slices_program
