// The life of one worker, modelled exactly: its launcher starts leases in sequence as they fit; a lease may
// overtake a waiting one if it does not delay it. The worker claims tickets when nothing waits. When it dies
// it sends nothing more, but frames in flight still arrive.
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
    engine::model::Resources give;
    bool running = false;
    Duration timeout{0};
};

class FakeWorker {
  public:
    struct World {
        std::function<void(Duration, std::function<void()>)> later;
        std::function<void(engine::model::Event)> send;     // to the manager, in order
        std::function<engine::model::Outcome(TaskId)> run;  // the task's outcome if nobody kills it
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

    void tell(const engine::model::Action& action);
    void die() { alive_ = false; }
    void drain() { give_back(queue_.size()); }
    // It was disconnected: it claims no more of the batches it knows. Returns what it holds.
    std::vector<std::pair<TaskId, Attempt>> resume();

  private:
    void take(TaskId task, Attempt attempt, const engine::model::Resources& give, Duration timeout);
    void kill(const engine::model::Kill& kill);
    void flush(BatchId batch);
    void start_what_fits();
    bool claim();
    void start(TaskId task);
    void end(TaskId task, Attempt attempt, const engine::model::Outcome& outcome);
    void kill_all();
    void give_back(std::uint64_t most);
    void say_dry(BatchId batch);

    WorkerId id_;
    PlannedWorker plan_;
    World world_;
    bool alive_ = true;
    engine::model::Resources used_;
    std::map<TaskId, Holding> holds_;
    std::deque<TaskId> queue_;
    std::set<std::pair<TaskId, Attempt>> seen_;       // duplicate leases count once
    std::map<BatchId, engine::model::Seal> batches_;  // not yet dry
    std::map<TaskId, BatchId> tickets_;               // the ones it holds
    std::map<BatchId, IntervalSet> succeeded_;        // not yet reported
};

}  // namespace wq::sim
