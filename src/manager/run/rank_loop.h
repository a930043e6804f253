// The loops that own a clock: rank 0's, which manages (and works), and that of the other ranks, which work.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/signals.h"
#include "manager/manager.h"
#include "manager/run/loop.h"
#include "manager/run/own_worker.h"
#include "manager/run/source.h"
#include "net/frames/transport.h"
#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "records/recorder/recorder.h"
#include "worker/worker.h"

namespace wq::manager::run {

engine::model::Now now();

// Before a process ends, sends pending frames, for at most 0.3 s: a lost rank never takes its frames.
void let_frames_leave(net::frames::Transport& ranks);

// How long running tasks may go on after a stop signal.
struct StopPolicy {
    Duration grace = std::chrono::seconds(10);
    // mpirun passes on INT, TERM or HUP and kills 1 s later, so there is no time for grace. It also passes on
    // USR1 and USR2, without killing.
    bool killed_after_signal = false;

    Duration grace_after(int signal) const;
};

struct RunDeadline {
    std::optional<Instant> drain_at;  // no dispatching from then on
    Duration grace{0};                // running tasks may finish for this long afterwards
};

struct ManagerLoopParts {
    manager::Manager& manager;
    Source& source;
    records::recorder::Recorder& recorder;
    Signals* signals = nullptr;  // null: others handle signals
    // Links to workers: ranks, TCP, one in this process. Links that need polling are polled with a back-off.
    std::vector<net::frames::Transport*> wires{};
    OwnWorker* own_worker = nullptr;         // it talks to the manager like any other; null: none
    Background* files_of_manager = nullptr;  // if tasks have files
    Background* others = nullptr;            // for objects called each turn
    StopPolicy stop{};
    RunDeadline deadline{};
    // Called each turn before the wait; returns the latest time of its next call.
    std::function<std::optional<Instant>(Instant)> each_turn = [](Instant) { return std::nullopt; };
};

class ManagerLoop {
  public:
    explicit ManagerLoop(ManagerLoopParts parts) : parts_(std::move(parts)) {}

    // Runs until the run is over and every worker was told. Returns an error of the source, after the running
    // tasks have ended.
    Status run();

  private:
    bool turn();  // whether another one is needed at once
    bool listen_to_wires();
    bool listen_to(
        net::frames::Transport& wire);  // whether something arrived or left, other than a keepalive
    void hand_frames_to(OwnWorker& own);
    bool wants_more(Instant at) const;
    bool source_works() const;
    bool few_under_way() const;
    void read_source();
    void handle_signals();
    void wait(bool moved);
    void say_goodbye();

    ManagerLoopParts parts_;
    Waiter waiter_;
    BackOff back_off_{Instant{}};
    bool asks_ = false;  // some link needs polling
    std::vector<net::frames::Arrival> inbox_;
    std::optional<Error> source_error_;
    Instant turn_began_;
    Instant read_again_at_;  // if enough tasks wait
};

struct WorkerLoopParts {
    worker::Worker& worker;
    net::frames::Transport& ranks;
    net::frames::PeerId manager;
    node::launcher::Launcher& launcher;
    Signals* signals = nullptr;  // null: others handle signals
    StopPolicy stop{};
    node::launcher::FunctionRunner* functions = nullptr;  // null: the worker has none
    Background* files = nullptr;                          // if tasks have files
};

class WorkerLoop {
  public:
    explicit WorkerLoop(WorkerLoopParts parts) : parts_(parts) {}

    // Runs until the manager dismisses us or is lost.
    void run();

  private:
    bool move_frames();
    void handle_signals();
    void wait(bool moved);

    WorkerLoopParts parts_;
    Waiter waiter_;
    BackOff back_off_{Instant{}};
    std::vector<net::frames::Arrival> inbox_;
};

}  // namespace wq::manager::run
