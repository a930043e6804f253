#include "app/manager.h"

#include <algorithm>

#include "base/units.h"
#include "stats/transactions.h"

namespace wq::app {

namespace {
// After so many samples the time between them doubles: a run of a week stays below 10,000 rows.
constexpr std::uint64_t samples_before_doubling = 600;
constexpr Duration longest_between_samples = std::chrono::minutes(5);
}  // namespace

Manager::Manager(ManagerOptions options, TaskTable& tasks, stats::Recorder& recorder, core::Now started)
    : options_(std::move(options)),
      tasks_(tasks),
      recorder_(recorder),
      reactor_(options_.reactor, started),
      office_(tasks, options_.counter),
      next_beat_(started.instant),
      next_sample_(started.instant),
      sample_every_(options_.sample_every) {
    for (const std::string& name : options_.categories) {
        category_ids_.emplace(name, static_cast<std::uint32_t>(category_ids_.size()));
        categories_.push_back(name);
    }
}

CategoryId Manager::category(const std::string& name) {
    const auto next = static_cast<std::uint32_t>(category_ids_.size());
    const auto [found, added] = category_ids_.try_emplace(name, next);
    if (added) {
        categories_.push_back(name);
        recorder_.category(found->second, name);
    }
    return found->second;
}

// ---- the task source ----

void Manager::add(const core::TaskRange& range, const IntervalSet& done, const IntervalSet& failed, core::Now now) {
    react(core::TasksAdded{range, done, failed}, now);
}

void Manager::add_barrier(core::Now now) { react(core::BarrierAdded{}, now); }

void Manager::end_input(core::Now now) {
    tasks_.input_ended();
    react(core::InputEnded{}, now);
}

void Manager::add_environment_line(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers) {
    environment_.push_back({position, std::move(text), std::move(workers)});
    for (auto& [key, link] : links_) tell_environment(link);
}

void Manager::tell_environment(Link& link) {
    if (!link.record) return;
    for (; link.told_environment < environment_.size(); ++link.told_environment) {
        const EnvironmentLine& line = environment_[link.told_environment];
        const bool applies = line.workers.empty() || std::find(line.workers.begin(), line.workers.end(),
                                                               link.record->worker.value()) != line.workers.end();
        if (applies) link.outbox->put(wire::EnvironmentLine{line.position, line.text});
    }
}

// ---- workers ----

void Manager::on_arrival(transport::Transport& from, const transport::Arrival& arrival, core::Now now) {
    if (const auto* joined = std::get_if<transport::Joined>(&arrival)) {
        Link& link = links_[{&from, joined->peer}];
        link.transport = &from;
        link.peer = joined->peer;
        link.address = joined->address;
        link.outbox.emplace(from, joined->peer);
    } else if (const auto* frame = std::get_if<transport::Frame>(&arrival)) {
        if (const auto link = links_.find({&from, frame->peer}); link != links_.end()) on_frame(link->second, frame->bytes, now);
    } else {
        const auto& left = std::get<transport::Left>(arrival);
        drop({&from, left.peer}, left.why, true, now);
    }
}

void Manager::on_frame(Link& link, const std::string& bytes, core::Now now) {
    const LinkKey key{link.transport, link.peer};
    if (link.record) react(core::WorkerHeard{link.record->worker}, now);
    ByteReader in(bytes);
    while (in.ok() && !in.at_end()) {
        auto message = wire::decode(in);
        if (!message) {
            link.transport->close(link.peer);
            return drop(key, "it sent bytes that are no message", true, now);
        }
        std::visit([&](auto& known) { on_message(link, known, now); }, *message);
        if (!links_.contains(key)) return;
    }
}

void Manager::on_message(Link& link, wire::Hello& message, core::Now now) {
    if (message.version != wire::protocol_version) {
        link.outbox->put(wire::Welcome{});
        link.outbox->flush();
        link.transport->close(link.peer);
        return drop({link.transport, link.peer}, "it speaks protocol " + std::to_string(message.version) + ", not " +
                                                     std::to_string(wire::protocol_version), true, now);
    }
    stats::WorkerRecord record;
    record.worker = WorkerId(message.rank);
    record.host = message.host;
    link.address = message.host + ":rank " + std::to_string(message.rank);
    record.address = link.address;
    record.rank = message.rank;
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
    if (message.leaves_at) joined.leaves_at = now.instant + std::chrono::microseconds(*message.leaves_at - now.wall);
    react(joined, now);
}

void Manager::on_message(Link& link, wire::Ended& message, core::Now now) {
    if (!link.record) return;
    output_ = &message.output;
    times_.bytes_received += static_cast<std::int64_t>(message.output.out.size() + message.output.err.size());
    react(core::TaskReported{link.record->worker, message.task, message.attempt, std::move(message.outcome)}, now);
    output_ = nullptr;
}

void Manager::on_message(Link& link, const wire::GivenBack& message, core::Now now) {
    if (link.record) react(core::TaskGivenBack{link.record->worker, message.task, message.attempt}, now);
}

void Manager::on_message(Link& link, const wire::Account& message, core::Now now) {
    if (link.record) react(core::TicketsReported{link.record->worker, message.batch, message.holding, message.saw_dry}, now);
}

void Manager::on_message(Link& link, const wire::WantTickets& message, core::Now) {
    if (!link.takes_tickets || !link.record) return;
    const std::int64_t least = std::max<std::int64_t>(pool_cores_[link.record->host], 1);
    link.outbox->put(office_.next(message.batch, std::max<std::uint64_t>(pool_cores_.size(), 1), static_cast<std::uint64_t>(least)));
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

void Manager::on_message(Link& link, const wire::Remark& message, core::Now) {
    const std::string who = link.record ? "worker " + std::to_string(link.record->worker.value()) + " on " + link.record->host : link.address;
    say(who + ": " + message.text);
}

void Manager::on_message(Link&, const wire::Beat&, core::Now) {}

void Manager::drop(LinkKey key, const std::string& why, bool lost, core::Now now) {
    const auto found = links_.find(key);
    if (found == links_.end()) return;
    const auto record = found->second.record;
    if (found->second.takes_tickets) {
        const auto host = pool_cores_.find(record->host);
        host->second -= record->offers.cores;
        if (host->second <= 0) pool_cores_.erase(host);
    }
    links_.erase(found);
    if (lost) lost_a_worker_ = true;
    if (!record) return;
    const auto current = workers_.find(record->worker);
    if (current == workers_.end() || current->second != key) return;  // it has joined anew on another connection
    workers_.erase(current);
    stats::WorkerRecord ended = *record;
    ended.left_us = now.wall;
    ended.why_left = why;
    recorder_.worker(ended);
    if (!finished_) say("worker " + std::to_string(ended.worker.value()) + " on " + ended.host + (lost ? " was lost: " : " left: ") + why);
    react(core::WorkerLeft{ended.worker, why, lost}, now);
}

Manager::Link* Manager::link_of(WorkerId worker) {
    const auto key = workers_.find(worker);
    if (key == workers_.end()) return nullptr;
    const auto link = links_.find(key->second);
    return link == links_.end() ? nullptr : &link->second;
}

// ---- actions ----

void Manager::react(const core::Event& event, core::Now now) {
    const std::size_t first = actions_.size();
    reactor_.on(event, now, actions_);
    // An action may raise another event; its actions stand behind ours and are done by that call.
    std::vector<core::Action> mine(std::make_move_iterator(actions_.begin() + static_cast<std::ptrdiff_t>(first)),
                                   std::make_move_iterator(actions_.end()));
    actions_.resize(first);
    for (core::Action& action : mine) act(action, now);
}

void Manager::act(core::Action& action, core::Now now) {
    const auto send = [&](WorkerId worker, const wire::Message& message) {
        if (Link* link = link_of(worker)) link->outbox->put(message);
    };
    if (auto* lease = std::get_if<core::Lease>(&action)) return act_on(*lease, now);
    if (auto* ended = std::get_if<core::AttemptEnded>(&action)) return act_on(*ended, now);
    if (auto* skipped = std::get_if<core::Skipped>(&action)) return act_on(*skipped, now);
    if (auto* dismiss = std::get_if<core::Dismiss>(&action)) return act_on(*dismiss, now);
    if (auto* kill = std::get_if<core::Kill>(&action)) return send(kill->worker, wire::Kill{kill->task, kill->attempt});
    if (auto* all = std::get_if<core::KillAll>(&action)) return send(all->worker, wire::KillAll{});
    if (auto* recall = std::get_if<core::Recall>(&action)) return send(recall->worker, wire::Recall{recall->most});
    if (auto* seal = std::get_if<core::Seal>(&action)) {
        wire::SealedBatch sealed = office_.open(*seal);
        sealed.nodes = static_cast<std::uint32_t>(std::max<std::size_t>(pool_cores_.size(), 1));
        return tell_pool(sealed);
    }
    if (auto* revoke = std::get_if<core::Revoke>(&action)) {
        office_.revoke(revoke->batch);
        return tell_pool(wire::RevokedBatch{revoke->batch});
    }
    if (auto* over = std::get_if<core::BatchOver>(&action)) return office_.close(over->batch);
    if (auto* warning = std::get_if<core::Warning>(&action)) return say(warning->text);
    if (auto* finished = std::get_if<core::Finished>(&action)) finished_ = *finished;
}

void Manager::act_on(core::Lease& action, core::Now now) {
    Link* link = link_of(action.worker);
    if (link == nullptr) return;
    TaskText text = tasks_.text(action.task);
    wire::Lease lease;
    lease.task = action.task;
    lease.attempt = action.attempt;
    lease.give = action.give;
    lease.timeout = action.timeout;
    lease.memory_limit_mb = action.memory_limit_mb;
    lease.environment_position = text.environment_position;
    lease.text = std::move(text.command);
    lease.variables = std::move(text.variables);
    link->outbox->put(lease);
    note_dispatch(action.task, action.attempt, action.category, *link, action.give, action.submitted_us, now.wall);
}

void Manager::note_dispatch(TaskId task, Attempt attempt, CategoryId category, const Link& link, const core::Resources& given,
                            WallMicros submitted_us, WallMicros dispatched_us) {
    if (attempt == 1)
        recorder_.transaction(submitted_us, stats::task_waiting_text(task, categories_[category.value()], given));
    recorder_.transaction(dispatched_us, stats::task_running_text(task, link.address, given));
}

void Manager::act_on(core::AttemptEnded& action, core::Now now) {
    stats::Recorded recorded;
    stats::TaskRecord& record = recorded.record;
    record.task = action.task;
    record.key = tasks_.key(action.task);
    record.attempt = action.attempt;
    record.final = action.final;
    record.worker = action.worker;
    record.category = action.category;
    record.given = action.given;
    record.submitted_us = action.submitted_us;
    record.dispatched_us = action.dispatched_us;
    record.received_us = now.wall;
    record.outcome = std::move(action.outcome);
    const TaskText text = tasks_.text(action.task);
    record.line = text.line;
    recorded.command = text.command;
    if (output_ != nullptr) recorded.output = std::move(*output_);
    output_ = nullptr;
    const Link* link = link_of(action.worker);
    if (action.by_ticket && link != nullptr)
        note_dispatch(action.task, action.attempt, action.category, *link, action.given, action.submitted_us, action.dispatched_us);
    if (record.final && !record.outcome.succeeded()) {
        failures_.add({action.task, action.attempt, text.line, link != nullptr ? link->record->host : "", text.command, record.outcome,
                       last_lines(recorded.output.err, 5)});
    }
    ++recorded_;
    recorder_.task(std::move(recorded));
    if (!holding_ && recorder_.backlog_bytes() > options_.most_unwritten_bytes) on_recorder(now);
}

void Manager::act_on(core::Skipped& action, core::Now) {
    const std::uint64_t first = action.tasks.front()->first;
    SkippedExample example{action.reason, action.tasks.count(), tasks_.text(TaskId(first)).line, TaskId(first)};
    if (action.because) {
        const TaskText cause = tasks_.text(*action.because);
        example.reason = "a predecessor failed: " + (cause.line > 0 ? "line " + std::to_string(cause.line) + ": " : std::string()) +
                         quote_for_message(cause.command);
    }
    say(std::to_string(example.count) + (example.count == 1 ? " task" : " tasks") +
        (example.first_line > 0 ? " (first: line " + std::to_string(example.first_line) + ")" : "") + " can never run: " + example.reason);
    failures_.skip(std::move(example));
}

void Manager::act_on(core::Dismiss& action, core::Now now) {
    Link* link = link_of(action.worker);
    if (link == nullptr) return;
    link->outbox->put(wire::Dismiss{action.why, true});
    link->outbox->flush();
    link->transport->close(link->peer);
    drop({link->transport, link->peer}, action.why, action.lost, now);
}

// ---- the run ----

void Manager::stop(core::StopReason reason, Duration grace, core::Now now) {
    if (finished_) gave_up_ = true;
    react(core::StopRequested{reason, grace}, now);
}

bool Manager::over() const {
    return finished_ && (finished_->stopped || gave_up_ || recorder_.acknowledged() >= recorded_);
}

void Manager::on_recorder(core::Now now) {
    recorder_.settle();
    for (const std::string& notice : recorder_.notices()) say(notice);
    const auto trouble = recorder_.trouble();
    if (trouble && !trouble_since_) {
        trouble_since_ = now.instant;
        say(*trouble + "; no task is started until it can be written, which is tried for " +
            format_duration(options_.storage_patience));
    } else if (!trouble && trouble_since_) {
        trouble_since_.reset();
        say("results can be written again");
    }
    const std::uint64_t limit = options_.most_unwritten_bytes;
    const bool hold = trouble || recorder_.backlog_bytes() > (holding_ ? limit / 2 : limit);
    if (hold == holding_) return;
    holding_ = hold;
    react(core::StorageTrouble{hold}, now);
}

void Manager::watch_storage(core::Now now) {
    if (gave_up_ || !trouble_since_ || now.instant < *trouble_since_ + options_.storage_patience) return;
    gave_up_ = true;
    stop(core::StopReason::storage, Duration{0}, now);
}

void Manager::tick(core::Now now) {
    watch_storage(now);
    if (const auto at = reactor_.wakeup(); at && now.instant >= *at) react(core::Tick{}, now);
    if (now.instant >= next_beat_) {
        for (auto& [key, link] : links_)
            if (link.record) link.outbox->put(wire::Beat{});
        next_beat_ = now.instant + options_.beat;
    }
    if (now.instant >= next_sample_) {
        recorder_.sample({now.wall, stats()});
        if (++samples_ % samples_before_doubling == 0) sample_every_ = std::min(2 * sample_every_, longest_between_samples);
        next_sample_ = now.instant + sample_every_;
    }
}

std::optional<Instant> Manager::wakeup() const {
    Instant next = std::min(next_beat_, next_sample_);
    if (const auto at = reactor_.wakeup()) next = std::min(next, *at);
    if (trouble_since_ && !gave_up_) next = std::min(next, *trouble_since_ + options_.storage_patience);
    return next;
}

void Manager::flush() {
    for (auto& [key, link] : links_) link.outbox->flush();
}

void Manager::dismiss_all(const std::string& why) {
    for (auto& [key, link] : links_) link.outbox->put(wire::Dismiss{why, lost_a_worker_});
    flush();
}

core::ManagerStats Manager::stats() const {
    core::ManagerStats stats = reactor_.stats();
    stats.time_polling = times_.time_polling;
    stats.time_internal = times_.time_internal;
    stats.bytes_received = times_.bytes_received;
    const double busy = static_cast<double>(times_.time_internal);
    const double all = busy + static_cast<double>(times_.time_polling);
    stats.manager_load = all > 0 ? busy / all : 0;
    stats.tasks_with_results = static_cast<std::int64_t>(recorded_ - recorder_.acknowledged());
    return stats;
}

void Manager::count_time(Duration polling, Duration internal) {
    const auto micros = [](Duration time) { return std::chrono::duration_cast<std::chrono::microseconds>(time).count(); };
    times_.time_polling += micros(polling);
    times_.time_internal += micros(internal);
}

}  // namespace wq::app
