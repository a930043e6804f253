#include "worker/ticket_claims.h"

namespace wq::worker {

void TicketClaims::on(const net::messages::SealedBatch& message) {
    claim_size_.begin();
    if (tickets_ != nullptr) tickets_->on_message(message);
}
void TicketClaims::on(const net::messages::Tickets& message) {
    if (tickets_ != nullptr) tickets_->on_message(message);
}
void TicketClaims::on(const net::messages::RevokedBatch& message) {
    if (tickets_ != nullptr) tickets_->on_message(message);
    return_ranges();
}

bool TicketClaims::direct_calls() const {
    return tickets_ != nullptr && functions_ != nullptr && tickets_->direct_calls();
}

std::vector<net::messages::Lease> TicketClaims::take(Instant now) {
    if (tickets_ == nullptr || !tickets_->active()) return {};
    const std::int64_t lanes = tickets_->lanes();
    const auto room = lanes + prefetch_.ahead(lanes) - static_cast<std::int64_t>(held_.size());
    if (room <= 0) return {};
    return tickets_->take(static_cast<std::uint64_t>(room), now, link_.outbox());
}

// One claim runs while the next one is queued, so that the calling thread never waits for this one.
bool TicketClaims::take_ranges(Instant now) {
    if (!tickets_->active()) return false;
    const std::uint64_t claim = claim_size_.claim(tickets_->left_in_node(), tickets_->ranks_of_node());
    if (functions_->held_of_ranges() > claim) return false;
    bool any = false;
    for (node::launcher::RangeOrder& order : tickets_->take_ranges(claim, now, link_.outbox())) {
        ranges_.insert(order.tasks);
        functions_->run(std::move(order));
        any = true;
    }
    return any;
}

void TicketClaims::give_account(Instant now) {
    if (tickets_ == nullptr || !tickets_->owes_account() || !ranges_are_few(now)) return;
    IntervalSet running = ranges_;
    accounted_ = tickets_->batch();
    for (const auto& [key, by] : held_.all())
        if (by == HeldTasks::By::ticket) running.insert(key.first.value());
    tickets_->give_account(std::move(running), link_.outbox());
}

// Each task that an account names becomes a lease, so wait until few are left. A long range ends soon,
// because it was claimed for some ms; if it takes longer than that, its rest is returned.
bool TicketClaims::ranges_are_few(Instant now) {
    constexpr std::uint64_t few = 256;
    constexpr Duration wait_limit = std::chrono::seconds(1);
    if (ranges_.count() <= few) {
        many_since_.reset();
        return true;
    }
    if (!many_since_) many_since_ = now;
    if (now - *many_since_ >= wait_limit) functions_->return_ranges();
    return false;
}

void TicketClaims::on_report(node::launcher::RangeProgress& report) {
    const auto forget = [&](const IntervalSet& tasks) {
        tasks.for_each([&](Interval part) { ranges_.erase(part); });
    };
    forget(report.done);
    forget(report.returned);
    for (const node::launcher::TaskEnded& failed : report.failed) ranges_.erase(failed.task.value());
    if (accounted_ && report.batch <= *accounted_)  // else it is requeued with the unclaimed tickets
        report.returned.for_each([&](Interval part) {
            for (std::uint64_t task = part.first; task < part.end; ++task)
                link_.answer(net::messages::GivenBack{TaskId(task), 1}, {});
        });
    if (report.done.empty()) return;
    claim_size_.ended(report.done.count(), report.wall_us);
    link_.answer(
        net::messages::RangeEnded{report.batch, std::move(report.done), report.started_us, report.wall_us},
        {});
}

void TicketClaims::return_ranges() {
    if (functions_ != nullptr) functions_->return_ranges();
}

// Calls of a range have no own records. The rest of the range is returned, and the manager continues it
// elsewhere.
void TicketClaims::return_ranges_with(Interval tasks) {
    bool some_of_a_range = false;
    ranges_.for_each_in(tasks, [&](Interval) { some_of_a_range = true; });
    if (some_of_a_range) return_ranges();
}

}  // namespace wq::worker
