#include "slices/claims/giver.h"

#include <variant>

namespace wq::slices::claims {

namespace {

// Of one taker, whose answers fill our memory if it does not read them: some for each of its readers.
constexpr std::uint32_t most_unanswered = 600;

}  // namespace

void Giver::on(net::frames::Transport& line, const net::frames::Arrival& arrival, Instant now) {
    std::visit([&](const auto& known) { on(Address{&line, known.peer}, known, now); }, arrival);
    send_end();
}

void Giver::on(const Address& from, const net::frames::Frame& frame, Instant now) {
    if (!lines_.contains(from)) return;  // it was refused, and this had arrived before
    const auto message = decode(frame.bytes);
    const bool first = message && std::holds_alternative<Hello>(*message);
    if (!message || first == takers_.contains(from)) return refuse(from, now);  // garbage, or no Hello first
    std::visit([&](const auto& known) { take(from, known, now); }, *message);
}

void Giver::take(const Address& from, const Hello& hello, Instant now) {
    from.line->admit(from.peer);
    if (hello.version != feed_version) {
        from.send(Refused{"it is of another version: its messages are of version " +
                          std::to_string(feed_version) + ", not " + std::to_string(hello.version)});
        return refuse(from, now);
    }
    const bool is_worker = hello.rank == no_rank;
    const std::uint32_t rank = is_worker ? next_rank_++ : hello.rank;
    takers_[from] = {rank, is_worker};
    ranks_[rank].rank = rank;
    ranks_[rank].is_here = true;
    const bool commits = ledger().delivery() != plan::Delivery::at_most_once;
    nodes_.join(from, hello, {0, rank, commits, record != nullptr}, now);
    if (sent_end_) from.send(Ended{lost_ranks_ > 0});
}

void Giver::take(const Address& from, const Leaving&, Instant now) {
    remove(from, TakerEnd::left, now);
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

void Giver::take(const Address& from, const CommitsReported& reply, Instant) {
    if (reply.round == round_) unreported_.erase(from);
}

void Giver::take(const Address& from, const Question& question, Instant now) {
    if (++takers_.at(from).unanswered > most_unanswered) return refuse(from, now);
    asked(from, question);
}

void Giver::answer(const Address& taker, GiverAnswer answer) {
    const auto known = takers_.find(taker);
    if (known == takers_.end()) return;
    --known->second.unanswered;
    taker.send(std::move(answer));
}

void Giver::refuse(const Address& from, Instant now) {
    from.line->close(from.peer);
    lose(from, now);
}

void Giver::lose(const Address& taker, Instant now) {
    lines_.erase(taker);
    if (!takers_.contains(taker)) return;
    const Known known = takers_.at(taker);
    const bool is_rank = !known.is_worker;
    if (!sent_end_) on_loss(known.rank, known.is_worker);
    lost_ranks_ += is_rank;
    remove(taker, TakerEnd::lost, now);
    if (!sent_end_ || !is_rank) return;
    for (const auto& [other, its] : takers_) other.send(Ended{true});
}

void Giver::remove(const Address& taker, TakerEnd how, Instant now) {
    ranks_[takers_.at(taker).rank].is_here = false;
    takers_.erase(taker);
    unreported_.erase(taker);
    gone(taker);
    nodes_.leave(taker, how, now);
}

void Giver::ask_all() {
    ++round_;
    for (const auto& [taker, known] : takers_) {
        unreported_.insert(taker);
        taker.send(ReportCommits{round_});
    }
}

void Giver::tick(Instant now) {
    nodes_.tick(now);
    send_end();
}

// Once nobody is about to get what was given last: he would take it for the end.
void Giver::send_end() {
    if (sent_end_ || !ended() || nodes_.is_filling()) return;
    sent_end_ = true;
    nodes_.nobody_waits();
    for (const auto& [taker, known] : takers_) taker.send(Ended{lost_ranks_ > 0});
}

GiverReport Giver::report() const {
    GiverReport report;
    report.positions = ledger().positions();
    report.committed = ledger().committed().count();
    report.to_give = ledger().to_give();
    const auto first = ledger().committed().front();
    report.first_open = first && first->first == 0 ? first->end : 0;
    report.waiting = nodes_.waiting();
    report.lost_ranks = lost_ranks_;
    report.given_again = nodes_.given_again();
    report.late = late_;
    report.failed = failed_.count();
    for (const auto& [rank, known] : ranks_) report.ranks.push_back(known);
    return report;
}

}  // namespace wq::slices::claims
