// The lease of a worker's lines, as the worker itself counts it: when to give signs of life, and from when on
// others may take its lines.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/replica/shared_list.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::replica {

// Values of --poll (at least 0.01 s) and --lease (0: lines of lost workers never wait again by themselves;
// else at least 2 s).
Result<Duration> parse_poll(const std::string& text);
Result<Duration> parse_lease(const std::string& text);

// A worker gives signs at least so often.
Duration between_beats(Duration lease);

// When others may take the lines of one that gave its last sign at `beaten`. A tenth of the lease is left for
// clocks that differ. nullopt: never.
std::optional<Instant> lapse_of(Instant beaten, Duration lease);

class Lease {
  public:
    explicit Lease(Duration length) : length_(length) {}

    Duration length() const { return length_; }
    // A sign was given, and not before `when`.
    void given(Instant when);
    // Of one that has given a sign.
    std::optional<Instant> last() const { return last_; }
    Instant next() const { return *last_ + between_beats(length_); }

    // nullopt: never.
    std::optional<Instant> lapses() const;
    // Whether that is over. It counts the time for which the machine slept, too, of which instants know
    // nothing.
    bool has_lapsed() const;

  private:
    Duration length_;
    std::optional<Instant> last_;
    Duration slept_{0};  // until the last sign, since the machine started
};

// The other workers of a list, by their signs of life: which ids are taken, and who is lost.
class OtherWorkers {
  public:
    // `say` gets a line for each worker that is lost.
    OtherWorkers(ListStore& store, SharedList& list, std::function<void(const std::string&)> say);

    // Error usage: a worker with this id gave a sign within its lease.
    Status refuse_taken_id(text::WorkerId id);

    // Lines of lost workers wait again, and their signs are removed. `ours` are never lost.
    //
    // A worker is lost if its sign is older than its lease at two calls, between which one that lives gives a
    // sign: after a step of the clock, or if all machines slept, every sign looks old at first.
    Status find_lost(const std::set<text::WorkerId>& ours);
    Instant looked() const { return looked_; }
    // A look can tell then whether one that seems to be lost is so; nullopt: none seems to be.
    std::optional<Instant> next_look() const;

  private:
    Status release(const store::Sign& sign);

    ListStore& store_;
    SharedList& list_;
    std::function<void(const std::string&)> say_;
    Instant looked_{};
    std::map<text::WorkerId, Instant> seeming_;  // lost; a look after that can tell
};

}  // namespace wq::shared_list::replica
