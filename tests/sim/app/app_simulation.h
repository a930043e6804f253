// One run of manager::Manager with worker::Workers and a simulated clock. Workers are lost and replaced,
// launchers die, frames are late or duplicated. The seed determines everything.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "manager/manager.h"
#include "manager/task_table.h"
#include "net/frames/loopback.h"
#include "ranks/tickets/ticket_pool.h"
#include "sim/app/fake_launcher.h"
#include "sim/app/loopback_counters.h"
#include "support/fake_recorder.h"
#include "worker/worker.h"

namespace wq::sim {

struct AppFaults {
    std::uint64_t tasks = 60;
    std::uint32_t workers = 3;
    bool tickets = false;
    std::uint32_t nodes = 1;  // with one word of tickets each; workers are assigned to them in turn
    bool by_counter = false;  // the list is an array; nodes other than the first get its ranges from counters
    double counter_failures = 0;
    bool groups = false;
    bool flaky = false;  // some tasks fail at first, some for good
    double losses = 0;   // of a worker, per simulation step
    double launcher_deaths = 0;
    double exits = 0;       // of a worker, by a `#!` line; rank 0 stays
    double dismissals = 0;  // by the manager; rank 0 stays
    net::frames::LoopbackFaults network{};
    bool slow_storage = false;  // the recorder acknowledges late and sometimes fails
};

class AppSimulation {
  public:
    AppSimulation(AppFaults faults, std::uint64_t seed);

    // Runs until the manager is finished; false if it is not after one simulated hour.
    bool run();

    const std::vector<records::recorder::Recorded>& records() const { return recorder_.written(); }
    const manager::Manager& manager() const { return *manager_; }
    FakeTask task(TaskId id) const;  // what it does
    std::uint64_t losses() const { return losses_; }
    const std::set<std::pair<TaskId, Attempt>>& starts() const { return starts_; }
    std::uint64_t departures() const { return departures_; }  // by exits and dismissals
    bool used_tickets() const { return used_tickets_; }
    std::uint64_t draws() const { return counters_.additions(); }
    // Attempts that were started twice, or with another task's text.
    const std::vector<std::string>& wrong_starts() const { return wrong_starts_; }

  private:
    struct Node {
        std::uint32_t rank = 0;
        net::frames::PeerId peer;
        std::unique_ptr<net::frames::Transport> transport;
        std::unique_ptr<FakeLauncher> launcher;
        std::unique_ptr<ranks::tickets::TicketPool> pool;
        std::unique_ptr<worker::TicketClient> taker;
        std::unique_ptr<worker::Worker> worker;
        bool greeted = false;
        bool leaves = false;
    };

    engine::model::Now now() const;
    void add_list();
    void add_array();
    void note_start(const node::process::Order& order);
    void add_worker(std::uint32_t rank);
    void turn();
    void turn(Node& node);
    void make_faults();
    void make_leave(Node& node);
    void advance();
    bool happens(double chance);
    std::uint32_t node_of(std::uint32_t rank) const { return rank % faults_.nodes; }
    std::byte* segment(std::uint32_t node) { return segments_[node].front().bytes; }

    AppFaults faults_;
    std::mt19937_64 random_;
    std::uint64_t seed_;
    net::frames::LoopbackNetwork network_;
    std::unique_ptr<net::frames::Transport> manager_end_;
    struct alignas(64) CacheLine {
        std::byte bytes[64];
    };
    std::vector<std::vector<CacheLine>> segments_;  // one per node
    LoopbackCounters counters_;
    engine::tasklist::CommandTemplate array_command_{{"item {}"}};
    testing::FakeRecorder recorder_;
    manager::TaskTable tasks_;
    std::unique_ptr<manager::Manager> manager_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::uint64_t losses_ = 0;
    std::uint64_t departures_ = 0;
    bool used_tickets_ = false;
    std::set<std::pair<TaskId, Attempt>> starts_;
    std::vector<std::string> wrong_starts_;
};

}  // namespace wq::sim
