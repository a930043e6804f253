#include "node/launcher/shell_watch.h"

#include <utility>

namespace wq::node::launcher {

ShellWatch::ShellWatch(EnvironmentShell& shell, process::Poller& poller, OutputWatch& outputs,
                       usage::Leftovers& leftovers)
    : shell_(shell), poller_(poller), outputs_(outputs), leftovers_(leftovers) {
    poller_.add(shell_.reply(), process::Source::shell_reply, EPOLLIN);
}

void ShellWatch::ready(process::Source source) {
    switch (source) {
        case process::Source::shell_reply:
            shell_.on_reply();
            return look();
        case process::Source::shell_script:
            shell_.on_script_room();
            return look();
        case process::Source::shell_out:
            return outputs_.drain(shell_.out(), source, 0);
        case process::Source::shell_err:
            return outputs_.drain(shell_.err(), source, 0);
        default:
            return;
    }
}

void ShellWatch::look() {
    if (shell_.generation() != generation_) {
        generation_ = shell_.generation();
        script_in_poller_ = false;  // a new pipe
        leftovers_.add_own(shell_.pid());
        outputs_.watch_stream(shell_.out(), process::Source::shell_out, 0);
        outputs_.watch_stream(shell_.err(), process::Source::shell_err, 0);
    }
    if (!shell_.script_pending()) return;
    if (std::exchange(script_in_poller_, true))
        poller_.change(shell_.script(), process::Source::shell_script, EPOLLOUT | EPOLLONESHOT);
    else
        poller_.add(shell_.script(), process::Source::shell_script, EPOLLOUT | EPOLLONESHOT);
}

}  // namespace wq::node::launcher
