// The workers of the run as the core sees them: what each offers, what is leased to it, when it was last
// heard.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/events.h"

namespace wq::core {

// What a worker can hold.
struct Offer {
    Resources whole;
    std::vector<std::string> features;  // sorted
    auto operator<=>(const Offer&) const = default;
};

// Workers that are looked at together. No two nodes of a cluster have the same free disk, nor do two jobs end
// at once: so a kind has bounds that no worker of it exceeds, within a factor of two of memory and disk, or
// less disk where tasks see a difference (WorkerTable::cut_disk), and within six hours of the end. The rest
// is equal, and a pool of thousands has few kinds.
struct WorkerKind {
    Offer at_most;
    std::optional<Instant> leaves_by;
    auto operator<=>(const WorkerKind&) const = default;
};

// A worker's place in its kind: most free cores first. Of these the least memory first, so that those with
// enough for a task are found at once, however many sizes tasks have; then who stays longest.
struct Place {
    Count free_cores;
    std::int64_t memory_mb = 0;
    std::optional<Instant> leaves_at;
    WorkerId id;

    friend bool operator<(const Place& a, const Place& b) {
        if (a.free_cores != b.free_cores) return a.free_cores > b.free_cores;
        if (a.memory_mb != b.memory_mb) return a.memory_mb < b.memory_mb;
        return a.leaves_at != b.leaves_at ? a.leaves_at > b.leaves_at : a.id < b.id;
    }
};
using Places = std::set<Place>;  // of one kind
using WorkerKinds = std::map<WorkerKind, Places>;

struct Worker {
    WorkerId id;
    std::string host;
    Resources whole;
    Resources used;  // by leases; beyond `whole` by those that wait in its launcher
    std::optional<Instant> leaves_at;
    std::vector<std::string> features;  // sorted, each once
    bool takes_tickets = false;
    bool watched = false;               // its silence is none
    bool draining = false;              // it gets no more
    bool blocked = false;               // nor does any of its host
    std::optional<Instant> away_until;  // its link is cut: then it is lost
    std::string away_why;
    std::uint64_t recalled = 0;  // leases that it was asked to give back and has not answered for
    bool has_changed = false;    // stands in the list of take_changed()
    std::unordered_set<TaskId> leases;
    std::optional<TaskId> suspect;  // the one suspect that it runs
    bool alone = false;             // that one is to run by itself
    Instant last_heard;
    WorkerKinds::iterator kind;  // where its place is, as long as it is available

    bool away() const { return away_until.has_value(); }
    bool available() const { return !away() && !draining && !blocked; }  // gets tasks
    Offer offer() const { return {whole, features}; }
    Place place() const { return {free().cores, whole.memory_mb, leaves_at, id}; }
    Resources free() const;       // negative where leases wait in its launcher
    Count cores_a_lease() const;  // on average
    std::uint64_t queue() const;  // leases that wait in its launcher, as far as cores tell
};

class WorkerTable {
  public:
    WorkerTable() = default;
    WorkerTable(WorkerTable&&) = default;  // never copied: workers point into it
    WorkerTable& operator=(WorkerTable&&) = default;

    Worker& add(const WorkerJoined& joined, Instant now, bool blocked = false);
    void remove(WorkerId id);
    Worker* find(WorkerId id);
    const Worker* find(WorkerId id) const;
    std::size_t size() const { return workers_.size(); }
    bool empty() const { return workers_.empty(); }

    void heard(Worker& worker, Instant now);
    // The worker that has been silent longest, of those whose silence says something.
    const Worker* quietest() const;

    // Its link is cut, or mended.
    void go_away(Worker& worker, Instant until, std::string why);
    void come_back(Worker& worker, Instant now);
    void drain(Worker& worker, bool on);
    void block(Worker& worker, bool on);
    // The one that is away and will be given up first.
    const Worker* first_given_up() const;
    std::size_t away() const { return away_.size(); }

    void lease(Worker& worker, TaskId task, const Resources& give);
    void release(Worker& worker, TaskId task, const Resources& given);

    // It may have room that it did not have when it was last looked at.
    void changed(Worker& worker);
    std::vector<WorkerId> take_changed();

    // Null: none is of that host.
    const std::set<WorkerId>* of_host(const std::string& host) const;
    std::size_t hosts_available() const { return hosts_available_; }  // with a worker that gets tasks

    // Of those that get tasks.
    const WorkerKinds& kinds() const { return kinds_; }
    // Those that have as much and those that have not are of different kinds from now on. False: nothing came
    // of it; only the first few cuts are made, since looks go through all kinds.
    bool cut_disk(std::int64_t demand_mb);
    // Of all that are there, or may be again: how many of each.
    const std::map<Offer, std::uint64_t>& offers() const { return offers_; }
    const std::unordered_map<WorkerId, Worker>& all() const { return workers_; }
    // Of those that are not away.
    std::uint64_t busy() const { return busy_; }
    Resources total() const { return total_; }
    std::int64_t available_cores() const;  // of those that get tasks
    Resources committed() const { return committed_; }
    // Leases that wait in launchers for a core, as far as cores tell; of those too that are away or draining.
    std::uint64_t queued() const { return queued_; }

    // Recomputes every index and sum from scratch; the text of the first contradiction.
    std::optional<std::string> audit() const;

  private:
    void move(Worker& worker, const Resources& used);
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
    std::set<std::int64_t> disk_cuts_;  // the least amounts beyond them
    std::map<Offer, std::uint64_t> offers_;
    std::set<std::pair<Instant, WorkerId>> by_heard_;
    std::set<std::pair<Instant, WorkerId>> away_;  // by the time they are given up
    std::vector<WorkerId> changed_;
    std::uint64_t busy_ = 0;
    std::uint64_t queued_ = 0;
    Resources total_;
    Resources committed_;
};

}  // namespace wq::core
