#include "manager/status_answers.h"

#include <algorithm>
#include <unordered_map>

#include "engine/policies/view.h"
#include "net/frames/http_request.h"

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
    const net::messages::StatusPart part = lister_->part(query.what, query.from);
    if (link.asks_plainly) return answer_plainly(link, part);
    if (part.next != 0) return links_.send_message(link, part);
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

void StatusAnswers::answer_plainly(Link& link, const net::messages::StatusPart& part) {
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

namespace {

// A program may give each of a million tasks its own needs.
constexpr std::size_t most_shapes = 1000;

// What they specify; where that is nothing, what they need at least.
engine::model::Needs needs_of(const engine::model::Ask& ask) {
    engine::model::Needs needs = ask.needs;
    if (needs.cores < 0) needs.cores = ask.at_least.cores > 0 ? ask.at_least.cores : needs.cores;
    if (needs.memory_mb < 0) needs.memory_mb = std::max(needs.memory_mb, ask.at_least.memory_mb);
    if (needs.disk_mb < 0) needs.disk_mb = std::max(needs.disk_mb, ask.at_least.disk_mb);
    if (needs.gpus < 0) needs.gpus = ask.at_least.gpus > 0 ? ask.at_least.gpus : needs.gpus;
    return needs;
}

net::messages::TasksOfShape describe(const engine::policies::Reactor& reactor,
                                     const std::vector<std::string>& categories,
                                     const engine::policies::ShapeCount& count) {
    const engine::model::Shape& shape = reactor.ledger().shape(count.shape);
    const std::uint32_t category = shape.category.value();
    return {category < categories.size() ? categories[category] : "",
            needs_of(reactor.asked(count.shape)),
            reactor.allocation(),
            shape.features,
            count.ready,
            count.on_workers};
}

// Shapes that differ only in what the report does not tell become one.
class Shapes {
  public:
    explicit Shapes(net::messages::StatusReport& report) : report_(report) {}

    void add(net::messages::TasksOfShape more) {
        std::string key = more.category;
        for (const std::int64_t amount :
             {more.needs.cores.thousandths(), more.needs.memory_mb, more.needs.disk_mb,
              more.needs.gpus.thousandths(), more.needs.coprocesses})
            key += "\n" + std::to_string(amount);
        for (const std::string& feature : more.features) key += "\n" + feature;
        const auto [found, is_new] = places_.try_emplace(std::move(key), report_.shapes.size());
        if (is_new && found->second >= most_shapes) {
            places_.erase(found);
            report_.further += more.ready + more.on_workers;
        } else if (is_new) {
            report_.shapes.push_back(std::move(more));
        } else {
            report_.shapes[found->second].ready += more.ready;
            report_.shapes[found->second].on_workers += more.on_workers;
        }
    }

  private:
    net::messages::StatusReport& report_;
    std::unordered_map<std::string, std::size_t> places_;
};

net::messages::WorkerStatus describe(const engine::model::Worker& worker, const WorkerSessions& sessions) {
    net::messages::WorkerStatus status;
    status.worker = worker.id;
    status.host = worker.host;
    status.offers = worker.whole;
    status.tasks = worker.leases.size();
    status.connected = !worker.disconnected();
    const records::journal::WorkerRecord* const record = sessions.of_tcp(worker.id);
    status.is_rank = record == nullptr;
    if (record != nullptr) status.job = record->job;
    for (const std::string& feature : worker.features)
        if (feature.starts_with(engine::model::factory_feature))
            status.factory = feature.substr(engine::model::factory_feature.size());
    return status;
}

}  // namespace

net::messages::StatusReport status_report(const Router& router, const std::vector<std::string>& categories,
                                          const WorkerSessions& sessions) {
    using engine::model::TaskState;
    const engine::policies::Reactor& reactor = router.reactor();
    net::messages::StatusReport report;
    Shapes shapes(report);
    for (const engine::policies::ShapeCount& count : reactor.unfinished())
        shapes.add(describe(reactor, categories, count));
    for (const auto& [id, worker] : reactor.workers().all())
        report.workers.push_back(describe(worker, sessions));
    const engine::model::Ledger& ledger = reactor.ledger();
    report.blocked = ledger.count(TaskState::blocked);
    report.submitted = ledger.size();
    report.done = ledger.count(TaskState::done);
    report.failed = ledger.count(TaskState::failed) + ledger.count(TaskState::skipped) +
                    ledger.count(TaskState::cancelled);
    const engine::model::ManagerStats stats = router.stats();
    report.running = static_cast<std::uint64_t>(std::max<std::int64_t>(stats.tasks_running, 0));
    report.capacity_tasks = stats.capacity_tasks;
    report.ending = router.run_is_over() || reactor.stopping();
    return report;
}

}  // namespace wq::manager
