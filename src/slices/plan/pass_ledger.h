// Which positions of an order (plan.h) were granted and which are committed. One process holds this truth
// about a pass. Others draw ranges for their node, whose ranks share them, and commit positions that are
// done. When a rank is lost, nobody knows what it had; but the other ranks of its node can list what they
// have. What nobody lists is lost, and is granted again.
//
// A range can also be sealed: then nodes draw parts of it by themselves, and this process learns of it later.
//
// It has no clock, and waits for nothing. Costs are per range, not per position or node; only commits of what
// was given twice look at all nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "base/interval_set.h"
#include "base/result.h"
#include "slices/plan/plan.h"

namespace wq::slices::plan {

enum class Delivery : std::uint8_t {
    exactly_once,   // committed once: of a lost rank, what it had not committed is given again
    at_most_once,   // given once: what a lost rank had is lost; there is nothing to commit, and nothing to
                    // wait for
    at_least_once,  // as exactly once, but at the end, whoever would wait gets what another still has: no
                    // straggler holds up the rest, at the price of some slices that are done twice
};

struct Grant {
    Interval positions;
    bool operator==(const Grant&) const = default;
};
struct Wait {  // all are given, but not all committed: some may be given again
    bool operator==(const Wait&) const = default;
};
struct PassEnd {
    bool operator==(const PassEnd&) const = default;
};
using Drawn = std::variant<Grant, Wait, PassEnd>;

class PassLedger {
  public:
    using Node = std::uint64_t;  // who shares what is drawn: the ranks of a node, or one TCP worker

    // `committed`: by an earlier run.
    PassLedger(std::uint64_t positions, Delivery delivery, IntervalSet committed = {});

    // Up to `most` positions (at least one), the lowest first: so those that are given again come before new
    // ones.
    Drawn draw(Node node, std::uint64_t most);

    // Returns those that count: that the node has, and nobody has committed before.
    IntervalSet commit(Node node, const IntervalSet& positions);
    // The node did not need these.
    void give_back(Node node, Interval positions);
    // `present`: all positions that the node's living ranks have, claimed and unclaimed, after one of them
    // was lost. The rest is granted again; returns how many. No grant to the node may be on its way: it would
    // count as lost.
    std::uint64_t recount(Node node, const IntervalSet& present);
    std::uint64_t lose(Node node) { return recount(node, {}); }  // nobody of it lives

    // Seals up to `most` of the lowest range that is to be given. nullopt: none is.
    std::optional<Interval> seal(std::uint64_t most);
    // The node has drawn these by itself. Counts those that are sealed, no others.
    void drawn(Node node, const IntervalSet& positions);
    void unseal(Interval positions);  // of what is sealed: nobody has drawn these, nor will
    // Nobody says that he has drawn what is still sealed: a lost rank may have. It is granted again, but not
    // if delivery is at most once. Returns how many are.
    std::uint64_t lose_sealed();

    std::uint64_t positions() const { return positions_; }
    Delivery delivery() const { return delivery_; }
    std::uint64_t to_give() const { return open_.count() + sealed_.count(); }
    const IntervalSet& open() const { return open_; }      // to be given
    const IntervalSet& sealed() const { return sealed_; }  // given by drawing, as far as it is not known yet
    const IntervalSet& committed() const { return committed_; }
    const IntervalSet& outstanding_of(Node node) const;  // given, and neither committed nor lost
    // Recomputes what is where; "": right. Tests call it after each step.
    std::string audit() const;

  private:
    using Holders = std::map<Node, IntervalSet>;
    void grant(Node node, const Interval& range);
    void take_from(Holders::iterator holder, const IntervalSet& positions);
    std::optional<Interval> copy_for(const IntervalSet& has, std::uint64_t most) const;

    std::uint64_t positions_;
    Delivery delivery_;
    IntervalSet open_;
    IntervalSet sealed_;
    IntervalSet committed_;
    // With copies only: given once and not committed, and given twice and not committed.
    IntervalSet single_;
    IntervalSet copied_;
    Holders has_;
};

// What is left of a pass over slices after a program ends: a later one goes on from there, with any number of
// ranks.
struct Checkpoint {
    std::uint64_t digest = 0;  // Plan::digest()
    std::uint64_t slices = 0;  // of an epoch
    bool shuffle = true;
    std::uint64_t seed = 0;
    IntervalSet committed;  // positions
    bool operator==(const Checkpoint&) const = default;
};

// Error bad_input, in words for `name`: it is of other works, of another order, or of another seed than the
// program asks for. Another number of epochs fits.
Status check_fits(const Checkpoint& checkpoint, const std::string& name, const Plan& plan, bool shuffle,
                  std::optional<std::uint64_t> seed);

}  // namespace wq::slices::plan
