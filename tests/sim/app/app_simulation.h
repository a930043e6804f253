// One run of app::Manager with app::Workers, by a clock that is moved by hand. Workers are lost, launchers
// die, frames are late or come twice; whoever is lost is replaced. All chance comes from the seed.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "app/manager.h"
#include "app/task_table.h"
#include "app/worker.h"
#include "sim/app/fake_launcher.h"
#include "sim/app/loopback_counters.h"
#include "support/fake_recorder.h"
#include "transport/loopback.h"
#include "transport/ticket_pool.h"

namespace wq::sim {

struct AppWeather {
    std::uint64_t tasks = 60;
    std::uint32_t workers = 3;
    bool tickets = false;
    std::uint32_t nodes = 1;  // with a word of tickets each; workers stand on them in turn
    bool by_counter = false;  // the list is an array, whose ranges nodes but the first draw from counters
    double counter_failures = 0;
    bool groups = false;
    bool flaky = false;  // some tasks fail at first, some for good
    double losses = 0;   // of a worker, per step of the simulation
    double launcher_deaths = 0;
    double exits = 0;       // of a worker, by a `#!` line; rank 0 stays
    double dismissals = 0;  // by the manager; rank 0 stays
    transport::LoopbackFaults network{};
    bool slow_storage = false;  // the recorder acknowledges late and is in trouble now and then
};

class AppSimulation {
  public:
    AppSimulation(AppWeather weather, std::uint64_t seed);

    // Until the manager is over; false when it is not after an hour of its time.
    bool run();

    const std::vector<stats::Recorded>& records() const { return recorder_.written(); }
    const app::Manager& manager() const { return *manager_; }
    FakeTask task(TaskId id) const;  // what it does
    std::uint64_t losses() const { return losses_; }
    const std::set<std::pair<TaskId, Attempt>>& starts() const { return starts_; }
    std::uint64_t departures() const { return departures_; }  // by exits and dismissals
    bool used_tickets() const { return used_tickets_; }
    std::uint64_t draws() const { return counters_.additions(); }
    // Attempts that were started twice, or with the text of another task.
    const std::vector<std::string>& wrong_starts() const { return wrong_starts_; }

  private:
    struct Node {
        std::uint32_t rank = 0;
        transport::PeerId peer;
        std::unique_ptr<transport::Transport> transport;
        std::unique_ptr<FakeLauncher> launcher;
        std::unique_ptr<transport::TicketPool> pool;
        std::unique_ptr<app::TicketTaker> taker;
        std::unique_ptr<app::Worker> worker;
        bool greeted = false;
        bool leaves = false;
    };

    core::Now now() const;
    void add_list();
    void add_array();
    void note_start(const host::Order& order);
    void add_worker(std::uint32_t rank);
    void turn();
    void turn(Node& node);
    void make_weather();
    void make_leave(Node& node);
    void advance();
    bool happens(double chance);
    std::uint32_t node_of(std::uint32_t rank) const { return rank % weather_.nodes; }
    std::byte* segment(std::uint32_t node) { return segments_[node].front().bytes; }

    AppWeather weather_;
    std::mt19937_64 random_;
    std::uint64_t seed_;
    transport::LoopbackNetwork network_;
    std::unique_ptr<transport::Transport> manager_end_;
    struct alignas(64) CacheLine {
        std::byte bytes[64];
    };
    std::vector<std::vector<CacheLine>> segments_;  // one a node
    LoopbackCounters counters_;
    taskfile::CommandTemplate array_command_{{"item {}"}};
    testing::FakeRecorder recorder_;
    app::TaskTable tasks_;
    std::unique_ptr<app::Manager> manager_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::uint64_t losses_ = 0;
    std::uint64_t departures_ = 0;
    bool used_tickets_ = false;
    std::set<std::pair<TaskId, Attempt>> starts_;
    std::vector<std::string> wrong_starts_;
};

}  // namespace wq::sim
