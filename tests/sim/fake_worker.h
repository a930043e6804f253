// One life of a worker as it truly is: a launcher that starts leases first come, first served as they fit,
// but past one that waits what leaves it as early as it is; it claims tickets when nothing waits. When it
// dies nothing more leaves it; what is under way still arrives.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "sim/plan.h"
#include "sim/tickets.h"

namespace wq::sim {

struct Holding {
    Attempt attempt = 0;
    core::Resources give;
    bool running = false;
    Duration timeout{0};
};

class FakeWorker {
  public:
    struct World {
        std::function<void(Duration, std::function<void()>)> later;
        std::function<void(core::Event)> send;     // to the manager, in order
        std::function<core::Outcome(TaskId)> run;  // how the task ends, if nobody kills it
        std::function<Duration(TaskId)> wall;
        std::function<bool(TaskId)> kills;
        std::function<void()> die;
        TicketBoard* board = nullptr;
        bool ranges = false;
    };
    FakeWorker(WorkerId id, PlannedWorker plan, World world)
        : id_(id), plan_(plan), world_(std::move(world)) {}

    WorkerId id() const { return id_; }
    std::uint32_t node() const { return plan_.node; }
    bool alive() const { return alive_; }
    const std::map<TaskId, Holding>& holds() const { return holds_; }

    void tell(const core::Action& action);
    void die() { alive_ = false; }
    void drain() { give_back(queue_.size()); }
    // Its link was cut: it claims no more of the batches that it knows. What it holds.
    std::vector<std::pair<TaskId, Attempt>> resume();

  private:
    void take(TaskId task, Attempt attempt, const core::Resources& give, Duration timeout);
    void kill(const core::Kill& kill);
    void flush(BatchId batch);
    void start_what_fits();
    bool claim();
    void start(TaskId task);
    void end(TaskId task, Attempt attempt, const core::Outcome& outcome);
    void kill_all();
    void give_back(std::uint64_t most);
    void say_dry(BatchId batch);

    WorkerId id_;
    PlannedWorker plan_;
    World world_;
    bool alive_ = true;
    core::Resources used_;
    std::map<TaskId, Holding> holds_;
    std::deque<TaskId> queue_;
    std::set<std::pair<TaskId, Attempt>> seen_;  // leases that came twice count once
    std::map<BatchId, core::Seal> batches_;      // not yet dry
    std::map<TaskId, BatchId> tickets_;          // held
    std::map<BatchId, IntervalSet> succeeded_;   // not yet reported
};

}  // namespace wq::sim
