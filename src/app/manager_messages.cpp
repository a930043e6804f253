// What workers say to the manager: from frames to events of the core.
#include <algorithm>

#include "app/manager.h"
#include "base/units.h"

namespace wq::app {

bool Manager::on_arrival(transport::Transport& from, const transport::Arrival& arrival, core::Now now) {
    if (const auto* joined = std::get_if<transport::Joined>(&arrival)) {
        Link& link = links_[{&from, joined->peer}];
        link.transport = &from;
        link.peer = joined->peer;
        link.address = joined->address;
        link.stranger = strangers_.contains(&from);
        link.outbox.emplace(from, joined->peer);
        if (!link.stranger) return true;
        link.hello_until = now.instant + options_.hello_limit;
        unheard_.push_back({link.hello_until, {&from, joined->peer}});
    } else if (const auto* frame = std::get_if<transport::Frame>(&arrival)) {
        const auto link = links_.find({&from, frame->peer});
        if (link == links_.end()) return true;
        const Instant before = clock();
        const Duration sent_before = times_.sending();
        const Heard heard = on_frame(link->second, frame->bytes, now);
        const Duration sent = times_.sending() - sent_before;  // what was given out for it
        times_.received(clock() - before - sent, heard == Heard::results);
        return heard != Heard::beat;
    } else {
        const auto& left = std::get<transport::Left>(arrival);
        on_cut({&from, left.peer}, left.why, now);
    }
    return true;
}

Manager::Heard Manager::on_frame(Link& link, const std::string& bytes, core::Now now) {
    const LinkKey key{link.transport, link.peer};
    if (link.record) react(core::WorkerHeard{link.record->worker}, now);
    auto messages = wire::decode(bytes);
    if (!messages) {
        refuse(link, "it sent bytes that are no message", now);
        return Heard::status;
    }
    if (link.session != nullptr) link.session->confirmed = true;
    Heard heard = Heard::beat;
    for (wire::Message& message : *messages) {
        if (std::holds_alternative<wire::Ended>(message) || std::holds_alternative<wire::RangeEnded>(message))
            heard = Heard::results;
        else if (heard == Heard::beat && !std::holds_alternative<wire::Beat>(message))
            heard = Heard::status;
        std::visit([&](auto& known) { on_message(link, known, now); }, message);
        if (!links_.contains(key)) return std::max(heard, Heard::status);
    }
    return heard;
}

void Manager::on_message(Link& link, wire::Hello& message, core::Now now) {
    if (link.session != nullptr) return refuse(link, "it said hello twice", now);
    if (link.record) return;  // said twice, or arrived twice: it is the same worker
    if (refuse_version(link, message, now)) return;
    link.os = message.os;
    link.arch = message.arch;
    if (link.stranger || !message.rank) return welcome_stranger(link, message, now);
    stats::WorkerRecord record;
    record.worker = WorkerId(*message.rank);
    sessions_.keep_number(record.worker);
    record.host = message.host;
    link.address = message.host + ":rank " + std::to_string(*message.rank);
    record.address = link.address;
    record.rank = *message.rank;
    record.offers = message.offers;
    record.joined_us = now.wall;
    link.record = record;
    link.shares_files = !options_.mark_path.empty();  // of a list's ranks that is taken for granted
    link.takes_tickets = message.takes_tickets;
    if (link.takes_tickets) pool_cores_[record.host] += record.offers.cores.rounded_down();
    workers_[record.worker] = {link.transport, link.peer};
    if (desk_) desk_->joined(record.worker, message.node);
    recorder_.worker(record);
    if (!message.remark.empty()) say(message.remark);
    tell(link, welcome());
    tell_environment(link);

    react(joined(message, record.worker, now), now);
}

void Manager::on_message(Link& link, wire::Ended& message, core::Now now) {
    if (out_of_turn(link, now)) return;
    count_answer(link);
    make_plausible(message.outcome);
    if (desk_) desk_->drop_if_of(link.record->worker, message.task, message.attempt);
    if (link.session != nullptr) message.outcome.started_us -= link.session->clock_ahead_us;
    output_ = &message.output;
    output_of_ = message.task;
    own_stats_.bytes_received += static_cast<std::int64_t>(
        message.output.out.size() + message.output.err.size() + message.output.result.size());
    react(core::TaskReported{link.record->worker, message.task, message.attempt, std::move(message.outcome)},
          now);
    output_ = nullptr;
}

void Manager::on_message(Link& link, const wire::GivenBack& message, core::Now now) {
    if (out_of_turn(link, now)) return;
    count_answer(link);
    react(core::TaskGivenBack{link.record->worker, message.task, message.attempt}, now);
}

void Manager::on_message(Link& link, const wire::Account& message, core::Now now) {
    if (link.takes_tickets && link.record)
        react(core::TicketsReported{link.record->worker, message.batch, message.holding, message.saw_dry},
              now);
}

void Manager::on_message(Link& link, const wire::WantTickets& message, core::Now) {
    if (!link.takes_tickets || !link.record) return;
    tasks_unsent_ = true;
    const std::int64_t least = std::max<std::int64_t>(pool_cores_[link.record->host], 1);
    tell(link, office_.next(message.batch, std::max<std::uint64_t>(pool_cores_.size(), 1),
                            static_cast<std::uint64_t>(least)));
}

void Manager::on_message(Link& link, const wire::WantTexts& message, core::Now) {
    if (!link.takes_tickets) return;
    tasks_unsent_ = true;
    tell(link, office_.texts(message));
}

// In batches that are sealed now. Who is about to leave would claim tickets that nobody expects of it.
bool Manager::takes_part(const Link& link) const {
    if (!link.takes_tickets || !link.record) return false;
    const core::Worker* worker = reactor_.workers().find(link.record->worker);
    return worker != nullptr && worker->available();
}

void Manager::tell_pool(const wire::Message& message) {
    for (auto& [key, link] : links_)
        if (link.takes_tickets) tell(link, message);
}

void Manager::on_message(Link& link, const wire::Goodbye& message, core::Now now) {
    if (out_of_turn(link, now)) return;
    if (message.idle) ++own_stats_.workers_idled_out;
    drop({link.transport, link.peer}, line_for_message(message.why),
         message.idle ? stats::Departure::idle_out : stats::Departure::asked, now);
}

void Manager::on_message(Link& link, const wire::EnvironmentReport& message, core::Now) {
    const bool known = message.position > 0 && message.position <= environment_.size();
    if (!link.record || !known) return;
    const std::string line = environment_[message.position - 1].text + " #!";
    const std::string text = line_for_message(last_lines(message.text, 1));
    say("worker " + std::to_string(link.record->worker.value()) + " on " + link.record->host + ": `" + line +
        "` ended with " + std::to_string(message.exit_code) + (text.empty() ? "" : ": " + text));
    if (message.exit_code != 0) failures_.add_environment({line, message.exit_code, text});
}

void Manager::on_message(Link&, const wire::Beat&, core::Now) {}

void Manager::drop(LinkKey key, const std::string& why, stats::Departure departure, core::Now now) {
    const bool lost = departure == stats::Departure::failure;
    const auto found = links_.find(key);
    if (found == links_.end()) return;
    const auto record = found->second.record;
    if (found->second.takes_tickets) {
        const auto host = pool_cores_.find(record->host);
        if (host != pool_cores_.end() && (host->second -= record->offers.cores.rounded_down()) <= 0)
            pool_cores_.erase(host);
    }
    const bool rank = found->second.session == nullptr && !found->second.stranger;
    links_.erase(found);
    if (rank && (lost || !finished_))
        lost_a_worker_ = true;  // who said goodbye is not there for MPI_Finalize either
    if (!record) return;
    const auto current = workers_.find(record->worker);
    if (current == workers_.end() || current->second != key)
        return;  // it has joined anew on another connection
    workers_.erase(current);
    sessions_.close(record->worker);
    forget_files(record->worker);
    note_departure(*record, why, departure, now);
    react(core::WorkerLeft{record->worker, why, lost}, now);
}

void Manager::note_departure(stats::WorkerRecord record, const std::string& why, stats::Departure departure,
                             core::Now now) {
    leaving_.erase(record.worker);
    record.left_us = now.wall;
    record.why_left = why;
    record.departure = departure;
    if (const auto ended = ended_there_.extract(record.worker)) record.tasks_done = ended.mapped();
    recorder_.worker(record);
    if (!finished_ && why != told_to_leave)
        say("worker " + std::to_string(record.worker.value()) + " on " + record.host +
            (departure == stats::Departure::failure ? " was lost: " : " left: ") + why);
}

// Those that are cut off will not be back in time.
void Manager::note_departures_at_the_end(const std::string& why, core::Now now) {
    for (const auto& [id, worker] : reactor_.workers().all()) {
        const Link* const link = link_of(id);
        const Session* const session = sessions_.find(id);
        if (link != nullptr)
            note_departure(*link->record, why, stats::Departure::asked, now);
        else if (session != nullptr)
            note_departure(session->record, worker.away_why, stats::Departure::failure, now);
    }
}

Manager::Link* Manager::link_of(WorkerId worker) {
    const auto key = workers_.find(worker);
    if (key == workers_.end()) return nullptr;
    const auto link = links_.find(key->second);
    return link == links_.end() ? nullptr : &link->second;
}

}  // namespace wq::app
