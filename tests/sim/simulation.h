// A complete run: the reactor, fake workers, the network and the faults, driven by one time-ordered list of
// events. The reactor is audited after every event, every action is checked against the simulated state, and
// the end against the plan.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/policies/reactor.h"
#include "sim/fake_worker.h"
#include "sim/plan.h"

namespace wq::sim {

struct Counts {
    std::uint64_t runs = 0, events = 0, leases = 0, queued = 0, seals = 0, tickets = 0, recalls = 0, lost = 0,
                  stale = 0, alone = 0, cuts = 0, kept = 0, drains = 0, cancelled = 0, killed = 0,
                  expired = 0, ranges = 0, exhausted = 0, spent = 0, aborted = 0, blocks = 0, excluded = 0,
                  released = 0, copies = 0;
    std::uint64_t digest = 0;  // of all actions, in order
    Counts& operator+=(const Counts& other);
};

class Simulation {
  public:
    Simulation(const Faults& faults, std::uint64_t seed);
    Simulation(const Faults& faults, std::uint64_t seed, Plan plan);  // continues a run that was stopped

    // Runs to the end. Returns the first error in one line; empty: none.
    std::string run();

    const Counts& counts() const { return counts_; }
    const engine::policies::Reactor& reactor() const { return reactor_; }
    Plan rest() const;  // The plan with the ended tasks marked.
    const Plan& plan() const { return plan_; }
    const std::vector<std::uint32_t>& runs() const { return runs_; }

  private:
    struct Channel {  // one direction of a connection: delays, duplicates, never reorders
        Instant last;
    };
    struct Link {
        bool tcp = false;
        bool up = true;
        std::uint64_t number = 0;          // counts disconnections: frames sent before one do not arrive
        std::uint64_t manager_number = 0;  // the number that the manager knows
        std::deque<std::pair<std::uint64_t, engine::model::Event>> unacknowledged;
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
    };
    struct Life {
        std::unique_ptr<FakeWorker> worker;
        Channel up;
        Channel down;
        Link link;           // if it is a TCP worker
        bool known = false;  // the manager knows that it joined, and not that it left
    };

    void at(Instant when, std::function<void()> what) { agenda_.emplace(when, std::move(what)); }
    void later(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    void over(Channel& channel, std::function<void()> what);

    void feed(std::uint64_t index);
    void be_born(std::uint32_t worker);
    void beat(Life* life);
    void end_life(Life* life, bool told);
    void make_faults();
    void change_rules();

    // links.cpp
    void send_up(Life* life, const engine::model::Event& event);
    void transmit(Life* life, std::uint64_t number, const engine::model::Event& event);
    void send_down(Life* life, const engine::model::Action& action);
    void cut(Life* life);
    void reconnect(Life* life);
    void arrive_again(Life* life, std::vector<std::pair<TaskId, Attempt>> holding);
    void drain(Life* life);
    void lose_link_for_good(Life* life, bool told);
    void cancel_some();
    void block_some();
    bool breaks(WorkerId worker) const { return faults_.broken && plan_.workers[worker.value()].node == 0; }

    void tell_manager(const engine::model::Event& event);
    void obey(const engine::model::Action& action);
    void check_lease(const engine::model::Lease& lease);
    void check_times_and_priority(const engine::model::Lease& lease, const std::string& name);
    void check_ended(const engine::model::AttemptEnded& ended);
    void check_waiting();
    void check_range(const engine::model::RangeEnded& ended);
    void check_cancelled(const engine::model::Cancelled& cancelled);
    // categories.cpp
    void change_category();
    void change_limit();
    void check_limit(const engine::model::Action& action);
    void measure(WorkerId worker, TaskId task, engine::model::Outcome& outcome) const;
    void check_category(const engine::model::Lease& lease, const std::string& name);

    std::uint32_t most_tries(const PlannedTask& task) const;
    void check_told(WorkerId worker, const char* what);
    void check_end();
    Life* known_life(WorkerId worker);
    void wrong(const std::string& what);
    engine::model::Now now() const;

    Faults faults_;
    Random random_;
    Plan plan_;
    Instant now_;
    engine::policies::Reactor reactor_;
    TicketBoard board_;
    std::multimap<Instant, std::function<void()>> agenda_;
    std::vector<std::unique_ptr<Life>> lives_;
    std::vector<Life*> present_;  // by worker id
    std::vector<std::uint32_t> own_failures_;
    std::vector<std::uint32_t> final_records_;
    std::vector<Attempt> last_attempt_;
    std::vector<std::uint32_t> losses_;
    std::vector<std::uint32_t> exhausted_;
    std::set<std::pair<TaskId, Attempt>> told_to_end_;
    std::vector<std::uint32_t> aborted_;    // killed as too slow
    std::vector<std::uint32_t> slow_runs_;  // started
    std::vector<std::uint32_t> runs_;       // leases and tickets that the manager knows
    bool storage_trouble_ = false;
    std::int64_t most_at_once_ = -1;  // for category 0
    std::set<BatchId> claimable_;     // sealed and not revoked
    std::optional<engine::model::Finished> finished_;
    std::string wrong_;
    Counts counts_;
};

}  // namespace wq::sim
