// One run of app::Manager with workers as they come over TCP: their links are cut again and again, they come
// back by new ones; some are killed, some drain, and the manager sees all of it late. All chance comes from
// the seed.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "app/manager.h"
#include "app/task_table.h"
#include "app/worker_session.h"
#include "sim/app/fake_launcher.h"
#include "support/fake_recorder.h"
#include "transport/loopback.h"

namespace wq::sim {

struct SessionWeather {
    std::uint64_t tasks = 60;
    std::uint32_t workers = 3;
    double cuts = 0;         // of a worker's link, per step
    double half_open = 0;    // the same, and the manager does not notice
    double kills = 0;        // of a worker, per step; another one comes
    double drains = 0;       // as well
    double late_cuts = 0;    // the manager notices, and the worker up to 90 s later
    double exits = 0;        // a `#!` line of the worker ends it
    double unreachable = 0;  // a call comes to nothing
    bool long_tasks = false;
    transport::LoopbackFaults network{};
    Duration grace = std::chrono::seconds(20);
};

class SessionSimulation {
  public:
    SessionSimulation(SessionWeather weather, std::uint64_t seed);

    // Until the manager is over and the workers have ended; false when it is not after an hour of its time.
    bool run();

    const std::vector<stats::Recorded>& records() const { return recorder_.written(); }
    const app::Manager& manager() const { return *manager_; }
    std::uint64_t cuts() const { return cuts_; }
    std::uint64_t kills() const { return kills_; }
    std::uint64_t drains() const { return drains_; }
    std::uint64_t starts() const { return starts_.size(); }  // of attempts
    std::uint64_t exits() const { return exits_; }
    // So often a task was started while another attempt of it ran.
    std::uint64_t doubles() const { return doubles_; }
    const std::vector<std::string>& wrong_starts() const { return wrong_starts_; }

  private:
    struct Node {
        std::unique_ptr<FakeLauncher> launcher;
        std::unique_ptr<app::Worker> worker;
        std::unique_ptr<app::WorkerSession> session;
        transport::PeerId peer{0};          // of its last call
        std::optional<Instant> notices_at;  // that this is cut
        Instant heard;                      // the manager, before it was cut
        bool exited = false;
    };

    core::Now now() const;
    FakeTask task(TaskId id) const;
    void note_start(const host::Order& order);
    void add_worker();
    app::Call call(Node& node);
    void turn();
    void make_weather();
    void advance();
    bool happens(double chance);

    SessionWeather weather_;
    std::mt19937_64 random_;
    std::uint64_t seed_;
    transport::LoopbackNetwork network_;
    std::unique_ptr<transport::Transport> manager_end_;
    testing::FakeRecorder recorder_;
    app::TaskTable tasks_;
    std::unique_ptr<app::Manager> manager_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::uint64_t cuts_ = 0;
    std::uint64_t kills_ = 0;
    std::uint64_t drains_ = 0;
    std::uint64_t exits_ = 0;
    std::uint64_t doubles_ = 0;
    std::uint32_t named_ = 0;
    std::set<std::pair<TaskId, Attempt>> starts_;
    std::vector<std::string> wrong_starts_;
};

}  // namespace wq::sim
