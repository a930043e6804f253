// The workers of the run as the core sees them: what each offers, what is leased to it, when it was last
// heard.
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
#include "core/events.h"
#include "core/seats.h"

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

// What there is least of for a task, by which workers are put in order for it: a task that holds no core says
// nothing of free cores, nor they of it. Slots: of tasks that hold nothing.
enum class Scarce : std::uint8_t { cores, gpus, memory, disk, slots };
inline constexpr std::size_t scarce_things = 5;

// A worker's place in its kind: the idle first, which no event would make look again; then most room, as the
// order has it: thousandths, MB or a number; below 0 where leases wait in its launcher. Then the least
// memory, so that those with enough for a task are found at once, however many sizes tasks have; then who
// stays longest.
struct Place {
    std::int64_t room = 0;
    bool busy = false;
    std::int64_t memory_mb = 0;
    std::optional<Instant> leaves_at;
    WorkerId id;

    bool operator==(const Place&) const = default;
    friend bool operator<(const Place& a, const Place& b) {
        if (a.busy != b.busy) return b.busy;
        if (a.room != b.room) return a.room > b.room;
        if (a.memory_mb != b.memory_mb) return a.memory_mb < b.memory_mb;
        return a.leaves_at != b.leaves_at ? a.leaves_at > b.leaves_at : a.id < b.id;
    }
};
using Places = std::set<Place>;
// Those of one kind, in each of the orders that are kept.
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
    Seats cores_held;  // by leases
    Seats gpus_held;
    std::optional<TaskId> suspect;  // the one suspect that it runs
    bool alone = false;             // that one is to run by itself
    Instant last_heard;
    WorkerKinds::iterator kind;  // where its place is, as long as it is available

    bool away() const { return away_until.has_value(); }
    bool available() const { return !away() && !draining && !blocked; }  // gets tasks
    Offer offer() const { return {whole, features}; }
    std::int64_t room(Scarce what) const;
    Place place(Scarce what) const { return {room(what), !leases.empty(), whole.memory_mb, leaves_at, id}; }
    // Whether it runs now, besides what is leased. What it does not need may be leased twice over.
    bool fits(const Resources& give) const {
        return give.fits_in(free()) && cores_held.have_room(give.cores, whole.cores) &&
               gpus_held.have_room(give.gpus, whole.gpus);
    }
    Resources free() const;                   // negative where leases wait in its launcher
    std::int64_t a_lease(Scarce what) const;  // on average, as room() counts
    std::uint64_t queue(Scarce what) const;   // leases that wait in its launcher, as far as this tells
    std::uint64_t queue() const;              // as far as any of these sums tells
};

// The orders in which workers are looked at for a task that is given so much, until one takes it. Those with
// free cores may have no free GPU, and the other way round.
std::span<const Scarce> orders_for(const Resources& give);

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
    // From now on the workers of each kind are kept in this order too; by cores they always are. What no task
    // asks for costs nothing.
    void keep_order(Scarce what);
    bool keeps_order(Scarce what) const { return kept_[static_cast<std::size_t>(what)]; }
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
    // Leases that wait in launchers, as far as sums tell; of those too that are away or draining.
    std::uint64_t queued() const { return queued_; }

    // Recomputes every index and sum from scratch; the text of the first contradiction.
    std::optional<std::string> audit() const;

  private:
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
