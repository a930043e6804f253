// The loops that own a clock: that of rank 0, which manages (and works), and that of the other ranks, which
// work.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/signals.h"
#include "launcher/function_runner.h"
#include "launcher/launcher.h"
#include "manager/manager.h"
#include "net/transport.h"
#include "run/loop.h"
#include "run/source.h"
#include "stats/recorder.h"
#include "worker/worker.h"

namespace wq::run {

core::Now now();

// Before a process ends: what is still on its way leaves, as far as it does within 0.3 s. A lost rank never
// takes its own.
void let_frames_leave(net::Transport& ranks);

// What a signal to stop gives running tasks.
struct StopPolicy {
    Duration grace = std::chrono::seconds(10);
    // mpirun kills 1 s after it has passed INT, TERM or HUP on: no time for grace. USR1 and USR2 it passes on
    // freely.
    bool killed_after_signal = false;

    Duration grace_after(int signal) const;
};

struct RunDeadline {
    std::optional<Instant> drain_at;  // give nothing out from then on
    Duration grace{0};                // running tasks may finish for so long after
};

struct ManagerLoopParts {
    manager::Manager& manager;
    Source& source;
    stats::Recorder& recorder;
    Signals* signals = nullptr;  // null: signals are not ours to handle
    // To workers: ranks, TCP, one in this process. One that wants it is asked on a back-off.
    std::vector<net::Transport*> wires{};
    // This rank's own worker on this thread, which talks to the manager like any other; all null: none.
    net::Transport* own_end_of_manager = nullptr;
    net::Transport* own_end_of_worker = nullptr;
    worker::Worker* worker = nullptr;
    launcher::Launcher* launcher = nullptr;
    launcher::FunctionRunner* functions = nullptr;  // null: that worker has none
    Background* files_of_manager = nullptr;         // where tasks have files
    Background* files_of_worker = nullptr;
    Background* others = nullptr;  // of who is called each turn
    StopPolicy stop{};
    RunDeadline deadline{};
    // Called each turn, before it waits; returns when it wants to be called next at the latest.
    std::function<std::optional<Instant>(Instant)> each_turn = [](Instant) { return std::nullopt; };
};

class ManagerLoop {
  public:
    explicit ManagerLoop(ManagerLoopParts parts) : parts_(std::move(parts)) {}

    // Until the run is over and every worker was told. An error is of the source: what was running has ended
    // first.
    Status run();

  private:
    bool turn();
    bool move_frames();
    bool wants_more() const;
    bool few_under_way() const;
    void read_source();
    void handle_signals();
    void wait(bool moved);
    void say_goodbye();

    ManagerLoopParts parts_;
    Waiter waiter_;
    BackOff back_off_{Instant{}};
    bool asks_ = false;  // some wire is to be asked on the back-off
    std::vector<net::Arrival> inbox_;
    std::optional<Error> source_error_;
    Instant turn_began_;
};

struct WorkerLoopParts {
    worker::Worker& worker;
    net::Transport& ranks;
    net::PeerId manager;
    launcher::Launcher& launcher;
    Signals* signals = nullptr;  // null: signals are not ours to handle
    StopPolicy stop{};
    launcher::FunctionRunner* functions = nullptr;  // null: the worker has none
    Background* files = nullptr;                    // where tasks have files
};

class WorkerLoop {
  public:
    explicit WorkerLoop(WorkerLoopParts parts) : parts_(parts) {}

    // Until the manager dismisses us or is gone.
    void run();

  private:
    bool move_frames();
    void handle_signals();
    void wait(bool moved);

    WorkerLoopParts parts_;
    Waiter waiter_;
    BackOff back_off_{Instant{}};
    std::vector<net::Arrival> inbox_;
};

}  // namespace wq::run
