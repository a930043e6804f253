#include "feed/giver.h"

#include <variant>

namespace wq::feed {

void Giver::on(net::Transport& line, const net::Arrival& arrival, Instant now) {
    std::visit([&](const auto& known) { on(Address{&line, known.peer}, known, now); }, arrival);
    tell_end();
}

void Giver::on(const Address& from, const net::Frame& frame, Instant now) {
    const auto message = decode(frame.bytes);
    const bool first = message && std::holds_alternative<Hello>(*message);
    if (!message || first == takers_.contains(from)) return refuse(from, now);  // garbage, or no Hello first
    std::visit([&](const auto& known) { take(from, known, now); }, *message);
}

void Giver::take(const Address& from, const Hello& hello, Instant now) {
    from.line->admit(from.peer);
    const std::uint32_t rank = hello.rank == no_rank ? next_rank_++ : hello.rank;
    takers_[from] = {rank, 0};
    ranks_[rank].rank = rank;
    ranks_[rank].is_here = true;
    const bool commits = ledger().delivery() != slices::Delivery::at_most_once;
    nodes_.join(from, hello, {0, rank, commits, record != nullptr}, now);
    if (told_end_) from.send(Ended{lost_takers_ > 0});
}

void Giver::take(const Address& from, const Leaving&, Instant now) {
    remove(from, false, now);
}

void Giver::take(const Address& from, const Committed& committed, Instant) {
    Known& taker = takers_.at(from);
    ranks_[taker.rank].taken += committed.taken - std::exchange(taker.taken, committed.taken);
    const IntervalSet counted = nodes_.commit(from, committed.positions);
    late_ += committed.positions.count() - counted.count();
    committed.failed.for_each([&](const Interval& range) {
        counted.for_each_in(range, [&](const Interval& part) { failed_.insert(part); });
    });
    if (!record) return;
    for (const Timed& each : committed.times)
        if (counted.contains(each.position)) record(taker.rank, each);
}

void Giver::take(const Address& from, const Told& told, Instant) {
    if (told.round == round_) untold_.erase(from);
}

void Giver::refuse(const Address& from, Instant now) {
    from.line->close(from.peer);
    lose(from, now);
}

void Giver::lose(const Address& taker, Instant now) {
    if (!takers_.contains(taker)) return;
    ++lost_takers_;
    remove(taker, true, now);
    if (!told_end_) return;
    for (const auto& [other, known] : takers_) other.send(Ended{true});
}

void Giver::remove(const Address& taker, bool lost, Instant now) {
    ranks_[takers_.at(taker).rank].is_here = false;
    takers_.erase(taker);
    untold_.erase(taker);
    gone(taker);
    nodes_.leave(taker, lost, now);
}

void Giver::ask_all() {
    ++round_;
    for (const auto& [taker, known] : takers_) {
        untold_.insert(taker);
        taker.send(Tell{round_});
    }
}

void Giver::tick(Instant now) {
    nodes_.tick(now);
    tell_end();
}

// Once nobody is about to get what was given last: he would take it for the end.
void Giver::tell_end() {
    if (told_end_ || !ended() || nodes_.is_filling()) return;
    told_end_ = true;
    nodes_.nobody_waits();
    for (const auto& [taker, known] : takers_) taker.send(Ended{lost_takers_ > 0});
}

GiverReport Giver::report() const {
    GiverReport report;
    report.positions = ledger().positions();
    report.committed = ledger().committed().count();
    report.to_give = ledger().to_give();
    const auto first = ledger().committed().front();
    report.first_open = first && first->first == 0 ? first->end : 0;
    report.waiting = nodes_.waiting();
    report.lost_takers = lost_takers_;
    report.given_again = nodes_.given_again();
    report.late = late_;
    report.failed = failed_.count();
    for (const auto& [rank, known] : ranks_) report.ranks.push_back(known);
    return report;
}

}  // namespace wq::feed
