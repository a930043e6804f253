// The loops that own a clock: rank 0's, which manages (and works), and that of the other ranks, which work.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/signals.h"
#include "base/time.h"
#include "manager/manager.h"
#include "manager/run/own_worker.h"
#include "manager/run/source.h"
#include "net/frames/transport.h"
#include "node/launcher/function_runner.h"
#include "node/launcher/launcher.h"
#include "records/recorder/recorder.h"
#include "worker/worker.h"

namespace wq::manager::run {

// Waits in one poll() for every descriptor that can wake the process, with a back-off for sources that must
// be polled.

// The pause before the other side is polled again grows with its silence.
//
// If functions are called on this machine one after the other, the next message comes within about 50 us,
// which is what one sleep and its wake-up take. For 200 us after such a message there is no pause, and the
// thread only yields. Messages of commands do not count: commands need the processor, and take longer anyway.
// (When they counted, workers over TCP completed only 0.6 to 0.9 as many per second.) Messages of many calls
// at once do not count either: their rate matters, and they gather while the thread sleeps.
//
// After that the pause is half of the silence, up to 18 ms: a turn of an idle rank takes about 100 us on a
// virtual machine, half of it for the sleep itself, so an idle rank stays below 1 % of a core, and the first
// task after a silence starts within 20 ms.
class BackOff {
  public:
    explicit BackOff(Instant now) : moved_(now), yields_until_(now) {}

    void moved(Instant now) { moved_ = now; }
    void heard_close_by(Instant now) {
        moved(now);
        yields_until_ = now + awake;
    }

    Instant yields_until() const { return yields_until_; }
    bool yields(Instant now) const { return now < yields_until_; }
    Duration pause(Instant now) const {
        if (yields(now)) return Duration{0};
        return std::min(shortest + (now - moved_) / 2, longest);
    }

    static constexpr Duration awake = std::chrono::microseconds(200);
    static constexpr Duration shortest = std::chrono::microseconds(50);
    static constexpr Duration longest = std::chrono::milliseconds(18);

  private:
    Instant moved_;
    Instant yields_until_;
};

// For a thread that waits by a BackOff: by default the kernel adds 50 us to each wait, to save wake-ups.
void wakes_on_time();

// A set of descriptors, filled again each turn.
class Waiter {
  public:
    void clear() { descriptors_.clear(); }
    void watch(int descriptor) {
        if (descriptor >= 0) descriptors_.push_back({descriptor, POLLIN, 0});
    }
    // Waits until one is readable or `longest` is over; nothing: no limit.
    void wait(std::optional<Duration> longest);
    // Lets other threads run instead of sleeping, then looks.
    void yield();
    bool readable(int descriptor) const {
        return std::any_of(descriptors_.begin(), descriptors_.end(),
                           [&](const pollfd& entry) { return entry.fd == descriptor && entry.revents != 0; });
    }

  private:
    std::vector<pollfd> descriptors_;
};

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
    bool run_turn();  // whether another one is needed at once
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
    void send_goodbyes();

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

// Ends the worker ranks of a job that has no manager, since they have no other.

// `count`: of all ranks, with rank 0, which calls it.
void dismiss_ranks(net::frames::Transport& ranks, std::uint32_t count, const std::string& why);

}  // namespace wq::manager::run
