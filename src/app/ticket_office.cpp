#include "app/ticket_office.h"

#include <algorithm>

#include "transport/ticket_word.h"

namespace wq::app {

wire::SealedBatch TicketOffice::open(const core::Seal& seal) {
    wire::SealedBatch sealed;
    sealed.batch = seal.batch;
    sealed.tasks = seal.tasks;
    sealed.needs = seal.needs;
    sealed.rules = seal.rules;
    sealed.timeout = seal.timeout;
    sealed.watch = seal.watch;
    tasks_.describe(seal.tasks, sealed);
    next_ = 0;
    view_.emplace(sealed);
    by_counter_ = view_->has_template() && counter_.there() && view_->count() <= BatchCounter::most_tickets &&
                  counter_.set(seal.batch);
    sealed.by_counter = by_counter_;
    return sealed;
}

void TicketOffice::revoke(BatchId batch) {
    if (!view_ || view_->id() != batch) return;
    next_ = view_->count();
    // What a node drew before stays drawn, and its account will say so.
    if (by_counter_) counter_.set(batch, view_->count());
}

void TicketOffice::close(BatchId batch) {
    if (!view_ || view_->id() != batch) return;
    view_.reset();
}

wire::Tickets TicketOffice::next(BatchId batch, std::uint64_t nodes, std::uint64_t least) {
    wire::Tickets tickets;
    tickets.batch = batch;
    if (!view_ || view_->id() != batch || next_ >= view_->count()) return tickets;
    const std::uint64_t most =
        transport::guided_size(view_->count() - next_, nodes, least, transport::kMostTickets, 4);
    if (by_counter_) {  // for a node that has no way to it, as rank 0's own
        const auto first = counter_.draw(batch, most);
        if (!first) return tickets;
        next_ = *first;
        if (next_ >= view_->count()) return tickets;
    }
    tickets.first = next_;
    tickets.count = add_texts(tickets, std::min(most, view_->count() - next_));
    next_ += tickets.count;
    return tickets;
}

wire::Tickets TicketOffice::texts(const wire::WantTexts& wanted) const {
    wire::Tickets tickets;
    tickets.batch = wanted.batch;
    tickets.first = wanted.first;
    tickets.texts_only = true;
    if (!view_ || view_->id() != wanted.batch || wanted.first >= view_->count()) return tickets;
    tickets.count = add_texts(tickets, std::min(wanted.count, view_->count() - wanted.first));
    return tickets;
}

std::uint64_t TicketOffice::add_texts(wire::Tickets& tickets, std::uint64_t most) const {
    if (view_->has_template()) return most;
    std::size_t bytes = 0;
    while (tickets.texts.size() < most && bytes < most_text_bytes) {
        TaskText text = tasks_.text(view_->task(tickets.first + tickets.texts.size()));
        tickets.texts.push_back(encode(TicketText{std::move(text.command), std::move(text.variables),
                                                  text.environment_position, std::move(text.call)}));
        bytes += tickets.texts.back().size();
    }
    return tickets.texts.size();
}

}  // namespace wq::app
