// A process beside a program that runs the program's commands, as a launcher does for tasks. When the program
// is gone, it ends all that the commands have started, in process groups and sessions of their own, too: the
// kernel makes it the parent of what a command leaves behind. (mpirun would wait for all who hold its
// output.)
//
// A program whose main() does not know of hosts can let a launcher fork them (Style::fork).
//
// A process of its own, because a program that is killed can end nothing, and because libraries may have
// changed the program's signals (MpiSession ignores SIGPIPE).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "node/process/spawn.h"

namespace wq::node::process {

// The command line of that process is the program with this word, or the second one, alone.
inline constexpr std::string_view command_host_word = "--host-of-commands";
inline constexpr std::string_view telling_host_word = "--telling-host-of-commands";

struct CommandLine {
    std::string file;
    std::vector<std::string> words;        // argv
    std::vector<std::string> environment;  // "NAME=value"
};

class CommandHost {
  public:
    // Of which processes the host tells the end; see next_end().
    enum class Ends : std::uint8_t { of_command, of_all };
    struct Style {
        std::string program;    // argv[0] of the host
        bool own_group = true;  // false: a terminal's keys reach its commands
        Ends ends = Ends::of_command;
        // If set, hosts are forked by this instead, where forked_host_main(socket) runs, in their own group
        // and without stdout and stderr; the first by start().
        std::function<Status(int socket)> fork{};
    };
    explicit CommandHost(Style style);  // starts it, if it is not forked; throws std::runtime_error
    ~CommandHost();                     // ends it, and with it all that its commands have left running
    CommandHost(const CommandHost&) = delete;

    // Starts a command that reads `in`, and has nothing else of this process but stdout and stderr; signals
    // are as they were when this process began, SIGPIPE ends it. Error: why it cannot be started. One at a
    // time.
    Status start(const CommandLine& command, int in);
    // A forked host that start() starts removes the folder when it ends, also if this program is gone.
    void remove_at_end(std::string folder) { folder_ = std::move(folder); }
    // Waits for the end of the command. Returns its status as of waitpid(); nullopt: the host is gone, killed
    // by the command perhaps. The next start() starts another one.
    std::optional<int> wait();
    // Kills the command, with all that is left of others. The next start() starts another host.
    void end_command() { end(); }
    // Waits for the end of the command, or of what commands left behind and the host adopted. nullopt: as
    // with wait(). Call it instead of wait(), with Ends::of_all only: while has_end(), and when
    // descriptor() is readable.
    struct End {
        pid_t pid = -1;
        int status = 0;
    };
    std::optional<End> next_end();
    bool has_end() const { return !ends_.empty(); }
    pid_t command() const { return command_; }  // -1: none runs
    pid_t pid() const { return pid_; }          // of the host; -1: it is gone
    // On any thread: ends the host with all that runs, as if it had been killed; the next start() starts
    // another one.
    void shut_down();
    // On any thread: the same, and no other one is started.
    void stop();

    // Readable once the command has ended, or the host.
    int descriptor() const { return control_.get(); }

  private:
    std::optional<int> ask(const CommandLine& command,
                           int in);  // returns an errno; nullopt: the host is gone
    void begin();
    void fork_host(int socket);
    void end();

    std::optional<End> receive_end();

    Style style_;
    std::string folder_;
    ChildStack stack_;
    std::mutex mutex_;    // of a change of control_, stopped_
    Descriptor control_;  // ends with the rank
    bool stopped_ = false;
    pid_t pid_ = -1;
    pid_t command_ = -1;
    std::deque<End> ends_;  // told while an answer was waited for
};

// That process; its control is stdin. Does not return. main() calls it if it has one of the words above.
[[noreturn]] void host_commands(CommandHost::Ends ends);
// The same for a host that a launcher has forked.
[[noreturn]] void forked_host_main(int socket);
// Does so, if the command line is that of a host.
void host_commands_if_asked(int argc, char** argv);

}  // namespace wq::node::process
