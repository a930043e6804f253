#include "manager/manager.h"

#include <algorithm>

namespace wq::manager {

namespace {

// Messages of a peer over TCP that are handled in a turn, so that one that floods us does not delay the
// others: some 5 ms at most.
constexpr std::size_t share_of_turn = 500;

SessionOptions session_options(const ManagerOptions& options) {
    SessionOptions sessions;
    sessions.disconnect_limit = options.disconnect_limit;
    sessions.hello_limit = options.hello_limit;
    sessions.of_rank.output_limit = options.output_limit;
    sessions.of_tcp_worker = sessions.of_rank;
    sessions.of_tcp_worker.directory = options.directory;
    sessions.of_tcp_worker.index_variable = options.index_variable;
    sessions.of_tcp_worker.mark_path = options.mark_path;
    sessions.of_tcp_worker.mark = options.mark;
    sessions.ranks_share_files = !options.mark_path.empty();
    sessions.lends_memory = options.lends_memory;
    sessions.tcp_workers_end_with_us = options.ends_workers;
    return sessions;
}

}  // namespace

Manager::Manager(ManagerOptions options, TaskTexts& tasks, records::recorder::Recorder& recorder,
                 engine::model::Now started)
    : hello_limit_(options.hello_limit),
      beat_(options.beat),
      tasks_(tasks),
      reactor_(options.reactor, started),
      next_beat_(started.instant),
      environment_(links_),
      tickets_(tasks, options.counters),
      records_({std::move(options.categories), std::move(options.earlier_attempts), options.output_limit},
               tasks, recorder, *this),
      changes_(recorder, *this),
      series_(recorder, options.sample_every, started.instant),
      storage_({options.most_unwritten_bytes, options.storage_retry_limit}, recorder, *this),
      leases_(tasks, links_, records_, *this, options.background),
      notices_({environment_, leases_, tickets_, records_, release_, changes_}),
      sessions_(session_options(options), links_, *this, notices_),
      release_(sessions_, links_, *this),
      answers_(links_, clock),
      messages_({links_, sessions_, leases_, tickets_, environment_, release_, records_, answers_,
                 !options.mark_path.empty()},
                *this),
      performer_({links_, leases_, tickets_, sessions_, messages_, records_, storage_, times_}, *this,
                 std::move(options.how_to_keep_hosts), clock) {
    sessions_.keep_numbers(options.ranks);
}

// ---- the task source, and a program ----

void Manager::add(const engine::model::TaskRange& range, const IntervalSet& done, const IntervalSet& failed,
                  engine::model::Now now) {
    records_.succeeded_earlier(done.count());
    react(engine::model::TasksAdded{range, done, failed}, now);
}

void Manager::end_input(engine::model::Now now) {
    tasks_.input_ended();
    react(engine::model::InputEnded{}, now);
}

void Manager::add_environment_line(std::uint64_t position, std::string text,
                                   std::vector<std::uint32_t> workers) {
    environment_.add(position, std::move(text), std::move(workers));
}

void Manager::set_category(const std::string& name, engine::model::CategorySet what, engine::model::Now now) {
    what.category = category(name);
    react(what, now);
}

// ---- what comes in ----

bool Manager::on_arrival(net::frames::Transport& from, const net::frames::Arrival& arrival,
                         engine::model::Now now) {
    if (const auto* joined = std::get_if<net::frames::Joined>(&arrival)) {
        links_.open(from, *joined, hello_limit_, now.instant);
        return true;
    }
    const LinkKey key{&from, std::visit([](const auto& known) { return known.peer; }, arrival)};
    Link* const link = links_.find(key);
    if (link == nullptr) return true;
    if (!link->waiting.empty()) {
        link->waiting.push_back(arrival);
        return true;
    }
    std::size_t begun = 0;
    bool says_more = true;
    if (!take(key, arrival, begun, says_more, now)) {
        from.hold_back(key.second, true);
        keep_waiting(key, arrival, begun);
    }
    return says_more;
}

// Returns whether all of it is handled; else `begun` bytes are, and the share of its peer is used up.
bool Manager::take(LinkKey key, const net::frames::Arrival& arrival, std::size_t& begun, bool& says_more,
                   engine::model::Now now) {
    if (const auto* left = std::get_if<net::frames::Left>(&arrival)) {
        sessions_.on_disconnect(key, *left, now);
        return true;
    }
    Link& link = *links_.find(key);
    if (std::exchange(link.turn, turn_) != turn_) link.share = share_of_turn;
    std::size_t share = link.untrusted ? link.share : SIZE_MAX;
    if (share == 0) return false;
    const std::string& bytes = std::get<net::frames::Frame>(arrival).bytes;
    const Instant before = clock();
    const Duration sent_before = times_.sending();
    const WorkerMessages::Heard heard = messages_.on_frame(link, bytes, begun, share, now);
    const Duration sent = times_.sending() - sent_before;  // dispatched in response
    using Carried = ManagerTimes::Carried;
    times_.received(clock() - before - sent,
                    heard == WorkerMessages::Heard::results ? Carried::work : Carried::upkeep);
    says_more = heard != WorkerMessages::Heard::beat;
    Link* const still_there = links_.find(key);
    if (still_there == nullptr) return true;
    still_there->share = share;
    return begun == bytes.size();
}

void Manager::keep_waiting(LinkKey key, net::frames::Arrival arrival, std::size_t begun) {
    Link& link = *links_.find(key);
    link.waiting.push_front(std::move(arrival));
    link.begun = begun;
    waiting_.push_back(key);
}

void Manager::take_waiting(engine::model::Now now) {
    ++turn_;
    for (const LinkKey& key : std::exchange(waiting_, {})) {
        bool all = true;
        for (Link* link = links_.find(key); all && link != nullptr; link = links_.find(key)) {
            if (link->waiting.empty()) {
                key.first->hold_back(key.second, false);
                break;
            }
            net::frames::Arrival arrival = std::move(link->waiting.front());
            link->waiting.pop_front();
            std::size_t begun = std::exchange(link->begun, 0);
            bool says_more = false;
            all = take(key, arrival, begun, says_more, now);
            if (!all) keep_waiting(key, std::move(arrival), begun);
        }
    }
}

// ---- what goes out ----

// Events raised by an action wait until the other actions are done, so newer decisions never overtake older
// ones.
void Manager::react(const engine::model::Event& event, engine::model::Now now) {
    if (acting_) {
        raised_.emplace_back(event, now);
        return;
    }
    acting_ = true;
    handle_event(event, now);
    while (!raised_.empty()) {
        const auto [next, at] = std::move(raised_.front());
        raised_.pop_front();
        handle_event(next, at);
    }
    acting_ = false;
}

void Manager::handle_event(const engine::model::Event& event, engine::model::Now now) {
    actions_.clear();
    const WorkerChanges::Standing before = changes_.standing_before(event);
    reactor_.on(event, now, actions_);
    changes_.note(event, before, actions_, now);
    performer_.perform(actions_, now);
}

// ---- the run ----

void Manager::stop(engine::model::StopReason reason, Duration grace, engine::model::Now now) {
    if (finished()) storage_.give_up();
    react(engine::model::StopRequested{reason, grace}, now);
}

const records::journal::WorkerRecord* Manager::worker(WorkerId id) const {
    if (const records::journal::WorkerRecord* const over_tcp = sessions_.of_tcp(id)) return over_tcp;
    const Link* const link = links_.of(id);
    return link == nullptr ? nullptr : &*link->record;
}

bool Manager::over() const {
    // A stop ends the wait for a full disk, also if all tasks ended after it.
    return finished() && (reactor_.stopping() || storage_.gave_up() || records_.all_written());
}

void Manager::tick(engine::model::Now now) {
    take_waiting(now);
    storage_.tick(now);
    sessions_.dismiss_silent(now);
    release_.tick(now);
    answers_.tick();
    if (const auto at = reactor_.wakeup(); at && now.instant >= *at) react(engine::model::Tick{}, now);
    if (now.instant >= next_beat_) {
        for (auto& [key, link] : links_.all())
            if (link.record && link.session == nullptr) links_.send_message(link, net::messages::Beat{});
        next_beat_ = now.instant + beat_;
    }
    if (now.instant >= series_.next() && series_.take(stats(), now)) note_waiting(now);
}

// A shape that fits no worker costs up to some 100 us, and may be a row: 100 of them are looked at once a
// second; at once, if the first worker has come or the last one has gone.
constexpr Duration pause_by_shape = std::chrono::milliseconds(10);

void Manager::note_waiting(engine::model::Now now) {
    const bool has_workers = reactor_.workers().size() > reactor_.workers().disconnected_count();
    if (now.instant < next_waiting_ && has_workers == had_workers_) return;
    if (!records_.wants_waiting()) return;
    had_workers_ = has_workers;
    const auto waiting = reactor_.waiting();
    next_waiting_ = now.instant + static_cast<std::int64_t>(waiting.size()) * pause_by_shape;
    records_.note_waiting(waiting, now);
}

std::optional<Instant> Manager::wakeup() const {
    if (!waiting_.empty() || answers_.waits()) return Instant{};
    Instant next = std::min(next_beat_, series_.next());
    for (const auto& at : {reactor_.wakeup(), links_.next_hello_limit(), storage_.wakeup()})
        if (at) next = std::min(next, *at);
    return next;
}

void Manager::flush() {
    sessions_.acknowledge_answers();
    if (!links_.has_unsent()) return;
    const Instant before = clock();
    const bool tasks = links_.flush();
    times_.sent(clock() - before, tasks ? ManagerTimes::Carried::work : ManagerTimes::Carried::upkeep);
}

void Manager::dismiss_all(const std::string& why, engine::model::Now now) {
    sessions_.dismiss_all(why, now);
    flush();
}

engine::model::ManagerStats Manager::with_own(engine::model::ManagerStats stats) const {
    times_.fill(stats);
    stats.workers_init = static_cast<std::int64_t>(links_.without_hello());
    stats.bytes_received = messages_.bytes_received();
    if (const files::transfers::FileTransfers* const transfers = leases_.transfers()) {
        const files::transfers::TransferTally& tally = transfers->tally();
        stats.bytes_sent = tally.bytes_sent();
        stats.bytes_received += tally.bytes_received();
        stats.bandwidth = tally.bandwidth();
    }
    stats.workers_released = release_.released();
    stats.workers_idled_out = messages_.idled_out();
    stats.tasks_with_results = records_.unwritten();
    stats.workers_wanted = wanted_;
    stats.workers_pending = pending_;
    return stats;
}

engine::model::ManagerStats brief_stats(const engine::policies::Reactor& reactor) {
    engine::model::ManagerStats stats;
    const engine::model::Ledger& ledger = reactor.ledger();
    const engine::model::WorkerTable& workers = reactor.workers();
    stats.workers_connected = static_cast<std::int64_t>(workers.size() - workers.disconnected_count());
    stats.tasks_waiting = static_cast<std::int64_t>(ledger.count(engine::model::TaskState::blocked) +
                                                    ledger.count(engine::model::TaskState::ready));
    stats.tasks_submitted = static_cast<std::int64_t>(ledger.size());
    return stats;
}

void WorkerNotices::joined(const Link& link, const net::messages::Hello& hello) {
    const records::journal::WorkerRecord& worker = *link.record;
    if (link.takes_tickets) to_.tickets.joined(worker.host, worker.offers.cores.rounded_down());
    if (files::transfers::FileTransfers* const transfers = to_.leases.transfers())
        transfers->joined(worker.worker, hello.node);
    to_.records.joined(worker);
    to_.changes.joined(worker);
}

void WorkerNotices::disconnected(WorkerId worker) {
    if (files::transfers::FileTransfers* const transfers = to_.leases.transfers()) transfers->cut(worker);
}

void WorkerNotices::unlinked(const Link& link) {
    if (link.takes_tickets) to_.tickets.left(link.record->host, link.record->offers.cores.rounded_down());
}

void WorkerNotices::departed(const records::journal::WorkerRecord& worker, const std::string& why,
                             records::journal::Departure departure, engine::model::Now now) {
    to_.leases.forget(worker.worker);
    to_.release.departed(worker.worker);
    to_.records.departed(worker, why, departure, now);
    to_.changes.left(worker.worker, why, now);
}

}  // namespace wq::manager
