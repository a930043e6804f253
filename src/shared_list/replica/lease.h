// The lease of a worker's lines, as the worker itself counts it: when to give signs of life, and from when on
// others may take its lines.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

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

}  // namespace wq::shared_list::replica
