#include "slices/ledger.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace wq::slices {

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

Ledger::Ledger(std::uint64_t positions, Delivery delivery, IntervalSet committed)
    : positions_(positions), delivery_(delivery), committed_(std::move(committed)) {
    open_.insert({0, positions_});
    erase(open_, committed_);
}

Drawn Ledger::draw(Node node, std::uint64_t most) {
    auto range = open_.take_front(std::max<std::uint64_t>(most, 1));
    if (!range && delivery_ == Delivery::at_least_once && sealed_.empty()) range = copy_for(node, most);
    if (!range) return committed_.count() == positions_ ? Drawn(End{}) : Drawn(Wait{});
    if (delivery_ == Delivery::at_most_once)
        committed_.insert(*range);
    else
        has_[node].insert(*range);
    return Grant{*range};
}

// The highest: the other node comes to it last. Each position is copied once.
std::optional<Interval> Ledger::copy_for(Node node, std::uint64_t most) {
    std::optional<Interval> best;
    for (const auto& [other, has] : has_) {
        if (other == node) continue;
        IntervalSet uncopied = has;
        erase(uncopied, copied_);
        const auto last = uncopied.back();
        if (last && (!best || last->end > best->end)) best = last;
    }
    if (!best) return best;
    best->first = std::max(best->first, best->end - std::min(best->size(), std::max<std::uint64_t>(most, 1)));
    copied_.insert(*best);
    return best;
}

void Ledger::seal(Interval positions) {
    IntervalSet part;
    open_.for_each_in(positions, [&](const Interval& range) { part.insert(range); });
    erase(open_, part);
    insert(sealed_, part);
}

void Ledger::drew(Node node, Interval positions) {
    IntervalSet part;
    sealed_.for_each_in(positions, [&](const Interval& range) { part.insert(range); });
    erase(sealed_, part);
    if (delivery_ == Delivery::at_most_once)
        insert(committed_, part);
    else if (!part.empty())
        insert(has_[node], part);
}

void Ledger::unseal() {
    insert(open_, std::exchange(sealed_, {}));
}

IntervalSet Ledger::commit(Node node, const IntervalSet& positions) {
    const auto found = has_.find(node);
    if (found == has_.end()) return {};
    IntervalSet counts = common(found->second, positions);
    insert(committed_, counts);
    for (auto& [other, has] : has_)
        if (other == node || delivery_ == Delivery::at_least_once) erase(has, counts);
    std::erase_if(has_, [](const auto& each) { return each.second.empty(); });
    return counts;
}

void Ledger::give_back(Node node, Interval positions) {
    IntervalSet kept = outstanding_of(node);
    kept.erase(positions);
    recount(node, kept);
}

std::uint64_t Ledger::recount(Node node, const IntervalSet& present) {
    const auto found = has_.find(node);
    if (found == has_.end()) return 0;
    IntervalSet lost = found->second;
    erase(lost, present);
    erase(found->second, lost);
    if (found->second.empty()) has_.erase(found);
    erase(copied_, lost);
    for (const auto& [other, has] : has_) erase(lost, common(lost, has));  // it has a copy
    insert(open_, lost);
    return lost.count();
}

const IntervalSet& Ledger::outstanding_of(Node node) const {
    static const IntervalSet none;
    const auto found = has_.find(node);
    return found == has_.end() ? none : found->second;
}

std::string Ledger::audit() const {
    IntervalSet all = committed_;
    std::string wrong;
    const auto add = [&](const char* what, const IntervalSet& set, bool copies = false) {
        if (!copies && !common(all, set).empty()) wrong += std::string(what) + " is elsewhere, too; ";
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

}  // namespace wq::slices
