// One run of manager::Manager with TCP workers: they are disconnected again and again and reconnect; some are
// killed, some drain, and the manager learns of everything late. The seed determines everything.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "manager/manager.h"
#include "manager/task_table.h"
#include "net/frames/loopback.h"
#include "sim/app/fake_launcher.h"
#include "support/fake_recorder.h"
#include "worker/worker_session.h"

namespace wq::sim {

struct SessionFaults {
    std::uint64_t tasks = 60;
    std::uint32_t workers = 3;
    double cuts = 0;         // disconnections of a worker, per step
    double half_open = 0;    // the same, but the manager does not notice
    double kills = 0;        // of a worker, per step; a new one joins
    double drains = 0;       // same
    double late_cuts = 0;    // the manager notices at once, the worker up to 90 s later
    double stops = 0;        // a worker is stopped for up to 90 s, but not its launcher
    double last_words = 0;   // a killed worker's tasks end within 13 s: whether its manager is told
    double unkillable = 0;   // some of them end later, and it is told that
    double exits = 0;        // a `#!` line of the worker ends it
    double unreachable = 0;  // a call fails
    bool long_tasks = false;
    net::frames::LoopbackFaults network{};
    Duration grace = std::chrono::seconds(20);
};

class SessionSimulation {
  public:
    SessionSimulation(SessionFaults faults, std::uint64_t seed);

    // Runs until the manager and the workers have ended; false if they have not after one simulated hour.
    bool run();

    const std::vector<records::recorder::Recorded>& records() const { return recorder_.written(); }
    const manager::Manager& manager() const { return *manager_; }
    std::uint64_t cuts() const { return cuts_; }
    std::uint64_t kills() const { return kills_; }
    std::uint64_t stops() const { return stops_; }
    std::uint64_t drains() const { return drains_; }
    std::uint64_t starts() const { return starts_.size(); }  // of attempts
    std::uint64_t exits() const { return exits_; }
    // How often a task was started while another attempt of it ran.
    std::uint64_t doubles() const { return doubles_; }
    const std::vector<std::string>& wrong_starts() const { return wrong_starts_; }

  private:
    struct Node {
        std::unique_ptr<FakeLauncher> launcher;
        std::unique_ptr<worker::Worker> worker;
        std::unique_ptr<worker::WorkerSession> session;
        net::frames::PeerId peer{0};        // in its last call
        std::optional<Instant> notices_at;  // when it notices the disconnection
        Instant heard;                      // last heard the manager before it was disconnected
        std::optional<Instant> stopped_until;
        std::optional<Instant> silent_from;  // stopped: when the manager notices that
        bool exited = false;
    };

    // What a killed worker leaves.
    struct Remains {
        std::unique_ptr<FakeLauncher> launcher;
        std::optional<net::messages::LastWords> words;
        Instant ends;  // its tasks
        Instant speaks;
    };

    engine::model::Now now() const;
    Duration up_to(Duration most);
    bool stopped(Node& node);
    void leave_remains(Node& node);
    void send_last_words();
    FakeTask task(TaskId id) const;
    void note_start(const node::process::Order& order);
    void add_worker();
    worker::Call call(Node& node);
    void turn();
    void make_faults();
    void advance();
    bool happens(double chance);

    SessionFaults faults_;
    std::mt19937_64 random_;
    std::uint64_t seed_;
    net::frames::LoopbackNetwork network_;
    std::unique_ptr<net::frames::Transport> manager_end_;
    testing::FakeRecorder recorder_;
    manager::TaskTable tasks_;
    std::unique_ptr<manager::Manager> manager_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<Remains> remains_;
    std::uint64_t cuts_ = 0;
    std::uint64_t kills_ = 0;
    std::uint64_t stops_ = 0;
    std::uint64_t drains_ = 0;
    std::uint64_t exits_ = 0;
    std::uint64_t doubles_ = 0;
    std::uint32_t named_ = 0;
    std::set<std::pair<TaskId, Attempt>> starts_;
    std::vector<std::string> wrong_starts_;
};

}  // namespace wq::sim
