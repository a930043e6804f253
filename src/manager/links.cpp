#include "manager/links.h"

#include <algorithm>
#include <variant>

namespace wq::manager {

namespace {

bool brings_tasks(const net::messages::Message& message) {
    return std::holds_alternative<net::messages::Lease>(message) ||
           std::holds_alternative<net::messages::SealedBatch>(message) ||
           std::holds_alternative<net::messages::Tickets>(message);
}

}  // namespace

void Links::open(net::frames::Transport& from, const net::frames::Joined& joined, Duration hello_limit,
                 Instant now) {
    const LinkKey key{&from, joined.peer};
    Link& link = links_[key];
    link.key = key;
    link.address = joined.address;
    link.untrusted = untrusted_.contains(&from);
    link.outbox.emplace(from, joined.peer);
    link.asks_plainly = joined.asks_plainly;
    if (!link.untrusted || link.asks_plainly) return;
    link.hello_until = now + hello_limit;
    unheard_.push_back({link.hello_until, key});
}

void Links::assign(Link& link, const records::journal::WorkerRecord& record) {
    link.record = record;
    workers_[record.worker] = &link;
}

bool Links::remove(LinkKey key) {
    const auto found = links_.find(key);
    if (found == links_.end()) return false;
    bool was_worker = false;
    if (found->second.record) {
        const auto worker = workers_.find(found->second.record->worker);
        was_worker = worker != workers_.end() && worker->second == &found->second;
        if (was_worker) workers_.erase(worker);
    }
    links_.erase(found);
    return was_worker;
}

Link* Links::find(LinkKey key) {
    const auto found = links_.find(key);
    return found == links_.end() ? nullptr : &found->second;
}

Link* Links::of(WorkerId worker) const {
    const auto found = workers_.find(worker);
    return found == workers_.end() ? nullptr : found->second;
}

std::size_t Links::without_hello() const {
    return static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [](const auto& link) {
        return !link.second.record && !link.second.asks_plainly;
    }));
}

// A later peer may have the number of one that left; it has its own hello limit.
Link* Links::next_silent(Instant now) {
    while (!unheard_.empty() && unheard_.front().first <= now) {
        Link* const link = find(unheard_.front().second);
        unheard_.pop_front();
        if (link != nullptr && !link->record && now >= link->hello_until) return link;
    }
    return nullptr;
}

std::optional<Instant> Links::next_hello_limit() const {
    if (unheard_.empty()) return std::nullopt;
    return unheard_.front().first;
}

// unsent_ makes a turn cost only the links with messages, not those of a thousand idle workers.
void Links::send_message(Link& link, const net::messages::Message& message) {
    if (link.outbox->empty()) unsent_.push_back(link.key);
    link.outbox->add_message(message);
    tasks_unsent_ = tasks_unsent_ || brings_tasks(message);
}

void Links::send_message(WorkerId worker, const net::messages::Message& message) {
    if (Link* const link = of(worker)) send_message(*link, message);
}

void Links::close(Link& link, const net::messages::Message& last) {
    send_message(link, last);
    link.outbox->flush();
    link.key.first->close(link.key.second);
}

bool Links::flush() {
    for (const LinkKey& key : unsent_)
        if (Link* const link = find(key)) link->outbox->flush();
    unsent_.clear();
    return std::exchange(tasks_unsent_, false);
}

void EnvironmentLines::add(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers) {
    lines_.push_back({position, std::move(text), std::move(workers)});
    for (auto& [key, link] : links_.all()) send_lines(link);
}

void EnvironmentLines::send_lines(Link& link) {
    if (!link.record) return;
    for (; link.told_environment < lines_.size(); ++link.told_environment) {
        const Line& line = lines_[link.told_environment];
        const bool applies =
            line.workers.empty() || std::find(line.workers.begin(), line.workers.end(),
                                              link.record->worker.value()) != line.workers.end();
        if (applies) links_.send_message(link, net::messages::EnvironmentLine{line.position, line.text});
    }
}

const std::string* EnvironmentLines::text(std::uint64_t position) const {
    return position == 0 || position > lines_.size() ? nullptr : &lines_[position - 1].text;
}

}  // namespace wq::manager
