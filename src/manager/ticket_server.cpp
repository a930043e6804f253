#include "manager/ticket_server.h"

#include <algorithm>

#include "ranks/tickets/ticket_pool.h"

namespace wq::manager {

void TicketServer::left(const std::string& host, std::int64_t cores) {
    const auto found = cores_.find(host);
    if (found == cores_.end()) return;
    found->second -= cores;
    if (found->second <= 0) cores_.erase(found);
}

net::messages::SealedBatch TicketServer::open(const engine::model::Seal& seal) {
    net::messages::SealedBatch sealed;
    sealed.batch = seal.batch;
    sealed.tasks = seal.tasks;
    sealed.needs = seal.needs;
    sealed.rules = seal.rules;
    sealed.timeout = seal.timeout;
    sealed.watch = seal.watch;
    tasks_.describe(seal.tasks, sealed);
    next_ = 0;
    view_.emplace(sealed);
    by_counter_ = view_->has_template() && counter_.there() &&
                  view_->count() <= ranks::tickets::BatchCounter::most_tickets && counter_.set(seal.batch);
    sealed.by_counter = by_counter_;
    sealed.nodes = static_cast<std::uint32_t>(nodes());
    return sealed;
}

void TicketServer::revoke(BatchId batch) {
    if (!view_ || view_->id() != batch) return;
    next_ = view_->count();
    // Ranges already claimed stay claimed; the nodes' accounts will report them.
    if (by_counter_) counter_.set(batch, view_->count());
}

void TicketServer::close(BatchId batch) {
    if (!view_ || view_->id() != batch) return;
    view_.reset();
}

net::messages::Tickets TicketServer::next(BatchId batch, const std::string& host) {
    net::messages::Tickets tickets;
    tickets.batch = batch;
    if (!view_ || view_->id() != batch || next_ >= view_->count()) return tickets;
    const auto cores = cores_.find(host);
    const std::uint64_t least =
        cores == cores_.end() ? 1 : static_cast<std::uint64_t>(std::max<std::int64_t>(cores->second, 1));
    const std::uint64_t most =
        ranks::tickets::guided_size(view_->count() - next_, nodes(), least, ranks::tickets::kMostTickets, 4);
    if (by_counter_) {  // for a node that cannot reach the counter, such as rank 0's own
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

net::messages::Tickets TicketServer::texts(const net::messages::WantTexts& wanted) const {
    net::messages::Tickets tickets;
    tickets.batch = wanted.batch;
    tickets.first = wanted.first;
    tickets.texts_only = true;
    if (!view_ || view_->id() != wanted.batch || wanted.first >= view_->count()) return tickets;
    tickets.count = add_texts(tickets, std::min(wanted.count, view_->count() - wanted.first));
    return tickets;
}

std::uint64_t TicketServer::add_texts(net::messages::Tickets& tickets, std::uint64_t most) const {
    if (view_->has_template()) return most;
    std::size_t bytes = 0;
    while (tickets.texts.size() < most && bytes < most_text_bytes) {
        TaskText text = tasks_.text(view_->task(tickets.first + tickets.texts.size()));
        tickets.texts.push_back(ranks::tickets::encode(
            ranks::tickets::TicketText{std::move(text.command), std::move(text.variables),
                                       text.environment_position, std::move(text.call)}));
        bytes += tickets.texts.back().size();
    }
    return tickets.texts.size();
}

}  // namespace wq::manager
