// The loops that own a clock: of rank 0, which manages (and works), and of the other ranks, which work.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/loop.h"
#include "app/manager.h"
#include "app/signals.h"
#include "app/source.h"
#include "app/worker.h"
#include "host/function_runner.h"
#include "host/launcher.h"
#include "stats/recorder.h"
#include "transport/transport.h"

namespace wq::app {

core::Now now();

// Before a process ends: what is still on its way leaves, as far as it does within 0.3 s. A lost rank never
// takes its own.
void let_frames_leave(transport::Transport& ranks);

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
    Manager& manager;
    Source& source;
    stats::Recorder& recorder;
    Signals* signals = nullptr;  // null: signals are not ours to handle
    // To workers: ranks, TCP, one in this process. One that wants it is asked on a back-off.
    std::vector<transport::Transport*> wires{};
    // This rank's own worker on this thread, which talks to the manager like any other; all null: none.
    transport::Transport* own_end_of_manager = nullptr;
    transport::Transport* own_end_of_worker = nullptr;
    Worker* worker = nullptr;
    host::Launcher* launcher = nullptr;
    host::FunctionRunner* functions = nullptr;  // null: that worker has none
    Background* files_of_manager = nullptr;     // where tasks have files
    Background* files_of_worker = nullptr;
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
    void read_source();
    void handle_signals();
    void wait(bool moved);
    void say_goodbye();

    ManagerLoopParts parts_;
    Waiter waiter_;
    BackOff back_off_;
    bool asks_ = false;  // some wire is to be asked on the back-off
    std::vector<transport::Arrival> inbox_;
    std::optional<Error> source_error_;
    Instant turn_began_;
};

struct WorkerLoopParts {
    Worker& worker;
    transport::Transport& ranks;
    transport::PeerId manager;
    host::Launcher& launcher;
    Signals* signals = nullptr;  // null: signals are not ours to handle
    StopPolicy stop{};
    host::FunctionRunner* functions = nullptr;  // null: the worker has none
    Background* files = nullptr;                // where tasks have files
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
    BackOff back_off_;
    std::vector<transport::Arrival> inbox_;
};

}  // namespace wq::app
