// The workers of the run as the core sees them: what each offers, its leases, and when it was last heard.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/model/allocation.h"
#include "engine/model/events.h"

namespace wq::engine::model {

// What a worker can hold.
struct Offer {
    Resources whole;
    std::vector<std::string> features;  // sorted
    auto operator<=>(const Offer&) const = default;
};

// Workers that are searched as one. No two nodes of a cluster have the same free disk, and no two jobs end at
// once. So a kind has upper bounds: memory and disk within a factor of two (disk more finely if tasks need
// it, see WorkerTable::split_by_disk), and the end within six hours. Everything else is equal. A pool of
// thousands has few kinds.
struct WorkerKind {
    Offer at_most;
    std::optional<Instant> leaves_by;
    auto operator<=>(const WorkerKind&) const = default;
};

// The scarcest resource of a task, by which workers are ordered for it: a task without cores does not depend
// on free cores. Slots: for tasks that hold nothing.
enum class Scarce : std::uint8_t { cores, gpus, memory, disk, slots, coprocesses };
inline constexpr std::size_t scarce_things = 6;

// A worker's position within its kind. Idle workers first, because no event would lead to another look at
// them; then the most room in the order's resource (thousandths, MB or a number; below 0 if leases wait in
// its launcher); then the least memory, so that a search finds a large enough worker at once, however many
// sizes tasks have; then the worker that stays longest.
struct SearchPosition {
    std::int64_t room = 0;
    bool busy = false;
    std::int64_t memory_mb = 0;
    std::optional<Instant> leaves_at;
    WorkerId id;

    bool operator==(const SearchPosition&) const = default;
    friend bool operator<(const SearchPosition& a, const SearchPosition& b) {
        if (a.busy != b.busy) return b.busy;
        if (a.room != b.room) return a.room > b.room;
        if (a.memory_mb != b.memory_mb) return a.memory_mb < b.memory_mb;
        return a.leaves_at != b.leaves_at ? a.leaves_at > b.leaves_at : a.id < b.id;
    }
};
using Places = std::set<SearchPosition>;
// The workers of one kind, in each order that is kept.
class Orders {
  public:
    Places& by(Scarce what) { return places_[static_cast<std::size_t>(what)]; }
    const Places& by(Scarce what) const { return places_[static_cast<std::size_t>(what)]; }

  private:
    std::array<Places, scarce_things> places_;
};
using WorkerKinds = std::map<WorkerKind, Orders>;

struct Worker {
    WorkerId id;
    std::string host;
    Resources whole;
    Resources used;  // by leases; above `whole` if leases wait in its launcher
    std::optional<Instant> leaves_at;
    std::vector<std::string> features;  // sorted, each once
    bool takes_tickets = false;
    bool watched = false;                       // its silence means nothing
    bool draining = false;                      // gets no more tasks
    bool blocked = false;                       // its host gets no tasks
    std::optional<Instant> disconnected_until;  // disconnected; lost at this time
    Duration disconnect_limit{0};               // the same as a duration
    std::string disconnected_why;
    std::uint64_t recalled = 0;  // leases that it was asked to return and has not answered for
    bool has_changed = false;    // is in the list of take_changed()
    std::unordered_set<TaskId> leases;
    Seats cores_held;  // by leases
    Seats gpus_held;
    std::optional<TaskId> suspect;  // the suspect that it runs
    bool alone = false;             // the suspect must run alone
    Instant last_heard;
    WorkerKinds::iterator kind;  // its position there is valid while it is available

    bool disconnected() const { return disconnected_until.has_value(); }
    bool available() const { return !disconnected() && !draining && !blocked; }  // gets tasks
    Offer offer() const { return {whole, features}; }
    std::int64_t room(Scarce what) const;
    SearchPosition place(Scarce what) const {
        return {room(what), !leases.empty(), whole.memory_mb, leaves_at, id};
    }
    // Whether it fits beside the leases and starts at once. A resource that `give` does not use may be
    // overcommitted.
    bool fits(const Resources& give) const {
        return give.fits_in(free()) && cores_held.have_room(give.cores, whole.cores) &&
               gpus_held.have_room(give.gpus, whole.gpus);
    }
    Resources free() const;                   // negative if leases wait in its launcher
    std::int64_t a_lease(Scarce what) const;  // mean per lease, in the units of room()
    std::uint64_t queue(Scarce what) const;   // leases that wait in its launcher, as far as this resource
                                              // tells
    std::uint64_t queue() const;              // the largest over all resources
};

// The orders in which to search workers for a task with this allocation, until one fits. Workers with free
// cores may have no free GPU, and the other way round.
std::span<const Scarce> orders_for(const Resources& give);

class WorkerTable {
  public:
    WorkerTable() = default;
    WorkerTable(WorkerTable&&) = default;  // never copied: workers point into it
    WorkerTable& operator=(WorkerTable&&) = default;

    Worker& add(const WorkerJoined& joined, Instant now);
    void remove(WorkerId id);
    Worker* find(WorkerId id);
    const Worker* find(WorkerId id) const;
    std::size_t size() const { return workers_.size(); }
    bool empty() const { return workers_.empty(); }

    void mark_heard(Worker& worker, Instant now);
    // The worker that has been silent longest, among those whose silence matters.
    const Worker* quietest() const;

    // It disconnected or reconnected.
    void set_disconnected(Worker& worker, Instant now, Duration limit, std::string why);
    void set_reconnected(Worker& worker, Instant now);
    void drain(Worker& worker);
    void end_draining(Worker& worker);
    void block(Worker& worker);
    void unblock(Worker& worker);
    // The disconnected worker that is given up first.
    const Worker* first_given_up() const;
    std::size_t disconnected_count() const { return disconnected_.size(); }

    void lease(Worker& worker, TaskId task, const Resources& give);
    void release(Worker& worker, TaskId task, const Resources& given);

    // It may have more room than at the last look.
    void changed(Worker& worker);
    std::vector<WorkerId> take_changed();

    // Null if the host has no worker.
    const std::set<WorkerId>* of_host(const std::string& host) const;
    std::size_t hosts_available() const { return hosts_available_; }  // hosts with a worker that gets tasks
    std::size_t available_on(const std::string& host) const {         // workers of the host that get tasks
        const auto found = hosts_.find(host);
        return found == hosts_.end() ? 0 : found->second.available;
    }

    // Only workers that get tasks.
    const WorkerKinds& kinds() const { return kinds_; }
    // Keeps the workers of each kind in this order from now on; by cores they always are. Orders that no task
    // needs cost nothing.
    void keep_order(Scarce what);
    bool keeps_order(Scarce what) const { return kept_[static_cast<std::size_t>(what)]; }
    // Separates workers with at least this much disk from the others, as different kinds. False: no effect;
    // only the first few cuts are made, because every search visits all kinds.
    bool split_by_disk(std::int64_t demand_mb);
    // All workers, including disconnected ones: how many of each.
    const std::map<Offer, std::uint64_t>& offers() const { return offers_; }
    const std::unordered_map<WorkerId, Worker>& all() const { return workers_; }
    // Connected workers with leases.
    std::uint64_t busy() const { return busy_; }
    Resources total() const { return total_; }
    std::int64_t available_cores() const;  // of workers that get tasks
    Resources committed() const { return committed_; }
    // Leases that wait in launchers, as far as sums tell; includes draining and disconnected workers.
    std::uint64_t queued() const { return queued_; }

    // Recomputes every index and sum; returns the first contradiction.
    std::optional<std::string> audit() const;

  private:
    std::optional<std::string> audit_hosts_and_offers() const;
    template <class Change>
    void move(Worker& worker, Change&& change);
    void use(Worker& worker, const Resources& used);
    void enter(Worker& worker);
    void enter_kind(Worker& worker);
    void leave(const Worker& worker);
    WorkerKind kind_of(const Worker& worker) const;

    struct Host {
        std::set<WorkerId> workers;
        std::size_t available = 0;  // of them
    };
    std::unordered_map<WorkerId, Worker> workers_;
    std::unordered_map<std::string, Host> hosts_;
    std::size_t hosts_available_ = 0;
    WorkerKinds kinds_;
    std::array<bool, scarce_things> kept_{true};
    std::set<std::int64_t> disk_cuts_;  // the lower bounds above the cuts
    std::map<Offer, std::uint64_t> offers_;
    std::set<std::pair<Instant, WorkerId>> by_heard_;
    std::set<std::pair<Instant, WorkerId>> disconnected_;  // by the time they are given up
    std::vector<WorkerId> changed_;
    std::uint64_t busy_ = 0;
    std::uint64_t queued_ = 0;
    Resources total_;
    Resources committed_;
};

// How long ranks and their manager wait for each other.

// A worker that was not heard for this long is lost, and its tasks may be dispatched to others.
inline constexpr Duration worker_silence = std::chrono::seconds(10);
// A worker that has not heard its manager for this long kills its tasks: a second earlier.
inline constexpr Duration manager_silence = worker_silence - std::chrono::seconds(1);

}  // namespace wq::engine::model
