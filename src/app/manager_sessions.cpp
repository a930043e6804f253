// Workers over TCP: they come by themselves, are cut off, come back, and are told no by name.
#include <algorithm>

#include "app/away.h"
#include "app/manager.h"
#include "base/units.h"

namespace wq::app {

namespace {

// Clocks that differ by less are as good as equal: a hello travels that long.
constexpr std::int64_t least_difference_us = 1'000'000;

std::int64_t difference(WallMicros theirs, WallMicros ours) {
    constexpr std::int64_t most = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000;
    const std::int64_t ahead = std::clamp<std::int64_t>(theirs, 0, most) - ours;
    return ahead < least_difference_us && ahead > -least_difference_us ? 0 : ahead;
}

}  // namespace

core::WorkerJoined Manager::joined(const wire::Hello& message, WorkerId worker, core::Now now) const {
    core::WorkerJoined joined;
    joined.worker = worker;
    joined.host = message.host;
    joined.offers = message.offers;
    joined.takes_tickets = message.takes_tickets;
    joined.features = message.features;
    constexpr Duration longest = std::chrono::hours(24 * 3650);
    if (message.leaves_in)
        joined.leaves_at = now.instant + std::clamp<Duration>(*message.leaves_in, Duration{0}, longest);
    return joined;
}

bool Manager::refuse_version(Link& link, const wire::Hello& message, core::Now now) {
    if (message.version == wire::protocol_version) return false;
    refuse(link,
           "it speaks protocol " + std::to_string(message.version) + ", the manager " +
               std::to_string(wire::protocol_version),
           now);
    return true;
}

wire::Welcome Manager::welcome() const {
    wire::Welcome welcome;
    welcome.output_limit = options_.output_limit;
    return welcome;
}

// Also for the first time.
wire::Welcome Manager::welcome_back(const Session& session) const {
    wire::Welcome back = welcome();
    back.worker = session.record.worker;
    back.resume = session.token;
    back.grace = grace_of(options_.reactor.away_limit);
    back.answers_received = session.answers;
    back.directory = options_.directory;
    back.index_variable = options_.index_variable;
    back.mark_path = options_.mark_path;
    back.mark = options_.mark;
    return back;
}

void Manager::welcome_stranger(Link& link, wire::Hello& message, core::Now now) {
    if (const auto nonsense = nonsense_in(message)) return refuse(link, *nonsense, now);
    switch (sessions_.judge(message)) {
        case SessionBook::Claim::taken:
            return refuse(link, "another worker with this identity is connected", now);
        case SessionBook::Claim::comes_back:
            return take_over(link, message, now);
        case SessionBook::Claim::anew:
            if (const Session* old = sessions_.find(message.identity)) {
                if (Link* half_open = link_of(old->record.worker)) {
                    half_open->transport->close(half_open->peer);
                    drop({half_open->transport, half_open->peer}, "it came anew", stats::Departure::asked,
                         now);
                } else {
                    const WorkerId worker = old->record.worker;
                    end_session(worker, "it came anew", stats::Departure::asked, now);
                    react(core::WorkerLeft{worker, "it came anew", false}, now);
                }
            }
            break;
        case SessionBook::Claim::first:
            break;
    }
    stats::WorkerRecord record;
    record.worker = sessions_.next_number();
    record.host = message.host;
    record.address = link.address;
    record.offers = message.offers;
    record.joined_us = now.wall;
    link.record = record;
    link.session = &sessions_.open(message.identity, record);
    link.session->clock_ahead_us = difference(message.clock, now.wall);
    workers_[record.worker] = {link.transport, link.peer};
    if (desk_) desk_->joined(record.worker, message.node);
    link.transport->admit(link.peer);
    recorder_.worker(record);
    if (!message.remark.empty()) say(line_for_message(message.remark));
    tell(link, welcome_back(*link.session));
    tell_environment(link);
    message.takes_tickets = false;  // tickets are claimed in shared memory
    core::WorkerJoined event = joined(message, record.worker, now);
    event.watched = true;
    react(event, now);
}

void Manager::take_over(Link& link, wire::Hello& message, core::Now now) {
    Session* const session = sessions_.find(message.identity);
    const WorkerId worker = session->record.worker;
    if (Link* half_open = link_of(worker)) {
        const LinkKey key{half_open->transport, half_open->peer};
        half_open->transport->close(half_open->peer);
        on_cut(key, "it came back by another connection", now);
        if (sessions_.find(worker) ==
            nullptr) {  // without a grace, and after the end, a cut ends the session
            message.resume.clear();
            return welcome_stranger(link, message, now);
        }
    }
    link.record = session->record;
    link.session = session;
    session->confirmed = true;
    session->clock_ahead_us = difference(message.clock, now.wall);
    session->acknowledged = session->answers;
    workers_[worker] = {link.transport, link.peer};
    link.transport->admit(link.peer);
    tell(link, welcome_back(*session));
    tell_environment(link);
    say("worker " + std::to_string(worker.value()) + " on " + session->record.host + " is back");
    react(core::WorkerBack{worker, std::move(message.holding)}, now);
}

// The peer learns why. A worker that does not keep to the protocol gets no second chance in this session.
void Manager::refuse(Link& link, const std::string& why, core::Now now) {
    send_away(link, wire::Refused{wire::protocol_version, why}, why, now);
}

void Manager::send_away(Link& link, const wire::Message& last, const std::string& why, core::Now now) {
    const LinkKey key{link.transport, link.peer};
    tell(link, last);
    link.outbox->flush();
    link.transport->close(link.peer);
    if (!link.record && !finished_) say("refused a worker from " + link.address + ": " + why);
    drop(key, why, stats::Departure::failure, now);
}

// A worker that was only slow, as on a machine that slept, may call again: it is not told that it is refused.
void Manager::send_silent_away(core::Now now) {
    while (!unheard_.empty() && unheard_.front().first <= now.instant) {
        const auto found = links_.find(unheard_.front().second);
        unheard_.pop_front();
        if (found == links_.end() || found->second.record || now.instant < found->second.hello_until)
            continue;
        const std::string why = "it said no hello within " + format_duration(options_.hello_limit);
        send_away(found->second, wire::Dismiss{why, false}, why, now);
    }
}

// Whether it said what only a worker says that has been welcomed.
bool Manager::out_of_turn(Link& link, core::Now now) {
    if (link.record) return false;
    if (link.stranger) refuse(link, "it did not say hello first", now);
    return true;
}

void Manager::count_answer(Link& link) {
    if (link.session == nullptr) return;
    if (link.session->answers++ == link.session->acknowledged) unacknowledged_.push_back(link.record->worker);
}

void Manager::acknowledge_answers() {
    for (const WorkerId worker : unacknowledged_) {
        Session* const session = sessions_.find(worker);
        Link* const link = link_of(worker);
        if (session == nullptr || link == nullptr) continue;
        session->acknowledged = session->answers;
        tell(*link, wire::Acknowledged{session->answers});
    }
    unacknowledged_.clear();
}

void Manager::on_message(Link& link, const wire::RangeEnded& message, core::Now now) {
    if (out_of_turn(link, now)) return;
    count_answer(link);
    core::Outcome times;
    times.started_us = message.started_us;
    times.wall_us = message.wall_us;
    make_plausible(times);
    react(core::RangeReported{link.record->worker, message.batch, message.done, times.started_us,
                              times.wall_us},
          now);
}

void Manager::on_message(Link& link, const wire::Draining&, core::Now now) {
    if (out_of_turn(link, now)) return;
    leaving_.insert(link.record->worker);
    react(core::WorkerDraining{link.record->worker}, now);
}

// Its link is gone. A worker over TCP may come back.
void Manager::on_cut(LinkKey key, const std::string& why, core::Now now) {
    const auto found = links_.find(key);
    if (found == links_.end()) return;
    Session* const session = found->second.session;
    if (session == nullptr || options_.reactor.away_limit <= Duration{0} || finished_)
        return drop(key, why, stats::Departure::failure, now);
    links_.erase(found);
    const WorkerId worker = session->record.worker;
    workers_.erase(worker);
    session->acknowledged = session->answers;
    if (desk_) desk_->cut(worker);
    say("worker " + std::to_string(worker.value()) + " on " + session->record.host + " is cut off: " + why +
        "; it may come back within " + format_duration(options_.reactor.away_limit));
    react(core::WorkerAway{worker, why}, now);
}

// Of a worker that is away.
void Manager::end_session(WorkerId worker, const std::string& why, stats::Departure departure,
                          core::Now now) {
    const Session* const session = sessions_.find(worker);
    if (session == nullptr) return;
    const stats::WorkerRecord record = session->record;
    sessions_.close(worker);
    forget_files(worker);
    note_departure(record, why, departure, now);
}

}  // namespace wq::app
