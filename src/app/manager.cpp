#include "app/manager.h"

#include <algorithm>
#include <utility>

#include "app/local_time.h"
#include "base/units.h"
#include "stats/transactions.h"

namespace wq::app {

namespace {
// After so many samples the time between them doubles: a run of a week stays below 10,000 rows.
constexpr std::uint64_t samples_before_doubling = 600;
constexpr Duration longest_between_samples = std::chrono::minutes(5);
}  // namespace

Manager::Manager(ManagerOptions options, TaskTexts& tasks, stats::Recorder& recorder, core::Now started)
    : options_(std::move(options)),
      tasks_(tasks),
      recorder_(recorder),
      reactor_(options_.reactor, started),
      office_(tasks, options_.counters),
      next_beat_(started.instant),
      next_sample_(started.instant),
      sample_every_(options_.sample_every) {
    if (options_.background != nullptr)
        desk_.emplace(
            *options_.background,
            [this](WorkerId worker, const wire::Message& message) {
                if (Link* const link = link_of(worker)) tell(*link, message);
            },
            [this](const FileDesk::Transfer& transfer) { note_transfer(transfer); });
    if (options_.ranks > 0) sessions_.keep_number(WorkerId(options_.ranks - 1));
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

void Manager::add(const core::TaskRange& range, const IntervalSet& done, const IntervalSet& failed,
                  core::Now now) {
    react(core::TasksAdded{range, done, failed}, now);
}

void Manager::add_barrier(core::Now now) {
    react(core::BarrierAdded{}, now);
}

void Manager::end_input(core::Now now) {
    tasks_.input_ended();
    react(core::InputEnded{}, now);
}

void Manager::add_environment_line(std::uint64_t position, std::string text,
                                   std::vector<std::uint32_t> workers) {
    environment_.push_back({position, std::move(text), std::move(workers)});
    for (auto& [key, link] : links_) tell_environment(link);
}

void Manager::tell_environment(Link& link) {
    if (!link.record) return;
    for (; link.told_environment < environment_.size(); ++link.told_environment) {
        const EnvironmentLine& line = environment_[link.told_environment];
        const bool applies =
            line.workers.empty() || std::find(line.workers.begin(), line.workers.end(),
                                              link.record->worker.value()) != line.workers.end();
        if (applies) tell(link, wire::EnvironmentLine{line.position, line.text});
    }
}

// ---- actions ----

void Manager::react(const core::Event& event, core::Now now) {
    const std::size_t first = actions_.size();
    reactor_.on(event, now, actions_);
    // An action may raise another event; its actions stand behind ours and are done by that call.
    std::vector<core::Action> mine(
        std::make_move_iterator(actions_.begin() + static_cast<std::ptrdiff_t>(first)),
        std::make_move_iterator(actions_.end()));
    actions_.resize(first);
    // Leases come in a row: one reading of the clock before them, and one after.
    std::optional<Instant> sending_since;
    for (core::Action& action : mine) {
        const bool lease = std::holds_alternative<core::Lease>(action);
        if (lease && !sending_since) sending_since = clock();
        if (!lease && sending_since) times_.sent(clock() - *std::exchange(sending_since, {}), true);
        act(action, now);
    }
    if (sending_since) times_.sent(clock() - *sending_since, true);
}

void Manager::act(core::Action& action, core::Now now) {
    const auto send = [&](WorkerId worker, const wire::Message& message) {
        if (Link* link = link_of(worker)) tell(*link, message);
    };
    if (auto* lease = std::get_if<core::Lease>(&action)) return act_on(*lease, now);
    if (auto* ended = std::get_if<core::AttemptEnded>(&action)) return act_on(*ended, now);
    if (auto* skipped = std::get_if<core::Skipped>(&action)) return act_on(*skipped, now);
    if (auto* dismiss = std::get_if<core::Dismiss>(&action)) return act_on(*dismiss, now);
    if (const auto* back = std::get_if<core::GoneBack>(&action)) {
        forget_files(back->task, back->attempt);
        if (recorder_.wants_beginning(back->task))
            note_waiting(back->task, back->category, now.wall, at_maximum(back->task));
        return;
    }
    if (auto* range = std::get_if<core::RangeEnded>(&action)) return act_on(*range, now);
    if (const auto* changed = std::get_if<core::CategoryChanged>(&action)) return act_on(*changed, now);
    if (auto* cancelled = std::get_if<core::Cancelled>(&action)) {
        cancelled->tasks.for_each([this](Interval part) { forget_files(part); });
        return recorder_.cancelled(cancelled->tasks, now.wall);
    }
    if (auto* kill = std::get_if<core::Kill>(&action))
        return send(kill->worker, wire::Kill{TaskId(kill->tasks.first), kill->attempt, kill->tasks.size()});
    if (auto* all = std::get_if<core::KillAll>(&action)) return send(all->worker, wire::KillAll{});
    if (auto* recall = std::get_if<core::Recall>(&action))
        return send(recall->worker, wire::Recall{recall->most});
    if (auto* seal = std::get_if<core::Seal>(&action)) {
        wire::SealedBatch sealed = office_.open(*seal);
        sealed.nodes = static_cast<std::uint32_t>(std::max<std::size_t>(pool_cores_.size(), 1));
        for (auto& [key, link] : links_)
            if (takes_part(link)) tell(link, sealed);
        tasks_unsent_ = true;
        return;
    }
    if (auto* revoke = std::get_if<core::Revoke>(&action)) {
        office_.revoke(revoke->batch);
        return tell_pool(wire::RevokedBatch{revoke->batch});
    }
    if (auto* over = std::get_if<core::BatchOver>(&action)) return office_.close(over->batch);
    if (auto* warning = std::get_if<core::Warning>(&action)) return say(warning->text);
    if (auto* aside = std::get_if<core::HostSetAside>(&action))
        return say("host " + aside->host + " gets no tasks until " + local_time(aside->until, "%H:%M:%S") +
                   ": " + aside->why +
                   (options_.how_to_keep_hosts.empty() ? "" : "; " + options_.how_to_keep_hosts));
    if (auto* released = std::get_if<core::HostReleased>(&action))
        return say("host " + released->host + " gets tasks again");
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
    lease.watch = action.watch;
    lease.environment_position = text.environment_position;
    lease.text = std::move(text.command);
    lease.variables = std::move(text.variables);
    lease.call = std::move(text.call);
    if (text.files && desk_ && !link->shares_files)
        return prepare(*link, action, std::move(lease), std::move(text.files));
    send_lease(*link, action, std::move(lease), now);
}

void Manager::send_lease(Link& link, const core::Lease& action, wire::Lease lease, core::Now now) {
    tell(link, std::move(lease));
    tasks_unsent_ = true;
    note_dispatch(action.task, action.attempt, action.category, link, action.give, action.submitted_us,
                  now.wall, at_maximum(action.task));
}

void Manager::note_dispatch(TaskId task, Attempt attempt, CategoryId category, const Link& link,
                            const core::Resources& given, WallMicros submitted_us, WallMicros dispatched_us,
                            bool at_maximum) {
    const stats::Recorder::Wants wants = recorder_.wants();
    if (!wants.transactions || !recorder_.wants_beginning(task)) return;
    if (attempt == 1 && wants.waiting) note_waiting(task, category, submitted_us, at_maximum);
    recorder_.transaction(dispatched_us, stats::task_running_text(task, link.address, given, at_maximum));
}

void Manager::note_waiting(TaskId task, CategoryId category, WallMicros when, bool at_maximum) {
    if (!recorder_.wants().transactions) return;
    const core::Needs& said = reactor_.ledger().shape(reactor_.ledger().shape_of(task)).needs;
    recorder_.transaction(
        when, stats::task_waiting_text({task.value(), task.value() + 1}, categories_[category.value()],
                                       requested(said, category, at_maximum), at_maximum));
}

core::Resources Manager::requested(const core::Needs& said, CategoryId category, bool at_maximum) const {
    core::Sizes sizes;
    const core::Category* const known = reactor_.category(category);
    const auto told = category_told_.find(category);
    if (at_maximum && known != nullptr) sizes = known->max();
    if (!at_maximum && told != category_told_.end()) sizes = told->second.first;
    return {said.cores >= 0 ? said.cores : Count::of_thousandths(sizes.cores),
            said.memory_mb >= 0 ? said.memory_mb : sizes.memory_mb,
            said.disk_mb >= 0 ? said.disk_mb : sizes.disk_mb,
            said.gpus >= 0 ? said.gpus : Count::of_thousandths(sizes.gpus)};
}

// Of one that has not ended.
bool Manager::at_maximum(TaskId task) const {
    return reactor_.ledger().shape(reactor_.ledger().shape_of(task)).at_maximum;
}

void Manager::act_on(const core::CategoryChanged& action, core::Now now) {
    core::CategoryChanged& told = category_told_[action.category];
    const auto same = [&](auto field) { return told.*field == action.*field; };
    if (same(&core::CategoryChanged::mode) && same(&core::CategoryChanged::max) &&
        same(&core::CategoryChanged::min) && same(&core::CategoryChanged::first))
        return;
    told = action;
    recorder_.category_changed({action.category, categories_[action.category.value()], action.mode,
                                action.max, action.min, action.first, now.wall});
}

void Manager::act_on(core::AttemptEnded& action, core::Now now) {
    forget_files(action.task, action.attempt);
    stats::Recorded recorded;
    stats::TaskRecord& record = recorded.record;
    record.task = action.task;
    record.key = tasks_.key(action.task);
    record.attempt = action.attempt;
    if (const auto earlier = options_.earlier_attempts.find(record.key.value);
        earlier != options_.earlier_attempts.end())
        record.attempt += earlier->second;
    record.final = action.final;
    record.out_of_tries = action.out_of_tries;
    record.worker = action.worker;
    record.category = action.category;
    record.given = action.given;
    record.submitted_us = action.submitted_us;
    record.dispatched_us = action.dispatched_us;
    record.received_us = now.wall;
    record.outcome = std::move(action.outcome);
    record.line = tasks_.line(action.task);
    if (recorder_.wants().commands) recorded.command = tasks_.command(action.task);
    if (output_ != nullptr && output_of_ == action.task)
        recorded.output = std::move(*std::exchange(output_, nullptr));
    const Link* link = link_of(action.worker);
    if (action.by_ticket && link != nullptr)
        note_dispatch(action.task, action.attempt, action.category, *link, action.given, action.submitted_us,
                      action.dispatched_us, false);
    if (record.outcome.ending != core::Ending::worker_lost &&
        record.outcome.ending != core::Ending::never_ran)
        ++ended_there_[action.worker];
    if (record.final && !record.outcome.succeeded()) {
        failures_.add({action.task, record.attempt, record.line, link != nullptr ? link->record->host : "",
                       tasks_.command(action.task), record.outcome, last_lines(recorded.output.err, 5), 1,
                       categories()[action.category.value()]});
    }
    const std::uint64_t longest = std::max(record.outcome.stdout_bytes, record.outcome.stderr_bytes);
    if (record.final && longest > options_.output_limit) ++outputs_cut_;
    ++recorded_;
    const core::Resources given = record.given;
    times_.ended(1, record.outcome.succeeded(), record.outcome.wall_us, given);
    recorder_.task(std::move(recorded));
    if (!action.final && !action.goes_on)
        note_waiting(action.task, action.category, now.wall, at_maximum(action.task));
    if (!holding_ && recorder_.backlog_bytes() > options_.most_unwritten_bytes) on_recorder(now);
}

void Manager::act_on(core::RangeEnded& action, core::Now now) {
    recorded_ += action.tasks.count();
    times_.ended(action.tasks.count(), true, action.wall_us, action.given);
    ended_there_[action.worker] += action.tasks.count();
    stats::RangeRecord record;
    record.worker = action.worker;
    record.tasks = std::move(action.tasks);
    record.category = action.category;
    record.given = action.given;
    record.started_us = action.started_us;
    record.wall_us = action.wall_us;
    record.received_us = now.wall;
    recorder_.range(record);
}

void Manager::act_on(core::Skipped& action, core::Now now) {
    const std::uint64_t first = action.tasks.front()->first;
    SkippedExample example{action.reason, action.detail, action.tasks.count(), tasks_.line(TaskId(first)),
                           TaskId(first), action.tasks};
    if (action.because) {
        example.reason = "a predecessor failed: " + place_of(*action.because, tasks_.line(*action.because));
        example.detail = line_for_message(tasks_.command(*action.because));
    }
    const std::string place = place_of(example.first, example.first_line);
    const std::string text =
        (example.count == 1 ? place : count_of(example.count, "task") + ", the first " + place + ",") +
        " can never run: " + example.reason + (example.detail.empty() ? "" : "; " + example.detail);
    recorder_.skipped(action.tasks, text, now.wall);
    if (failures_.skip(std::move(example))) say(text);
}

void Manager::act_on(core::Dismiss& action, core::Now now) {
    Link* link = link_of(action.worker);
    const auto departure = action.lost ? stats::Departure::failure : stats::Departure::asked;
    if (link == nullptr) return end_session(action.worker, action.why, departure, now);
    tell(*link, wire::Dismiss{action.why, true});
    link->outbox->flush();
    link->transport->close(link->peer);
    drop({link->transport, link->peer}, action.why, departure, now);
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
    send_silent_away(now);
    if (!let_go_.empty()) dismiss_the_empty(now);
    if (const auto at = reactor_.wakeup(); at && now.instant >= *at) react(core::Tick{}, now);
    if (now.instant >= next_beat_) {
        for (auto& [key, link] : links_)
            if (link.record && link.session == nullptr) tell(link, wire::Beat{});
        next_beat_ = now.instant + options_.beat;
    }
    if (now.instant >= next_sample_) {
        recorder_.sample({now.wall, stats()});
        if (++samples_ % samples_before_doubling == 0)
            sample_every_ = std::min(2 * sample_every_, longest_between_samples);
        next_sample_ = now.instant + sample_every_;
    }
}

std::optional<Instant> Manager::wakeup() const {
    Instant next = std::min(next_beat_, next_sample_);
    if (const auto at = reactor_.wakeup()) next = std::min(next, *at);
    if (!unheard_.empty()) next = std::min(next, unheard_.front().first);
    if (trouble_since_ && !gave_up_) next = std::min(next, *trouble_since_ + options_.storage_patience);
    return next;
}

void Manager::flush() {
    acknowledge_answers();
    if (unsent_.empty()) return;
    const Instant before = clock();
    for (const LinkKey& key : unsent_)
        if (const auto link = links_.find(key); link != links_.end()) link->second.outbox->flush();
    unsent_.clear();
    times_.sent(clock() - before, std::exchange(tasks_unsent_, false));
}

// A turn costs the links that have something to say, not those of a thousand idle workers.
void Manager::tell(Link& link, const wire::Message& message) {
    if (link.outbox->empty()) unsent_.emplace_back(link.transport, link.peer);
    link.outbox->put(message);
}

void Manager::dismiss_all(const std::string& why, core::Now now) {
    for (auto& [key, link] : links_)
        tell(link, wire::Dismiss{why, lost_a_worker_, options_.ends_workers && link.stranger});
    flush();
    note_departures_at_the_end(why, now);
}

core::ManagerStats Manager::stats() const {
    return with_own(reactor_.stats());
}

core::ManagerStats Manager::stats(CategoryId category) const {
    return with_own(reactor_.stats(category));
}

core::ManagerStats Manager::with_own(core::ManagerStats stats) const {
    times_.fill(stats);
    stats.workers_init =
        std::count_if(links_.begin(), links_.end(), [](const auto& link) { return !link.second.record; });
    stats.bytes_received = own_stats_.bytes_received;
    if (desk_) {
        stats.bytes_sent = desk_->traffic().bytes_sent;
        stats.bytes_received += desk_->traffic().bytes_received;
        stats.bandwidth = desk_->traffic().bandwidth();
    }
    stats.workers_released = own_stats_.workers_released;
    stats.workers_idled_out = own_stats_.workers_idled_out;
    stats.tasks_with_results = static_cast<std::int64_t>(recorded_ - recorder_.acknowledged());
    return stats;
}

}  // namespace wq::app
