// What all processes share that fork others on request: the zygotes of ranks and of executors, launchers, and
// hosts of commands.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/descriptor.h"

namespace wq::node::process {

// Makes the calling process, which was just forked, such a server. It adopts what its descendants leave
// behind. No signal but SIGKILL ends it: other signals are mistakes of what it runs (`kill $PPID`). `name`:
// for ps, at most 15 characters. `ignored`: a signal that this process ignores is ignored by its children,
// too, if `kept`; so commands outlive a logout where `nohup` asks for that.
enum class Ignored { reset, kept };
void become_fork_server(const char* name, Ignored ignored = Ignored::reset);

// In a process that a server has forked: it gets signals again.
void leave_fork_server();

// The ends of the server's children, for poll().
class ChildEnds {
  public:
    ChildEnds();
    bool valid() const { return signals_.valid(); }
    int descriptor() const { return signals_.get(); }
    void close() { signals_.reset(); }
    // Empties the descriptor. Returns whether a child had ended since the last call.
    bool take_signals() const;

    // Calls on_end(pid, status) for each child that has ended, adopted ones included. Never waits.
    template <class OnEnd>
    void reap(OnEnd&& on_end) const {
        take_signals();
        int status = 0;
        for (pid_t pid = 0; (pid = next_end(status)) > 0;) on_end(pid, status);
    }

  private:
    static pid_t next_end(int& status);

    Descriptor signals_;
};

}  // namespace wq::node::process
