#include "worker/worker.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/task.h"

namespace wq::worker {

namespace {
// After this many deaths without a started task, launchers will keep dying.
constexpr int most_idle_deaths = 5;
}  // namespace

Worker::Worker(WorkerOptions options, net::Transport& transport, net::PeerId manager,
               launcher::Launcher& launcher, TicketClient* tickets, launcher::FunctionRunner* functions,
               Background* background)
    : options_(std::move(options)),
      outbox_(std::in_place, transport, manager),
      launcher_(launcher),
      tickets_(tickets),
      functions_(functions),
      background_(background) {}

namespace {

// Identifies the workers of one user on one host, since the host's boot.
std::string node_name() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return boot.empty() ? boot : boot + "." + std::to_string(::geteuid());
}

}  // namespace

void Worker::start(Instant now) {
    last_sent_ = now;
    listening_ = ListeningClock(now, options_.manager_silence.value_or(Duration{0}));
    last_heard_ = listening_.now();
    wire::Hello hello = options_.hello;
    struct utsname system {};
    ::uname(&system);
    if (hello.os.empty()) hello.os = system.sysname;
    if (hello.arch.empty()) hello.arch = system.machine;
    hello.node = background_ != nullptr ? node_name() : "";
    if (functions_ != nullptr)
        functions_->functions().for_each_name([&](const std::string& name) {
            hello.features.push_back(std::string(core::function_feature) + name);
        });
    if (options_.leaves_at) hello.leaves_in = std::max(*options_.leaves_at - now, Duration{0});
    hello.clock = wall_now();
    hello.resume = token_;
    hello.answers_sent = answers_.sent();
    if (over_tcp()) {
        for (const auto& [key, ticket] : held_) hello.holding.push_back(key);
        for (const AnswerLog::Answer& kept : answers_.kept())
            if (kept.key) hello.holding.push_back(*kept.key);
    }
    say(hello);
    pump(now);
}

// Sends an answer, which managers count. A TCP worker keeps it until it is acknowledged.
void Worker::answer(const wire::Message& message, std::optional<Key> key) {
    if (!over_tcp()) return say(message);
    std::string encoded = wire::encode(message);
    if (outbox_ && welcomed_) outbox_->put_encoded(encoded);
    answers_.add(std::move(encoded), key);
}

void Worker::say(const wire::Message& message) {
    if (outbox_) outbox_->put(message);
}

void Worker::on_frame(std::string_view bytes, Instant now) {
    listening_.look(now);
    last_heard_ = listening_.now();
    auto messages = wire::decode(bytes);
    if (!messages) {
        babbled_ = true;
        ended_ = !over_tcp();
        return;
    }
    for (wire::Message& message : *messages)
        if (!ended_ && !dismissed_ && !refused_) std::visit([&](auto& known) { on_message(known); }, message);
    // Sends the orders and kills that are buffered in the Launcher object.
    on_launcher(now);
}

void Worker::on_message(const wire::Refused& message) {
    refused_ = message;
    ended_ = !over_tcp();  // the manager reports why, and drops us
}

void Worker::on_message(const wire::EnvironmentLine& message) {
    if (message.position <= last_environment_) return;
    last_environment_ = message.position;
    launcher_.environment({message.position, message.text});
}

void Worker::on_message(const wire::SealedBatch& message) {
    claim_size_.begin();
    if (tickets_ != nullptr) tickets_->on_message(message);
}
void Worker::on_message(const wire::Tickets& message) {
    if (tickets_ != nullptr) tickets_->on_message(message);
}
void Worker::on_message(const wire::RevokedBatch& message) {
    if (tickets_ != nullptr) tickets_->on_message(message);
    if (functions_ != nullptr) functions_->return_ranges();
}

void Worker::on_message(const wire::Lease& message) {
    run(message, false);
}

void Worker::on_message(const wire::KillAll&) {
    kill_all();
}
void Worker::on_message(const wire::Kill& message) {
    const std::uint64_t first = message.task.value();
    const std::uint64_t end = first + std::min(message.count, UINT64_MAX - first);
    for (auto held = held_.lower_bound({message.task, 0}); held != held_.end(); ++held) {
        const auto [task, attempt] = held->first;
        if (task.value() >= end) break;
        if (attempt != message.attempt) continue;
        launcher_.kill(task, attempt);
        if (functions_ != nullptr) functions_->kill(task, attempt);
    }
    kill_in_files([&](Key key) {
        return key.first.value() >= first && key.first.value() < end && key.second == message.attempt;
    });
    // Calls of a range have no own records. The rest of the range is returned, and the manager continues it
    // elsewhere.
    bool some_of_a_range = false;
    ranges_.for_each_in({first, end}, [&](Interval) { some_of_a_range = true; });
    if (some_of_a_range && functions_ != nullptr) functions_->return_ranges();
}
void Worker::on_message(const wire::Recall& message) {
    recall(message.most);
}
void Worker::on_message(const wire::Dismiss& message) {
    ranks_lost_ = message.ranks_lost;
    dismissed_ = message;
    ended_ = !over_tcp();
}

void Worker::on_manager_left() {
    if (ended_) return;
    ended_ = manager_lost_ = ranks_lost_ = true;
}

void Worker::kill_all() {
    signalled_ends_.stop_waiting();
    launcher_.kill_all();
    if (functions_ != nullptr) functions_->kill_all();
    kill_in_files([](Key) { return true; });
}

void Worker::recall(std::uint64_t most) {
    most -= recall_staging(most);
    if (functions_ != nullptr) {
        most -= functions_->recall(most);
        if (leaving_) functions_->return_ranges();
    }
    if (most > 0) launcher_.recall(most);
}

void Worker::drain(bool idle) {
    if (leaving_) return;
    idle_out_ = idle;
    begin_to_leave(idle ? "no task arrived" : "drained");
}

// Tells the manager before returning tasks; otherwise it would lease them to us again.
void Worker::begin_to_leave(std::string why) {
    if (leaving_ || ended_) return;
    leaving_ = true;
    why_leaving_ = std::move(why);
    if (!over_tcp() || welcomed_) say(wire::Draining{});
    recall(held_.size() + 1);
}

void Worker::on_launcher(Instant now) {
    now_ = now;
    take_file_events();
    if (files_) files_->look(now);
    for (launcher::Report& report : launcher_.next())
        std::visit([&](auto& known) { on_report(known); }, report);
    report_ends(now);
    take_file_events();  // for inputs that could not be created
    take_call_reports(now);
    take_tickets(now);
    leave_when_empty();
    pump(now);
}

void Worker::take_tickets(Instant now) {
    if (tickets_ == nullptr || leaving_ || ended_) return;
    if (functions_ != nullptr && tickets_->direct_calls()) {
        take_ranges(now);
    } else if (tickets_->active()) {
        const std::int64_t lanes = tickets_->lanes();
        const auto room = lanes + prefetch_.ahead(lanes) - static_cast<std::int64_t>(held_.size());
        if (room > 0) {
            const auto leases = tickets_->take(static_cast<std::uint64_t>(room), now, *outbox_);
            for (const wire::Lease& lease : leases) run(lease, true);
            // next() sends new orders to the launcher, and was already called this turn.
            if (!leases.empty()) on_launcher(now);
        }
    }
    if (!tickets_->owes_account() || !ranges_are_few(now)) return;
    IntervalSet running = ranges_;
    accounted_ = tickets_->batch();
    for (const auto& [key, ticket] : held_)
        if (ticket) running.insert(key.first.value());
    tickets_->give_account(std::move(running), *outbox_);
}

void Worker::on_report(launcher::TaskEnded& report) {
    prefetch_.ended(report.outcome.wall_us);
    idle_deaths_ = 0;
    signalled_ends_.add(std::move(report), now_);
}

void Worker::report_ends(Instant now) {
    while (auto end = signalled_ends_.take(now)) report_end(*end);
}

void Worker::report_end(launcher::TaskEnded& end) {
    const Key key{end.task, end.attempt};
    const auto place = files_ ? files_->place_of(key) : WorkerFiles::Place::nowhere;
    if (place == WorkerFiles::Place::making || place == WorkerFiles::Place::running) {
        if (end.outcome.ending == core::Ending::killed)
            files_->drop(key);  // what it left is incomplete, and it runs again
        else if (place == WorkerFiles::Place::making)
            return files_->made(std::move(end));
        else
            return files_->deliver(std::move(end));
    }
    answer_end(end);
}

void Worker::answer_end(launcher::TaskEnded& end) {
    const Key key{end.task, end.attempt};
    if (held_.erase(key) == 0 && over_tcp()) return;  // from a manager that we gave up
    answer(wire::Ended{end.task, end.attempt, std::move(end.outcome), std::move(end.output)}, key);
}

void Worker::on_report(const launcher::OrderReturned& report) {
    if (files_) files_->drop({report.task, report.attempt});
    give_back({report.task, report.attempt});
}

void Worker::give_back(Key key) {
    if (held_.erase(key) == 0 && over_tcp()) return;
    answer(wire::GivenBack{key.first, key.second}, key);
}

void Worker::on_report(const launcher::EnvironmentOutput& report) {
    if (report.exit_code == 0 && report.output.err.empty()) return;
    const std::string text = report.output.err.empty() ? report.output.out : report.output.err;
    say(wire::EnvironmentReport{report.position, report.exit_code, text.substr(0, 500)});
}

void Worker::on_report(const launcher::EnvironmentExit& report) {
    begin_to_leave("a #! line ended its shell with exit " + std::to_string(report.exit_code));
}

void Worker::on_report(const launcher::LauncherDied& report) {
    idle_deaths_ = report.started.empty() ? idle_deaths_ + 1 : 0;
    const Status again =
        idle_deaths_ < most_idle_deaths
            ? launcher_.open(options_.launcher)
            : Status(Error{ExitCode::unreachable, "its launcher died at start: " + report.why});
    if (!again) {
        broken_ = true;
        begin_to_leave(again.error().message);
    }
    const std::string why = "its launcher on " + options_.hello.host + " was " + report.why;
    for (const auto& [task, attempt] : report.started) answer_loss({task, attempt}, why);
    for (const auto& [task, attempt] : report.not_started) give_back({task, attempt});
    lose_files(why);
}

void Worker::answer_loss(Key key, const std::string& why) {
    launcher::TaskEnded ended{key.first, key.second, {}, {}};
    ended.outcome.ending = core::Ending::worker_lost;
    ended.outcome.reason = why;
    answer_end(ended);
}

void Worker::leave_when_empty() {
    if (!leaving_ || !held_.empty() || !ranges_.empty() || ended_) return;
    // Leaves only after all answers have arrived, and when no lease can be on its way to us.
    if (over_tcp() && expected_ && !(welcomed_ && answers_.kept().empty())) return;
    say(wire::Goodbye{why_leaving_, idle_out_});
    ended_ = ranks_lost_ = true;  // the other ranks continue: MPI_Finalize would wait for them
}

void Worker::pump(Instant now) {
    if (!outbox_ || outbox_->empty()) return;
    outbox_->flush();
    last_sent_ = now;
}

void Worker::tick(Instant now) {
    if (ended_ || over_tcp()) return;
    listening_.look(now);
    if (options_.manager_silence && listening_.silent(last_heard_)) return on_manager_left();
    if (now - last_sent_ >= options_.beat) {
        say(wire::Beat{});
        pump(now);
    }
}

std::optional<Instant> Worker::wakeup() const {
    if (ended_) return std::nullopt;
    if (over_tcp()) {
        std::optional<Instant> next = signalled_ends_.wakeup();
        const auto calls = functions_ != nullptr ? functions_->wakeup() : std::nullopt;
        const auto looks = files_ ? files_->wakeup() : std::nullopt;
        for (const auto& other : {calls, looks})
            if (other && (!next || *other < *next)) next = other;
        return next;
    }
    Instant regular = last_sent_ + options_.beat;
    if (options_.manager_silence)
        regular = std::min(regular, listening_.next_look(listening_.silence_ends(last_heard_)));
    const Instant calls = functions_ != nullptr ? functions_->wakeup().value_or(regular) : regular;
    const Instant looks = files_ ? files_->wakeup().value_or(regular) : regular;
    return std::min({regular, calls, looks, signalled_ends_.wakeup().value_or(regular)});
}

}  // namespace wq::worker
