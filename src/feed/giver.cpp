#include "feed/giver.h"

#include <algorithm>
#include <variant>

#include "tickets/ticket_word.h"

namespace wq::feed {

namespace {

constexpr Duration first_pause = std::chrono::seconds(1);
constexpr Duration longest_pause = std::chrono::seconds(30);

}  // namespace

void Giver::on(net::Transport& line, const net::Arrival& arrival, Instant now) {
    std::visit([&](const auto& known) { on(Address{&line, known.peer}, known, now); }, arrival);
}

void Giver::on(const Address& from, const net::Frame& frame, Instant now) {
    const auto message = decode(frame.bytes);
    const bool first = message && std::holds_alternative<Hello>(*message);
    if (!message || first == takers_.contains(from)) {  // garbage, or no Hello first
        from.line->close(from.peer);
        return lose(from, now);
    }
    std::visit([&](const auto& known) { take(from, known, now); }, *message);
}

void Giver::take(const Address& from, const Hello& hello, Instant) {
    from.line->admit(from.peer);
    Node& node = nodes_[hello.node];
    if (node.id == 0) node.id = next_node_++, node.batch = next_batch_++;
    node.takers.insert(from);
    const std::uint32_t rank = hello.rank == no_rank ? next_rank_++ : hello.rank;
    takers_[from] = {hello.node, rank, 0};
    ranks_[rank].rank = rank;
    ranks_[rank].is_here = true;
    const bool commits = ledger_.delivery() != slices::Delivery::at_most_once;
    send(from, Welcome{node.batch, rank, commits, record != nullptr});
    if (ended()) send(from, Ended{lost_takers_ > 0});
}

void Giver::take(const Address& from, const Draw&, Instant now) {
    const auto node = node_of(from);
    wait(node, from, now);
    give(node, now);
}

void Giver::take(const Address& from, const Filled& filled, Instant now) {
    const auto at = node_of(from);
    Node& node = at->second;
    // Otherwise the node has got a new batch since, and what was granted before is counted as lost.
    const bool counts = node.filler && node.filler->taker == from;
    if (counts && filled.unused) ledger_.give_back(node.id, node.filler->positions);
    if (counts) node.filler.reset();
    waiting_.erase(at->first);
    for (const Address& taker : std::exchange(node.waiting, {})) send(taker, Look{});
    if (counts && filled.unused) give_to_all(now);
}

void Giver::take(const Address& from, const Leaving&, Instant now) {
    remove(from, now);
}

void Giver::take(const Address& from, const Committed& committed, Instant) {
    Known& taker = takers_.at(from);
    ranks_[taker.rank].taken += committed.taken - std::exchange(taker.taken, committed.taken);
    const IntervalSet counted = ledger_.commit(node_of(from)->second.id, committed.positions);
    late_ += committed.positions.count() - counted.count();
    committed.failed.for_each([&](const Interval& range) {
        counted.for_each_in(range, [&](const Interval& part) { failed_.insert(part); });
    });
    if (record)
        for (const Timed& each : committed.times)
            if (counted.contains(each.position)) record(taker.rank, each);
    if (ended()) tell_end();
}

void Giver::take(const Address& from, const Present& present, Instant now) {
    Node& node = node_of(from)->second;
    if (!node.recount || node.batch != present.batch) return;
    Recount& recount = *node.recount;
    present.positions.for_each([&](const Interval& range) { recount.present.insert(range); });
    recount.missing.erase(from);
    if (!recount.missing.empty()) return;
    const std::uint64_t found = ledger_.recount(node.id, recount.present);
    given_again_ += found;
    node.recount.reset();
    if (found > 0) node.pause = first_pause;
    give_to_all(now);
}

void Giver::lose(const Address& taker, Instant now) {
    if (takers_.contains(taker) && !ended()) ++lost_takers_;
    remove(taker, now);
}

void Giver::remove(const Address& taker, Instant now) {
    if (!takers_.contains(taker)) return;
    const auto at = node_of(taker);
    ranks_[takers_.at(taker).rank].is_here = false;
    takers_.erase(taker);
    untold_.erase(taker);
    gone(taker);
    Node& node = at->second;
    node.takers.erase(taker);
    wait_no_more(at, taker);
    if (node.takers.empty()) {
        given_again_ += ledger_.lose(node.id);
        nodes_.erase(at);
    } else {
        begin_recount(node);
    }
    give_to_all(now);
}

void Giver::ask_all() {
    ++round_;
    for (const auto& [taker, known] : takers_) {
        untold_.insert(taker);
        send(taker, Tell{round_});
    }
}

void Giver::take(const Address& from, const Told& told, Instant) {
    if (told.round == round_) untold_.erase(from);
}

void Giver::begin_recount(Node& node) {
    node.recount.reset();
    node.filler.reset();
    if (ledger_.outstanding_of(node.id).empty()) return;
    node.batch = next_batch_++;
    node.recount = Recount{node.takers, {}};
    for (const Address& taker : node.takers) send(taker, Count{node.batch});
}

void Giver::postpone_recount(Node& node, Duration pause, Instant now) {
    node.pause = pause;
    node.count_at = now + pause;
}

void Giver::tick(Instant now) {
    if (waiting_.empty() || now < tick_at_) return;
    tick_at_ = now + first_pause;
    for (auto& [name, node] : nodes_) {
        if (node.recount || now < node.count_at) continue;
        postpone_recount(node, std::min(2 * node.pause, longest_pause), now);
        begin_recount(node);
    }
    give_to_all(now);
}

void Giver::wait(Nodes::iterator node, const Address& taker, Instant now) {
    if (waiting_.empty()) tick_at_ = now + first_pause;
    waiting_.insert(node->first);
    node->second.waiting.insert(taker);
}

void Giver::wait_no_more(Nodes::iterator node, const Address& taker) {
    node->second.waiting.erase(taker);
    if (node->second.waiting.empty()) waiting_.erase(node->first);
}

// To one taker at a time, whose fill the others of the node share. Each taker's part of what is left of an
// epoch is an eighth of an even one: a slow node has little more than it can do before the others are done.
void Giver::give(Nodes::iterator at, Instant now) {
    Node& node = at->second;
    if (node.waiting.empty() || node.filler) return;
    const std::uint64_t part = tickets::guided_size(std::min(ledger_.to_give(), epoch_), takers_.size(), 1,
                                                    tickets::kMostTickets, 8);
    const slices::Drawn drawn =
        ledger_.draw(node.id, std::min<std::uint64_t>(part * node.takers.size(), tickets::kMostTickets));
    if (std::holds_alternative<slices::End>(drawn)) return tell_end();
    const auto* grant = std::get_if<slices::Grant>(&drawn);
    if (grant == nullptr) return;
    // Answers that are under way do not have these yet.
    if (node.recount) node.recount->present.insert(grant->positions);
    node.filler = Filler{*node.waiting.begin(), grant->positions};
    wait_no_more(at, node.filler->taker);
    postpone_recount(node, first_pause, now);
    send(node.filler->taker, Granted{grant->positions});
}

void Giver::give_to_all(Instant now) {
    for (const std::string& name : std::set(waiting_)) give(nodes_.find(name), now);
}

void Giver::tell_end() {
    if (std::exchange(told_end_, true)) return;
    for (const std::string& name : std::exchange(waiting_, {})) nodes_.find(name)->second.waiting.clear();
    for (const auto& [taker, known] : takers_) send(taker, Ended{lost_takers_ > 0});
}

GiverReport Giver::report() const {
    GiverReport report;
    report.positions = ledger_.positions();
    report.committed = ledger_.committed().count();
    report.to_give = ledger_.to_give();
    const auto first = ledger_.committed().front();
    report.first_open = first && first->first == 0 ? first->end : 0;
    for (const std::string& name : waiting_) report.waiting += nodes_.at(name).waiting.size();
    report.lost_takers = lost_takers_;
    report.given_again = given_again_;
    report.late = late_;
    report.failed = failed_.count();
    for (const auto& [rank, known] : ranks_) report.ranks.push_back(known);
    return report;
}

}  // namespace wq::feed
