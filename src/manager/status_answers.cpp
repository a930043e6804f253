#include "manager/status_answers.h"

namespace wq::manager {

namespace {

constexpr Duration most_of_a_turn = std::chrono::milliseconds(2);

}  // namespace

void StatusAnswers::ask(Link& link, const wire::StatusQuery& query) {
    if (std::exchange(link.asks, true)) return;  // one question at a time
    asked_.emplace_back(link.key, query);
}

void StatusAnswers::tick() {
    const Instant until = clock_() + most_of_a_turn;
    for (std::size_t all = asked_.size(); all > 0 && clock_() < until; --all) {
        const auto [key, query] = asked_.front();
        asked_.pop_front();
        Link* const link = links_.find(key);
        if (link != nullptr && link->asks) answer(*link, query);
    }
}

void StatusAnswers::answer(Link& link, const wire::StatusQuery& query) {
    link.asks = false;
    wire::StatusPart part = lister_->part(query.what, query.from);
    if (part.next != 0) return links_.tell(link, part);
    links_.close(link, part);
    links_.remove(link.key);
}

}  // namespace wq::manager
