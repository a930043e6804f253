#include "manager/worker_sessions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/units.h"
#include "manager/run_records.h"

namespace wq::manager {

namespace {

// Smaller clock differences count as none: a hello takes up to that long to arrive.
constexpr std::int64_t least_difference_us = 1'000'000;

std::int64_t difference(WallMicros theirs, WallMicros ours) {
    constexpr std::int64_t most = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000;
    const std::int64_t ahead = std::clamp<std::int64_t>(theirs, 0, most) - ours;
    return ahead < least_difference_us && ahead > -least_difference_us ? 0 : ahead;
}

// What a peer says is not trusted.
Duration bounded(Duration said) {
    constexpr Duration longest = std::chrono::hours(24 * 3650);
    return std::clamp<Duration>(said, Duration{0}, longest);
}

engine::model::WorkerJoined joined(const net::messages::Hello& message, WorkerId worker,
                                   engine::model::Now now) {
    engine::model::WorkerJoined joined;
    joined.worker = worker;
    joined.host = message.host;
    joined.offers = message.offers;
    joined.takes_tickets = message.takes_tickets;
    joined.features = message.features;
    if (message.leaves_in) joined.leaves_at = now.instant + bounded(*message.leaves_in);
    return joined;
}

WallMicros micros_in(Duration duration) {
    return duration / std::chrono::microseconds(1);
}

WallMicros time_before(engine::model::Now now, const std::optional<Duration>& age) {
    return age ? std::max<WallMicros>(now.wall - micros_in(bounded(*age)), 0) : 0;
}

records::journal::WorkerRecord record_of(const net::messages::Hello& message, WorkerId worker,
                                         std::string address, engine::model::Now now) {
    records::journal::WorkerRecord record;
    record.worker = worker;
    record.host = message.host;
    record.address = std::move(address);
    record.offers = message.offers;
    record.joined_us = now.wall;
    record.process_started_us = time_before(now, message.process_age);
    record.job_started_us = time_before(now, message.job_age);
    if (message.leaves_in) record.job_ends_us = now.wall + micros_in(bounded(*message.leaves_in));
    record.allocated_cores = std::clamp<std::int64_t>(message.allocated_cores, 0, engine::model::most_size);
    record.job = message.job;
    record.os = message.os;
    record.arch = message.arch;
    return record;
}

std::string named(const records::journal::WorkerRecord& worker) {
    return "worker " + std::to_string(worker.worker.value()) + " on " + worker.host;
}

}  // namespace

WorkerSessions::WorkerSessions(SessionOptions options, Links& links, Router& router, WorkerEvents& events)
    : options_(std::move(options)), links_(links), router_(router), events_(events) {
    if (options_.lends_memory) make_memory_mark();
}

// Without a mark, no worker finds it.
void WorkerSessions::make_memory_mark() {
    const std::string token = net::session::random_token();
    const std::array<std::string_view, 2> parts{token, "\n"};
    memory_mark_ = MemoryFile::with(parts);
    if (!memory_mark_) return;
    for (net::messages::Welcome* const welcome : {&options_.of_rank, &options_.of_tcp_worker}) {
        welcome->memory_path = memory_mark_->path();
        welcome->memory_mark = token;
    }
}

void WorkerSessions::keep_numbers(std::uint32_t ranks) {
    if (ranks > 0) sessions_.keep_number(WorkerId(ranks - 1));
}

// ---- joining ----

void WorkerSessions::hello(Link& link, net::messages::Hello& message, engine::model::Now now) {
    if (link.session != nullptr) return refuse(link, "it said hello twice", now);
    if (link.record) return;  // a repeated hello of the same worker
    if (message.version != net::messages::protocol_version) return refuse_version(link, message.version, now);
    if (link.untrusted || !message.rank)
        welcome_tcp_worker(link, message, now);
    else
        welcome_rank(link, message, now);
}

void WorkerSessions::welcome_rank(Link& link, const net::messages::Hello& message, engine::model::Now now) {
    const std::uint32_t rank = *message.rank;
    link.address = message.host + ":rank " + std::to_string(rank);
    records::journal::WorkerRecord record = record_of(message, WorkerId(rank), link.address, now);
    record.rank = rank;
    sessions_.keep_number(record.worker);
    links_.assign(link, record);
    link.shares_files = options_.ranks_share_files;
    link.takes_tickets = message.takes_tickets;
    events_.joined(link, message);
    if (!message.remark.empty()) router_.print_line(message.remark);
    links_.send_message(link, options_.of_rank);
    events_.welcomed(link);
    router_.react(joined(message, record.worker, now), now);
}

void WorkerSessions::welcome_tcp_worker(Link& link, net::messages::Hello& message, engine::model::Now now) {
    if (const auto nonsense = net::session::nonsense_in(message)) return refuse(link, *nonsense, now);
    switch (sessions_.judge(message)) {
        case net::session::SessionTable::Claim::taken:
            return refuse(link, "another worker with this identity is connected", now);
        case net::session::SessionTable::Claim::comes_back:
            return reconnect(link, message, now);
        case net::session::SessionTable::Claim::anew:
            // It never received our welcome, so it has no tasks.
            if (const net::session::Session* old = sessions_.find(message.identity))
                end_session(*old, "it reconnected as a new worker", records::journal::Departure::asked, now);
            break;
        case net::session::SessionTable::Claim::first:
            break;
    }
    const records::journal::WorkerRecord record =
        record_of(message, sessions_.next_number(), link.address, now);
    link.session = &sessions_.open(message.identity, record);
    link.session->disconnect_limit = options_.disconnect_limit;
    begin_link(link, message, now);
    links_.assign(link, record);
    events_.joined(link, message);
    link.key.first->admit(link.key.second);
    if (!message.remark.empty()) router_.print_line(line_for_message(message.remark));
    links_.send_message(link, welcome(*link.session));
    events_.welcomed(link);
    engine::model::WorkerJoined event = joined(message, record.worker, now);
    event.takes_tickets = false;  // tickets are claimed in shared memory
    event.watched = true;
    router_.react(event, now);
}

void WorkerSessions::begin_link(Link& link, const net::messages::Hello& message, engine::model::Now now) {
    link.session->clock_ahead_us = difference(message.clock, now.wall);
    link.session->relayed = message.address != link.address;
    link.session->keeps = false;
}

void WorkerSessions::end_session(const net::session::Session& session, const std::string& why,
                                 records::journal::Departure departure, engine::model::Now now) {
    const WorkerId worker = session.record.worker;
    if (Link* const half_open = links_.of(worker)) {
        half_open->key.first->close(half_open->key.second);
        return drop(half_open->key, why, departure, now);
    }
    end(worker, why, departure, now);
    router_.react(engine::model::WorkerLeft{worker, why, departure == records::journal::Departure::failure},
                  now);
}

void WorkerSessions::reconnect(Link& link, net::messages::Hello& message, engine::model::Now now) {
    net::session::Session* const session = sessions_.find(message.identity);
    const WorkerId worker = session->record.worker;
    if (Link* const half_open = links_.of(worker)) {
        half_open->key.first->close(half_open->key.second);
        on_disconnect(half_open->key, {half_open->key.second, "it opened another connection"}, now);
        // Without a disconnect limit, and after the end, a disconnect ends the session.
        if (sessions_.find(worker) == nullptr) {
            message.resume.clear();
            return welcome_tcp_worker(link, message, now);
        }
    }
    link.session = session;
    session->confirmed = true;
    begin_link(link, message, now);
    session->acknowledged = session->answers;
    links_.assign(link, session->record);
    link.key.first->admit(link.key.second);
    links_.send_message(link, welcome(*session));
    events_.welcomed(link);
    router_.print_line(named(session->record) + " reconnected");
    router_.react(engine::model::WorkerReconnected{worker, std::move(message.holding)}, now);
}

net::messages::Welcome WorkerSessions::welcome(const net::session::Session& session) const {
    net::messages::Welcome welcome = options_.of_tcp_worker;
    welcome.worker = session.record.worker;
    welcome.resume = session.token;
    welcome.grace = net::session::grace_of(session.disconnect_limit);
    welcome.answers_received = session.answers;
    return welcome;
}

// ---- no workers ----

bool WorkerSessions::may_ask(Link& link, const net::messages::StatusQuery& query, engine::model::Now now) {
    const bool is_worker = link.record || !link.untrusted;
    if (is_worker)
        refuse(link, "a worker asked for the status", now);
    else if (query.version != net::messages::protocol_version)
        refuse_version(link, query.version, now);
    else
        return true;
    return false;
}

void WorkerSessions::handle_last_words(Link& link, const net::messages::LastWords& words,
                                       engine::model::Now now) {
    if (link.record || !link.untrusted) return refuse(link, "a worker said last words", now);
    if (words.version != net::messages::protocol_version) return refuse_version(link, words.version, now);
    links_.close(link, net::messages::Acknowledged{});
    links_.remove(link.key);
    net::session::Session* const session = sessions_.find(words.identity);
    if (session == nullptr || session->token != words.resume || router_.run_is_over()) return;
    const std::string why = "its process was killed";
    if (words.all_ended) return end_session(*session, why, records::journal::Departure::failure, now);
    session->keeps = true;
    if (links_.of(session->record.worker) != nullptr) return;
    router_.react(engine::model::WorkerDisconnected{session->record.worker,
                                                    why + ", but some process of its tasks could not be",
                                                    session->disconnect_limit},
                  now);
}

const records::journal::WorkerRecord* WorkerSessions::of_tcp(WorkerId worker) const {
    const net::session::Session* const session = sessions_.find(worker);
    return session == nullptr ? nullptr : &session->record;
}

// ---- answers ----

bool WorkerSessions::out_of_turn(Link& link, engine::model::Now now) {
    if (link.record) return false;
    if (link.untrusted) refuse(link, "its first message was not a hello", now);
    return true;
}

void WorkerSessions::count_answer(Link& link) {
    if (link.session == nullptr) return;
    if (link.session->answers++ == link.session->acknowledged) unacknowledged_.push_back(link.record->worker);
}

void WorkerSessions::acknowledge_answers() {
    for (const WorkerId worker : unacknowledged_) {
        net::session::Session* const session = sessions_.find(worker);
        Link* const link = links_.of(worker);
        if (session == nullptr || link == nullptr) continue;
        session->acknowledged = session->answers;
        links_.send_message(*link, net::messages::Acknowledged{session->answers});
    }
    unacknowledged_.clear();
}

// ---- leaving ----

void WorkerSessions::on_disconnect(LinkKey key, const net::frames::Left& left, engine::model::Now now) {
    const std::string& why = left.why;
    const Link* const link = links_.find(key);
    if (link == nullptr) return;
    net::session::Session* const session = link->session;
    if (session == nullptr || session->disconnect_limit <= Duration{0} || router_.run_is_over())
        return drop(key, why, records::journal::Departure::failure, now);
    links_.remove(key);
    session->acknowledged = session->answers;
    const WorkerId worker = session->record.worker;
    const bool ended = left.closed && !session->relayed && !session->keeps;
    const Duration limit = ended ? net::session::disconnect_limit_if_closed(session->disconnect_limit)
                                 : session->disconnect_limit;
    events_.disconnected(worker);
    router_.print_line(named(session->record) + " is disconnected: " + why +
                       "; it keeps its tasks, and may reconnect within " + format_duration(limit));
    router_.react(engine::model::WorkerDisconnected{worker, why, limit}, now);
}

void WorkerSessions::drop(LinkKey key, const std::string& why, records::journal::Departure departure,
                          engine::model::Now now) {
    const Link* const link = links_.find(key);
    if (link == nullptr) return;
    const bool lost = departure == records::journal::Departure::failure;
    // MPI_Finalize needs every rank, even one that said goodbye.
    if (link->session == nullptr && !link->untrusted && (lost || !router_.run_is_over())) lost_a_rank_ = true;
    const auto record = link->record;
    events_.unlinked(*link);
    if (!links_.remove(key)) return;  // it never said hello, or has joined again on another connection
    sessions_.close(record->worker);
    events_.departed(*record, why, departure, now);
    router_.react(engine::model::WorkerLeft{record->worker, why, lost}, now);
}

bool WorkerSessions::dismiss(WorkerId worker, const net::messages::Dismiss& last, const std::string& why,
                             records::journal::Departure departure, engine::model::Now now) {
    Link* const link = links_.of(worker);
    if (link == nullptr) return false;
    links_.close(*link, last);
    drop(link->key, why, departure, now);
    return true;
}

void WorkerSessions::end(WorkerId worker, const std::string& why, records::journal::Departure departure,
                         engine::model::Now now) {
    const net::session::Session* const session = sessions_.find(worker);
    if (session == nullptr) return;
    const records::journal::WorkerRecord record = session->record;
    sessions_.close(worker);
    events_.departed(record, why, departure, now);
}

void WorkerSessions::refuse(Link& link, const std::string& why, engine::model::Now now) {
    close(link, net::messages::Refused{net::messages::protocol_version, why}, why, now);
}

void WorkerSessions::refuse_version(Link& link, std::uint32_t theirs, engine::model::Now now) {
    refuse(link,
           "it speaks protocol " + std::to_string(theirs) + ", the manager " +
               std::to_string(net::messages::protocol_version),
           now);
}

void WorkerSessions::close(Link& link, const net::messages::Message& last, const std::string& why,
                           engine::model::Now now) {
    links_.close(link, last);
    if (!link.record && !router_.run_is_over())
        router_.print_line("refused a worker from " + link.address + ": " + why);
    drop(link.key, why, records::journal::Departure::failure, now);
}

// A worker that was only slow, for example because its machine slept, may connect again: it is not refused
// for good.
void WorkerSessions::dismiss_silent(engine::model::Now now) {
    while (Link* const link = links_.next_silent(now.instant)) {
        const std::string why = "it sent no hello within " + format_duration(options_.hello_limit);
        close(*link, net::messages::Dismiss{why, false}, why, now);
    }
}

void WorkerSessions::dismiss_all(const std::string& why, engine::model::Now now) {
    for (auto& [key, link] : links_.all())
        if (!link.asks_plainly)
            links_.send_message(link,
                                net::messages::Dismiss{why, lost_a_rank_,
                                                       options_.tcp_workers_end_with_us && link.untrusted});
    note_departures_at_the_end(why, now);
}

// Disconnected workers can no longer reconnect.
void WorkerSessions::note_departures_at_the_end(const std::string& why, engine::model::Now now) {
    for (const auto& [id, worker] : router_.reactor().workers().all()) {
        const Link* const link = links_.of(id);
        const net::session::Session* const session = sessions_.find(id);
        if (link != nullptr)
            events_.departed(*link->record, why, records::journal::Departure::asked, now);
        else if (session != nullptr)
            events_.departed(session->record, worker.disconnected_why, records::journal::Departure::failure,
                             now);
    }
}

std::size_t WorkerRelease::drain(const std::string& host, bool on, engine::model::Now now) {
    std::vector<WorkerId> there;  // includes disconnected workers: they may reconnect
    for (const auto& [id, worker] : router_.reactor().workers().all())
        if (worker.host == host) there.push_back(id);
    for (const WorkerId worker : there) {
        if (on)
            release(worker, now);
        else if (releasing_.erase(worker) > 0 && !leaving_.contains(worker))
            router_.react(engine::model::WorkerDraining{worker, false}, now);
    }
    if (on) dismiss_the_empty(now);
    return there.size();
}

WorkerRelease::Load WorkerRelease::load_of(const engine::model::Worker& worker) const {
    const std::size_t leases = worker.leases.size();
    return {leases == 0 && router_.reactor().may_run(worker) ? 1 : leases, worker.id};
}

std::size_t WorkerRelease::shut_down(std::size_t workers, engine::model::Now now) {
    std::vector<Load> those;
    for (const auto& [id, worker] : router_.reactor().workers().all())
        if (!releasing_.contains(id)) those.push_back(load_of(worker));
    std::sort(those.begin(), those.end());
    if (workers > 0 && workers < those.size()) those.resize(workers);
    for (const auto& [load, worker] : those) release(worker, now);
    dismiss_the_empty(now);
    return those.size();
}

void WorkerRelease::keep_at_most(const std::map<std::string, std::size_t>& of_factory,
                                 engine::model::Now now) {
    std::map<std::string, std::vector<Load>> workers;
    for (const auto& [id, worker] : router_.reactor().workers().all()) {
        if (releasing_.contains(id) || worker.disconnected()) continue;
        for (const std::string& feature : worker.features)
            if (feature.starts_with(engine::model::factory_feature))
                workers[feature.substr(engine::model::factory_feature.size())].push_back(load_of(worker));
    }
    for (auto& [factory, those] : workers) {
        const auto most = of_factory.find(factory);
        if (most == of_factory.end() || those.size() <= most->second) continue;
        std::sort(those.begin(), those.end());
        those.resize(those.size() - most->second);
        for (const auto& [load, worker] : those) release(worker, now);
    }
    if (!releasing_.empty()) dismiss_the_empty(now);
}

void WorkerRelease::tick(engine::model::Now now) {
    if (!releasing_.empty()) dismiss_the_empty(now);
}

void WorkerRelease::release(WorkerId worker, engine::model::Now now) {
    if (!releasing_.insert(worker).second) return;
    router_.react(engine::model::WorkerDraining{worker, true, true}, now);
}

void WorkerRelease::dismiss_the_empty(engine::model::Now now) {
    for (const WorkerId id : std::vector<WorkerId>(releasing_.begin(), releasing_.end())) {
        const engine::model::Worker* const worker = router_.reactor().workers().find(id);
        if (worker != nullptr && (worker->disconnected() || router_.reactor().may_run(*worker))) continue;
        releasing_.erase(id);
        const Link* const link = links_.of(id);
        if (link == nullptr) continue;
        const bool without_ranks = sessions_.lost_a_rank() || link->session == nullptr;
        ++released_;
        sessions_.dismiss(id, {"the manager released it", without_ranks, true}, told_to_leave,
                          records::journal::Departure::asked, now);
    }
}

}  // namespace wq::manager
