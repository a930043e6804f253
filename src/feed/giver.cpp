#include "feed/giver.h"

#include <algorithm>
#include <variant>

#include "tickets/ticket_word.h"

namespace wq::feed {

namespace {

constexpr Duration recount_every = std::chrono::seconds(1);

}  // namespace

void Giver::on(net::Transport& line, const net::Arrival& arrival, Instant now) {
    std::visit([&](const auto& known) { on(Address{&line, known.peer}, known, now); }, arrival);
}

void Giver::on(const Address& from, const net::Frame& frame, Instant now) {
    const auto message = decode(frame.bytes);
    const bool first = message && std::holds_alternative<Hello>(*message);
    if (!message || first == node_of_.contains(from)) {  // garbage, or no Hello first
        from.line->close(from.peer);
        return lose(from, now);
    }
    std::visit([&](const auto& known) { take(from, known, now); }, *message);
}

void Giver::take(const Address& from, const Hello& hello, Instant now) {
    Node& node = nodes_[hello.node];
    if (node.id == 0) node.id = next_node_++;
    node.takers.insert(from);
    node_of_[from] = hello.node;
    send(from, Welcome{static_cast<std::uint32_t>(node.id)});
    if (node.recount) begin_recount(node, now);
    if (ended()) send(from, Ended{report_.lost_takers > 0});
}

void Giver::take(const Address& from, const Draw&, Instant now) {
    Node& node = nodes_[node_of_[from]];
    node.waiting.insert(from);
    give(node);
    tick(now);
}

void Giver::take(const Address& from, const Filled& filled, Instant) {
    Node& node = nodes_[node_of_[from]];
    if (node.filler && node.filler->taker == from) {
        if (filled.unused) ledger_.give_back(node.id, node.filler->positions);
        node.filler.reset();
    }
    for (const Address& taker : std::exchange(node.waiting, {})) send(taker, Look{});
    if (filled.unused) give_to_all();
}

void Giver::take(const Address& from, const Leaving&, Instant now) {
    remove(from, now);
}

void Giver::take(const Address& from, const Committed& committed, Instant) {
    const std::uint64_t counted = ledger_.commit(nodes_[node_of_[from]].id, committed.positions).count();
    report_.late += committed.positions.count() - counted;
    if (ended()) tell_end();
}

void Giver::take(const Address& from, const Present& present, Instant now) {
    Node& node = nodes_[node_of_[from]];
    if (!node.recount || node.recount->id != present.count) return;
    Recount& recount = *node.recount;
    if (recount.fill && *recount.fill != present.fill) return begin_recount(node, now);
    recount.fill = present.fill;
    present.positions.for_each([&](const Interval& range) { recount.present.insert(range); });
    recount.missing.erase(from);
    if (!recount.missing.empty()) return;
    report_.given_again += ledger_.recount(node.id, recount.present);
    node.recount.reset();
    give_to_all();
}

void Giver::lose(const Address& taker, Instant now) {
    if (node_of_.contains(taker) && !ended()) ++report_.lost_takers;
    remove(taker, now);
}

void Giver::remove(const Address& taker, Instant now) {
    const auto found = node_of_.find(taker);
    if (found == node_of_.end()) return;
    const auto at = nodes_.find(found->second);
    node_of_.erase(found);
    Node& node = at->second;
    node.takers.erase(taker);
    node.waiting.erase(taker);
    if (node.filler && node.filler->taker == taker) node.filler.reset();
    if (node.takers.empty()) {
        report_.given_again += ledger_.lose(node.id);
        nodes_.erase(at);
    } else {
        begin_recount(node, now);
    }
    give_to_all();
}

void Giver::begin_recount(Node& node, Instant now) {
    if (ledger_.outstanding_of(node.id).empty()) return node.recount.reset();
    node.counted = now;
    node.recount = Recount{next_recount_++, node.takers, {}, {}};
    // The answers may not have these yet.
    if (node.filler) node.recount->present.insert(node.filler->positions);
    for (const Address& taker : node.takers) send(taker, Count{node.recount->id});
}

bool Giver::somebody_waits() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const auto& each) { return !each.second.waiting.empty(); });
}

void Giver::tick(Instant now) {
    if (!somebody_waits()) return;
    for (auto& [name, node] : nodes_)
        if (!node.recount && now - node.counted >= recount_every) begin_recount(node, now);
}

std::optional<Instant> Giver::wakeup() const {
    if (!somebody_waits()) return std::nullopt;
    std::optional<Instant> first;
    for (const auto& [name, node] : nodes_)
        if (!node.recount && !ledger_.outstanding_of(node.id).empty())
            first = std::min(first.value_or(node.counted + recount_every), node.counted + recount_every);
    return first;
}

// To one taker at a time, whose fill the others of the node share. Each taker's part of what is left of an
// epoch is an eighth of an even one: a slow node has little more than it can do before the others are done.
void Giver::give(Node& node) {
    if (node.waiting.empty() || node.filler) return;
    const std::uint64_t part = tickets::guided_size(std::min(ledger_.to_give(), epoch_), node_of_.size(), 1,
                                                    tickets::kMostTickets, 8);
    const slices::Drawn drawn =
        ledger_.draw(node.id, std::min<std::uint64_t>(part * node.takers.size(), tickets::kMostTickets));
    if (std::holds_alternative<slices::End>(drawn)) return tell_end();
    const auto* grant = std::get_if<slices::Grant>(&drawn);
    if (grant == nullptr) return;
    // Answers that are under way do not have these yet.
    if (node.recount) node.recount->present.insert(grant->positions);
    node.filler = Filler{*node.waiting.begin(), grant->positions};
    node.waiting.erase(node.filler->taker);
    send(node.filler->taker, Granted{grant->positions});
}

void Giver::give_to_all() {
    for (auto& [name, node] : nodes_) give(node);
}

void Giver::tell_end() {
    if (std::exchange(told_end_, true)) return;
    for (auto& [name, node] : nodes_) node.waiting.clear();
    for (const auto& [taker, node] : node_of_) send(taker, Ended{report_.lost_takers > 0});
}

GiverReport Giver::report() const {
    GiverReport report = report_;
    report.takers = node_of_.size();
    for (const auto& [name, node] : nodes_) report.waiting += node.waiting.size();
    return report;
}

}  // namespace wq::feed
