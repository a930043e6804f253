#include "slices/plan/pass_ledger.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/units.h"

namespace wq::slices::plan {

namespace {

void insert(IntervalSet& into, const IntervalSet& all) {
    all.for_each([&](const Interval& range) { into.insert(range); });
}

void erase(IntervalSet& from, const IntervalSet& all) {
    all.for_each([&](const Interval& range) { from.erase(range); });
}

IntervalSet common(const IntervalSet& one, const IntervalSet& other) {
    IntervalSet both;
    other.for_each([&](const Interval& range) {
        one.for_each_in(range, [&](const Interval& part) { both.insert(part); });
    });
    return both;
}

}  // namespace

PassLedger::PassLedger(std::uint64_t positions, Delivery delivery, IntervalSet committed)
    : positions_(positions), delivery_(delivery), committed_(std::move(committed)) {
    committed_.erase(Interval{positions_, std::numeric_limits<std::uint64_t>::max()});
    open_.insert({0, positions_});
    erase(open_, committed_);
}

Drawn PassLedger::draw(Node node, std::uint64_t most) {
    most = std::max<std::uint64_t>(most, 1);
    if (const auto range = open_.take_front(most)) {
        grant(node, *range);
        return Grant{*range};
    }
    if (const auto copy = copy_for(outstanding_of(node), most)) {
        has_[node].insert(*copy);
        single_.erase(*copy);
        copied_.insert(*copy);
        return Grant{*copy};
    }
    return committed_.count() == positions_ ? Drawn(PassEnd{}) : Drawn(Wait{});
}

void PassLedger::grant(Node node, const Interval& range) {
    if (delivery_ == Delivery::at_most_once) return committed_.insert(range);
    has_[node].insert(range);
    if (delivery_ == Delivery::at_least_once) single_.insert(range);
}

std::optional<Interval> PassLedger::seal(std::uint64_t most) {
    const auto range = open_.take_front(most);
    if (range) sealed_.insert(*range);
    return range;
}

void PassLedger::drawn(Node node, const IntervalSet& positions) {
    if (sealed_.empty()) return;
    const IntervalSet parts = common(sealed_, positions);
    erase(sealed_, parts);
    parts.for_each([&](const Interval& range) { grant(node, range); });
}

void PassLedger::unseal(Interval positions) {
    IntervalSet range;
    range.insert(positions);
    range = common(sealed_, range);
    erase(sealed_, range);
    insert(open_, range);
}

std::uint64_t PassLedger::lose_sealed() {
    const IntervalSet lost = std::exchange(sealed_, {});
    const bool again = delivery_ != Delivery::at_most_once;
    insert(again ? open_ : committed_, lost);
    return again ? lost.count() : 0;
}

// The highest that the node does not have itself: others come to these last.
std::optional<Interval> PassLedger::copy_for(const IntervalSet& has, std::uint64_t most) const {
    std::optional<Interval> range = single_.before(positions_);
    for (; range; range = single_.before(range->first)) {
        IntervalSet of_others;
        of_others.insert(*range);
        has.for_each_in(*range, [&](const Interval& own) { of_others.erase(own); });
        if (auto best = of_others.back()) {
            best->first = std::max(best->first, best->end - std::min(best->size(), most));
            return best;
        }
    }
    return std::nullopt;
}

IntervalSet PassLedger::commit(Node node, const IntervalSet& positions) {
    const auto found = has_.find(node);
    if (found == has_.end()) return {};
    IntervalSet counts = common(found->second, positions);
    insert(committed_, counts);
    erase(single_, counts);
    take_from(found, counts);
    // A second node may have them.
    if (const IntervalSet twice = common(copied_, counts); !twice.empty()) {
        erase(copied_, twice);
        for (auto other = has_.begin(); other != has_.end();) take_from(other++, twice);
    }
    return counts;
}

void PassLedger::take_from(Holders::iterator holder, const IntervalSet& positions) {
    erase(holder->second, positions);
    if (holder->second.empty()) has_.erase(holder);
}

void PassLedger::give_back(Node node, Interval positions) {
    IntervalSet kept = outstanding_of(node);
    kept.erase(positions);
    recount(node, kept);
}

std::uint64_t PassLedger::recount(Node node, const IntervalSet& present) {
    const auto found = has_.find(node);
    if (found == has_.end()) return 0;
    IntervalSet lost = found->second;
    erase(lost, present);
    take_from(found, lost);
    const IntervalSet elsewhere = common(copied_, lost);  // another node has these
    erase(copied_, elsewhere);
    insert(single_, elsewhere);
    erase(lost, elsewhere);
    erase(single_, lost);
    insert(open_, lost);
    return lost.count();
}

const IntervalSet& PassLedger::outstanding_of(Node node) const {
    static const IntervalSet& none = *new IntervalSet;  // also for a thread that outlives main()
    const auto found = has_.find(node);
    return found == has_.end() ? none : found->second;
}

std::string PassLedger::audit() const {
    IntervalSet all = committed_;
    std::string wrong;
    const auto add = [&](const char* what, const IntervalSet& set) {
        if (!common(all, set).empty()) wrong += std::string(what) + " is elsewhere, too; ";
        insert(all, set);
    };
    add("what is open", open_);
    add("what is sealed", sealed_);
    for (const auto& [node, has] : has_) {
        if (has.empty()) wrong += "a node has nothing; ";
        IntervalSet own = has;
        erase(own, copied_);
        add("what a node has", own);
        if (!common(committed_, has).empty() || !common(open_, has).empty())
            wrong += "what a node has is not its own; ";
        insert(all, has);
    }
    if (all.count() != positions_)
        wrong += std::to_string(positions_ - all.count()) + " positions are nowhere; ";
    return wrong;
}

Status check_fits(const Checkpoint& checkpoint, const std::string& name, const Plan& plan, bool shuffle,
                  std::optional<std::uint64_t> seed) {
    const auto refused = [&](const std::string& why) {
        return Error{ExitCode::bad_input, "cannot restore " + name + ": " + why};
    };
    if (checkpoint.slices != plan.size())
        return refused(
            "it is of other works or of another num_slices: " + count_of(checkpoint.slices, "slice") +
            " there, " + std::to_string(plan.size()) + " here");
    if (checkpoint.digest != plan.digest()) return refused("it is of other works (names, records or order)");
    if (checkpoint.shuffle != shuffle)
        return refused(checkpoint.shuffle ? "its slices are shuffled" : "its slices are not shuffled");
    if (seed && *seed != checkpoint.seed)
        return refused("its seed is " + std::to_string(checkpoint.seed) + ", not " + std::to_string(*seed) +
                       "; leave the seed out to use that");
    return success();
}

}  // namespace wq::slices::plan
