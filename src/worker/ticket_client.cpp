#include "worker/ticket_client.h"

#include <algorithm>

#include "engine/model/allocation.h"
#include "engine/tasklist/sources.h"

namespace wq::worker {

namespace {
// If the rank that should fetch the next range has not done so for this long, it may be gone, and another
// rank asks.
constexpr Duration refill_timeout = std::chrono::milliseconds(50);
}  // namespace

void TicketClient::on_message(const net::messages::SealedBatch& message) {
    batch_.emplace(message);
    by_counter_ = message.by_counter && counter_.there();
    drawn_ = 0;
    nodes_ = std::max<std::uint64_t>(message.nodes, 1);
    give_ = engine::model::allocate(message.needs, whole_, message.rules);
    timeout_ = message.timeout;
    watch_ = message.watch;
    asked_ = dry_ = told_ = false;
    spare_.clear();
    mine_ = std::move(early_);
    early_.clear();
    without_text_.clear();
}

void TicketClient::on_message(const net::messages::Tickets& message) {
    if (!batch_ || message.batch != batch_->id()) return;
    if (message.texts_only) {
        for (std::uint64_t index = 0; index < message.texts.size(); ++index) {
            const std::uint64_t ticket = message.first + index;
            const auto waits = std::find_if(without_text_.begin(), without_text_.end(),
                                            [&](const Mine& mine) { return mine.ticket == ticket; });
            if (waits == without_text_.end()) continue;
            without_text_.erase(waits);
            mine_.push_back({message.batch, ticket, message.texts[index]});
        }
        return;
    }
    asked_ = false;
    pool_.end_refill_turn();
    if (dry_) return;
    if (message.count == 0)
        dry_ = true;
    else
        spare_.push_back(message);
}

void TicketClient::on_message(const net::messages::RevokedBatch& message) {
    if (!batch_ || message.batch != batch_->id()) return;
    pool_.revoke(message.batch);
    spare_.clear();
    mine_.clear();
    without_text_.clear();
    dry_ = true;
}

std::int64_t TicketClient::lanes() const {
    return engine::model::how_many_fit(give_, whole_);
}

std::vector<net::messages::Lease> TicketClient::take(std::uint64_t room, Instant now,
                                                     net::session::Outbox& outbox) {
    std::vector<net::messages::Lease> leases;
    if (!batch_) return leases;
    while (leases.size() < room) {
        if (mine_.empty() && !dry_ && early_.empty()) {
            if (pool_.remaining() == 0 && !refill_from_spare()) {
                ask(now, outbox);
                if (spare_.empty()) break;
                continue;
            }
            claim(room - leases.size());
        }
        if (mine_.empty()) break;
        Mine mine = std::move(mine_.front());
        mine_.pop_front();
        if (auto lease = pass_on(std::move(mine), outbox)) leases.push_back(std::move(*lease));
    }
    return leases;
}

void TicketClient::claim(std::uint64_t most) {
    const ranks::tickets::Claim claim =
        pool_.take(static_cast<std::uint32_t>(std::min<std::uint64_t>(most, ranks::tickets::kMostClaim)));
    if (claim.state != ranks::tickets::Claim::State::claimed) return;
    const auto texts = pool_.texts(claim);
    for (std::uint64_t index = 0; index < claim.range.count; ++index) {
        Mine mine{claim.range.batch, claim.range.first + index, std::nullopt};
        if (texts && index < texts->size()) mine.text = (*texts)[index];
        mine_.push_back(std::move(mine));
    }
}

std::vector<node::launcher::RangeOrder> TicketClient::take_ranges(std::uint64_t room, Instant now,
                                                                  net::session::Outbox& outbox) {
    std::vector<node::launcher::RangeOrder> ranges;
    for (std::uint64_t taken = 0; batch_ && taken < room;) {
        if (!mine_.empty()) {  // claimed before we knew its batch, or too many for the word
            const Mine mine = std::move(mine_.front());
            mine_.pop_front();
            if (mine.batch != batch_->id()) continue;
            add_range(mine.ticket, 1, ranges);
            ++taken;
            continue;
        }
        if (dry_ || !early_.empty()) break;
        if (pool_.remaining() == 0 && !refill_from_spare()) {
            ask(now, outbox);
            if (spare_.empty()) break;
            continue;
        }
        const ranks::tickets::TicketRange claim = claim_range(room - taken);
        if (claim.count == 0) break;
        add_range(claim.first, claim.count, ranges);
        taken += claim.count;
    }
    return ranges;
}

// Count 0: no ticket of this batch. Tickets of a later batch wait until it is announced.
ranks::tickets::TicketRange TicketClient::claim_range(std::uint64_t most) {
    const ranks::tickets::Claim claim =
        pool_.take(static_cast<std::uint32_t>(std::min<std::uint64_t>(most, ranks::tickets::kMostClaim)));
    if (claim.state != ranks::tickets::Claim::State::claimed) return {};
    if (claim.range.batch == batch_->id()) return claim.range;
    for (std::uint64_t index = 0; claim.range.batch > batch_->id() && index < claim.range.count; ++index)
        early_.push_back({claim.range.batch, claim.range.first + index, std::nullopt});
    return {};
}

void TicketClient::add_range(std::uint64_t ticket, std::uint64_t count,
                             std::vector<node::launcher::RangeOrder>& ranges) const {
    const std::uint64_t end = std::min(ticket + count, batch_->count());
    while (ticket < end) {
        const Interval tasks = batch_->tasks(ticket, end - ticket);
        ticket += tasks.size();
        if (!ranges.empty() && ranges.back().tasks.end == tasks.first)
            ranges.back().tasks.end = tasks.end;
        else
            ranges.push_back(
                {batch_->id(), tasks, batch_->call_index(TaskId(tasks.first)), batch_->call().function});
    }
}

std::optional<net::messages::Lease> TicketClient::pass_on(Mine mine, net::session::Outbox& outbox) {
    if (mine.batch > batch_->id()) {
        early_.push_back(std::move(mine));
        return std::nullopt;
    }
    // The ticket's batch is over; the manager already counts unclaimed tickets of that batch as its own.
    if (mine.batch != batch_->id() || mine.ticket >= batch_->count()) return std::nullopt;
    if (!mine.text && !batch_->has_template()) {
        outbox.add_message(net::messages::WantTexts{mine.batch, mine.ticket, 1});
        without_text_.push_back(std::move(mine));
        return std::nullopt;
    }
    return lease_of(mine);
}

bool TicketClient::refill_from_spare() {
    if (spare_.empty()) return false;
    const net::messages::Tickets& range = spare_.front();
    const ranks::tickets::TicketRange whole{range.batch, range.first,
                                            static_cast<std::uint32_t>(range.count)};
    const ranks::tickets::Install result = pool_.install(whole, range.texts);
    if (result == ranks::tickets::Install::lost) return true;  // the word holds another rank's range
    if (result == ranks::tickets::Install::too_large)
        for (std::uint64_t index = 0; index < range.count; ++index) {
            Mine mine{range.batch, range.first + index, std::nullopt};
            if (index < range.texts.size()) mine.text = range.texts[index];
            mine_.push_back(std::move(mine));
        }
    spare_.pop_front();
    return true;
}

void TicketClient::ask(Instant now, net::session::Outbox& outbox) {
    if (asked_ || !pool_.refill_turn(now, refill_timeout)) return;
    if (by_counter_) return draw();
    asked_ = true;
    outbox.add_message(net::messages::WantTickets{batch_->id()});
}

void TicketClient::draw() {
    const std::uint64_t left = batch_->count() - std::min(drawn_, batch_->count());
    const std::uint64_t most = ranks::tickets::guided_size(
        left, nodes_, static_cast<std::uint64_t>(std::max<std::int64_t>(lanes(), 1)),
        ranks::tickets::kMostTickets, 4);
    const auto first = counter_.draw(batch_->id(), std::max<std::uint64_t>(most, 1));
    pool_.end_refill_turn();
    // If the counter fails, we treat it as dry: its remaining tickets are requeued when the batch is
    // reconciled.
    if (!first || *first >= batch_->count()) {
        dry_ = true;
        return;
    }
    drawn_ = *first + most;
    net::messages::Tickets range;
    range.batch = batch_->id();
    range.first = *first;
    range.count = std::min(most, batch_->count() - *first);
    spare_.push_back(std::move(range));
}

std::optional<net::messages::Lease> TicketClient::lease_of(const Mine& mine) const {
    net::messages::Lease lease;
    lease.task = batch_->task(mine.ticket);
    lease.attempt = 1;
    lease.give = give_;
    lease.timeout = timeout_;
    lease.watch = watch_;
    if (batch_->has_calls()) {
        lease.call = batch_->call();
        lease.call->arguments = ranks::tickets::index_arguments(batch_->call_index(lease.task));
        return lease;
    }
    if (batch_->has_template()) {
        lease.text = batch_->command(mine.ticket);
        lease.variables.emplace_back(engine::tasklist::index_variable_name, batch_->index(mine.ticket));
        return lease;
    }
    auto text = ranks::tickets::decode_ticket_text(*mine.text);
    if (!text) return std::nullopt;
    lease.text = std::move(text->command);
    lease.environment_position = text->environment_position;
    lease.variables = std::move(text->variables);
    lease.call = std::move(text->call);
    return lease;
}

void TicketClient::give_account(IntervalSet running, net::session::Outbox& outbox) {
    told_ = true;
    mine_.clear();
    without_text_.clear();
    outbox.add_message(net::messages::Account{batch_->id(), std::move(running), true});
}

}  // namespace wq::worker
