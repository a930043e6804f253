#include "manager/status_answers.h"

#include "net/frames/plain_request.h"

namespace wq::manager {

namespace {

constexpr Duration most_of_a_turn = std::chrono::milliseconds(2);

}  // namespace

void StatusAnswers::ask(Link& link, const net::messages::StatusQuery& query) {
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

void StatusAnswers::answer(Link& link, const net::messages::StatusQuery& query) {
    link.asks = false;
    if (lister_ == nullptr) {
        link.key.first->close(link.key.second);
        links_.remove(link.key);
        return;
    }
    net::messages::StatusPart part = lister_->part(query.what, query.from);
    if (link.asks_plainly) return answer_plainly(link, std::move(part));
    if (part.next != 0) return links_.tell(link, part);
    links_.close(link, part);
    links_.remove(link.key);
}

// ---- in plain text: an array in parts, each sent when the last one was taken ----

void StatusAnswers::ask_plainly(Link& link, std::string_view question) {
    if (!question.empty()) {
        link.by_http = question.starts_with('/');
        if (link.by_http) question.remove_prefix(1);
        if (question.empty()) return end_plainly(link, net::frames::list_of_questions());
        const auto what = lister_ == nullptr ? std::nullopt : lister_->named(question);
        if (!what)
            return end_plainly(link, net::frames::plain_refusal(link.by_http, "there is no such listing"));
        link.plain_query.what = *what;
    }
    ask(link, link.plain_query);
}

void StatusAnswers::answer_plainly(Link& link, net::messages::StatusPart part) {
    std::string text;
    if (link.plain_query.from == 0) {
        if (link.by_http) text = net::frames::plain_head("200 OK", "text/plain; charset=utf-8");
        text += '[';
    }
    if (!part.records.empty() && std::exchange(link.has_records, true)) text += ',';
    text += part.records;
    link.plain_query.from = part.next;
    if (part.next == 0) return end_plainly(link, text + (link.by_http ? "]\n" : "]"));
    // A part of ended tasks only: the next one follows without the peer.
    if (text.empty()) return ask(link, link.plain_query);
    link.key.first->send(link.key.second, std::move(text));
}

void StatusAnswers::end_plainly(Link& link, std::string last) {
    const LinkKey key = link.key;
    key.first->send(key.second, std::move(last));
    key.first->close(key.second);
    links_.remove(key);
}

}  // namespace wq::manager
