// What workers say to the manager: from frames to events of the core.
#include <algorithm>

#include "app/manager.h"

namespace wq::app {

void Manager::on_arrival(transport::Transport& from, const transport::Arrival& arrival, core::Now now) {
    if (const auto* joined = std::get_if<transport::Joined>(&arrival)) {
        Link& link = links_[{&from, joined->peer}];
        link.transport = &from;
        link.peer = joined->peer;
        link.address = joined->address;
        link.outbox.emplace(from, joined->peer);
    } else if (const auto* frame = std::get_if<transport::Frame>(&arrival)) {
        if (const auto link = links_.find({&from, frame->peer}); link != links_.end())
            on_frame(link->second, frame->bytes, now);
    } else {
        const auto& left = std::get<transport::Left>(arrival);
        drop({&from, left.peer}, left.why, true, now);
    }
}

void Manager::on_frame(Link& link, const std::string& bytes, core::Now now) {
    const LinkKey key{link.transport, link.peer};
    if (link.record) react(core::WorkerHeard{link.record->worker}, now);
    auto messages = wire::decode(bytes);
    if (!messages) {
        link.transport->close(link.peer);
        return drop(key, "it sent bytes that are no message", true, now);
    }
    for (wire::Message& message : *messages) {
        std::visit([&](auto& known) { on_message(link, known, now); }, message);
        if (!links_.contains(key)) return;
    }
}

void Manager::on_message(Link& link, wire::Hello& message, core::Now now) {
    if (link.record) return;  // said twice, or arrived twice: it is the same worker
    if (message.version != wire::protocol_version) {
        const std::string why = "it speaks protocol " + std::to_string(message.version) + ", the manager " +
                                std::to_string(wire::protocol_version);
        link.outbox->put(wire::Refused{wire::protocol_version, why});
        link.outbox->flush();
        link.transport->close(link.peer);
        return drop({link.transport, link.peer}, why, true, now);
    }
    stats::WorkerRecord record;
    record.worker = WorkerId(message.rank.value_or(0));
    record.host = message.host;
    link.address = message.host + ":rank " + std::to_string(message.rank.value_or(0));
    record.address = link.address;
    record.rank = message.rank.value_or(0);
    record.offers = message.offers;
    record.joined_us = now.wall;
    link.record = record;
    link.takes_tickets = message.takes_tickets;
    if (link.takes_tickets) pool_cores_[record.host] += record.offers.cores;
    workers_[record.worker] = {link.transport, link.peer};
    recorder_.worker(record);
    if (!message.remark.empty()) say(message.remark);
    link.outbox->put(wire::Welcome{});
    tell_environment(link);

    core::WorkerJoined joined;
    joined.worker = record.worker;
    joined.host = message.host;
    joined.offers = message.offers;
    joined.takes_tickets = message.takes_tickets;
    if (message.leaves_at) {
        constexpr WallMicros longest = std::int64_t{10} * 365 * 24 * 3600 * 1'000'000;
        joined.leaves_at =
            now.instant +
            std::chrono::microseconds(
                std::clamp<WallMicros>(*message.leaves_at, now.wall, now.wall + longest) - now.wall);
    }
    react(joined, now);
}

void Manager::on_message(Link& link, wire::Ended& message, core::Now now) {
    if (!link.record) return;
    output_ = &message.output;
    times_.bytes_received += static_cast<std::int64_t>(message.output.out.size() + message.output.err.size());
    react(core::TaskReported{link.record->worker, message.task, message.attempt, std::move(message.outcome)},
          now);
    output_ = nullptr;
}

void Manager::on_message(Link& link, const wire::RangeEnded& message, core::Now now) {
    if (link.record)
        react(core::RangeReported{link.record->worker, message.batch, message.done, message.started_us,
                                  message.wall_us},
              now);
}

void Manager::on_message(Link& link, const wire::GivenBack& message, core::Now now) {
    if (link.record) react(core::TaskGivenBack{link.record->worker, message.task, message.attempt}, now);
}

void Manager::on_message(Link& link, const wire::Account& message, core::Now now) {
    if (link.record)
        react(core::TicketsReported{link.record->worker, message.batch, message.holding, message.saw_dry},
              now);
}

void Manager::on_message(Link& link, const wire::WantTickets& message, core::Now) {
    if (!link.takes_tickets || !link.record) return;
    const std::int64_t least = std::max<std::int64_t>(pool_cores_[link.record->host], 1);
    link.outbox->put(office_.next(message.batch, std::max<std::uint64_t>(pool_cores_.size(), 1),
                                  static_cast<std::uint64_t>(least)));
}

void Manager::on_message(Link& link, const wire::WantTexts& message, core::Now) {
    if (link.takes_tickets) link.outbox->put(office_.texts(message));
}

void Manager::tell_pool(const wire::Message& message) {
    for (auto& [key, link] : links_)
        if (link.takes_tickets) link.outbox->put(message);
}

void Manager::on_message(Link& link, const wire::Goodbye& message, core::Now now) {
    drop({link.transport, link.peer}, message.why, false, now);
}

void Manager::on_message(Link& link, const wire::EnvironmentReport& message, core::Now) {
    const bool known = message.position > 0 && message.position <= environment_.size();
    if (!link.record || !known) return;
    const std::string line = environment_[message.position - 1].text + " #!";
    const std::string text = last_lines(message.text, 1);
    say("worker " + std::to_string(link.record->worker.value()) + " on " + link.record->host + ": `" + line +
        "` ended with " + std::to_string(message.exit_code) + (text.empty() ? "" : ": " + text));
    if (message.exit_code != 0) failures_.add_environment({line, message.exit_code, text});
}

void Manager::on_message(Link&, const wire::Beat&, core::Now) {}

void Manager::drop(LinkKey key, const std::string& why, bool lost, core::Now now) {
    const auto found = links_.find(key);
    if (found == links_.end()) return;
    const auto record = found->second.record;
    if (found->second.takes_tickets) {
        const auto host = pool_cores_.find(record->host);
        if (host != pool_cores_.end() && (host->second -= record->offers.cores) <= 0) pool_cores_.erase(host);
    }
    links_.erase(found);
    if (lost || !finished_) lost_a_worker_ = true;  // who said goodbye is not there for MPI_Finalize either
    if (!record) return;
    const auto current = workers_.find(record->worker);
    if (current == workers_.end() || current->second != key)
        return;  // it has joined anew on another connection
    workers_.erase(current);
    stats::WorkerRecord ended = *record;
    ended.left_us = now.wall;
    ended.why_left = why;
    recorder_.worker(ended);
    if (!finished_)
        say("worker " + std::to_string(ended.worker.value()) + " on " + ended.host +
            (lost ? " was lost: " : " left: ") + why);
    react(core::WorkerLeft{ended.worker, why, lost}, now);
}

Manager::Link* Manager::link_of(WorkerId worker) {
    const auto key = workers_.find(worker);
    if (key == workers_.end()) return nullptr;
    const auto link = links_.find(key->second);
    return link == links_.end() ? nullptr : &link->second;
}

}  // namespace wq::app
