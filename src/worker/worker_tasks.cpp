#include "worker/worker_tasks.h"

#include <algorithm>
#include <utility>

#include "node/calls/python_call.h"
#include "worker/worker.h"

namespace wq::worker {

namespace {

constexpr Duration kill_limit = std::chrono::seconds(5);
// After this many deaths without a started task, launchers will keep dying.
constexpr int most_idle_deaths = 5;

}  // namespace

WorkerTasks::WorkerTasks(const WorkerOptions& options, ManagerLink& link, Parts parts, Leave leave)
    : options_(options),
      link_(link),
      launcher_(parts.launcher),
      functions_(parts.functions),
      coprocesses_(parts.coprocesses),
      leave_(std::move(leave)),
      held_(link),
      orders_(options),
      staged_(
          held_, link, parts.launcher, parts.background, options.kept_cache,
          {[this](const net::messages::Lease& lease, const std::string& sandbox) { begin(lease, sandbox); },
           [this](WorkerFiles::Make& input) { launcher_.run(orders_.of_input(std::move(input))); },
           [this](std::string why) { leave_(std::move(why), LauncherIs::usable); }}),
      claims_(parts.tickets, parts.functions, held_, link) {}

void WorkerTasks::welcome(const net::messages::Welcome& message) {
    launcher_.enter(message.directory);
    staged_.welcome(message);
    orders_.welcome(message);
}

Status WorkerTasks::forget_manager() {
    const bool had_work = held_.size() > 0 || last_environment_ > 0;
    held_.clear();
    last_environment_ = 0;
    orders_.forget_manager();
    if (!had_work) return success();
    staged_.forget();
    signalled_ends_ = {};
    if (functions_ != nullptr) functions_->forget(kill_limit);
    if (coprocesses_ != nullptr) coprocesses_->forget();
    return launcher_.begin_anew(options_.launcher, kill_limit);
}

// ---- tasks that come ----

void WorkerTasks::run(const net::messages::Lease& lease, HeldTasks::By by) {
    const HeldTasks::Key key{lease.task, lease.attempt};
    if (!held_.add(key, by)) return;
    if (takes_no_more_) return held_.give_back(key);
    if (staged_.must_stage(lease)) return staged_.stage(lease);
    begin(lease, "");
}

void WorkerTasks::begin(const net::messages::Lease& lease, const std::string& sandbox) {
    if (lease.call && !lease.call->coprocess.empty()) return call_coprocess(lease, sandbox);
    const bool python = lease.call && lease.call->function == node::calls::python_function;
    if (lease.call && !python && (lease.call->mode != engine::model::CallMode::fork || !options_.forks_calls))
        return call(lease);
    launcher_.run(orders_.of_lease(lease, sandbox));
}

// Calls run in this process, except in `fork` mode.
void WorkerTasks::call(const net::messages::Lease& lease) {
    const bool forked = lease.call->mode == engine::model::CallMode::fork;
    node::launcher::CallOrder order{lease.task, lease.attempt, {lease.call->function, lease.call->arguments}};
    if (functions_ != nullptr && !forked) return functions_->run(std::move(order), lease.call->mode);
    const node::process::CallEnd end =
        forked ? node::process::forks_no_calls() : node::process::no_such_function({}, order.call.function);
    node::launcher::TaskEnded ended{lease.task, lease.attempt, {}, {}};
    ended.outcome.ending = end.ending;
    ended.outcome.exit_code = end.exit_code;
    ended.outcome.reason = end.reason;
    handle_end(ended);
}

void WorkerTasks::call_coprocess(const net::messages::Lease& lease, const std::string& sandbox) {
    if (coprocesses_ != nullptr && coprocesses_->name() == lease.call->coprocess)
        return coprocesses_->run({lease.task, lease.attempt, lease.call->function, lease.call->arguments,
                                  lease.call->mode, lease.timeout, lease.watch.limits.memory_mb, sandbox});
    node::launcher::TaskEnded ended{lease.task, lease.attempt, {}, {}};
    engine::model::set_not_started(ended.outcome,
                                   "this worker has no coprocess '" + lease.call->coprocess + "'");
    handle_end(ended);
}

bool WorkerTasks::claim(Instant now) {
    if (claims_.direct_calls()) return claims_.take_ranges(now);
    const auto leases = claims_.take(now);
    for (const net::messages::Lease& lease : leases) run(lease, HeldTasks::By::ticket);
    return !leases.empty();
}

void WorkerTasks::on(const net::messages::EnvironmentLine& message) {
    if (message.position <= last_environment_) return;
    last_environment_ = message.position;
    launcher_.environment({message.position, orders_.of_environment(message)});
}

// ---- tasks that must not run ----

void WorkerTasks::on(const net::messages::Kill& message) {
    const std::uint64_t first = message.task.value();
    const std::uint64_t end = first + std::min(message.count, UINT64_MAX - first);
    const auto& held = held_.all();
    for (auto next = held.lower_bound({message.task, 0}); next != held.end(); ++next) {
        const auto [task, attempt] = next->first;
        if (task.value() >= end) break;
        if (attempt != message.attempt) continue;
        launcher_.kill(task, attempt);
        if (functions_ != nullptr) functions_->kill(task, attempt);
        if (coprocesses_ != nullptr) coprocesses_->kill(task, attempt);
    }
    staged_.kill([&](HeldTasks::Key key) {
        return key.first.value() >= first && key.first.value() < end && key.second == message.attempt;
    });
    claims_.return_ranges_with({first, end});
}

void WorkerTasks::kill_all() {
    signalled_ends_.stop_waiting();
    launcher_.kill_all();
    if (functions_ != nullptr) functions_->kill_all();
    if (coprocesses_ != nullptr) coprocesses_->kill_all();
    staged_.kill([](HeldTasks::Key) { return true; });
}

void WorkerTasks::take_no_more() {
    takes_no_more_ = true;
    staged_.take_no_more();
    recall(held_.size() + 1);
}

void WorkerTasks::recall(std::uint64_t most) {
    most -= staged_.recall(most);
    if (functions_ != nullptr) most -= functions_->recall(most);
    if (coprocesses_ != nullptr) most -= coprocesses_->recall(most);
    if (takes_no_more_) claims_.return_ranges();
    if (most > 0) launcher_.recall(most);
}

// ---- reports ----

void WorkerTasks::handle_reports(Instant now) {
    now_ = now;
    staged_.handle_events();
    staged_.send_watched(now);
    for (node::launcher::Report& report : launcher_.next())
        std::visit([&](auto& known) { on_report(known); }, report);
    while (auto end = signalled_ends_.take(now)) handle_end(*end);
    staged_.handle_events();  // for inputs that could not be created
    handle_call_reports(now);
    handle_remote_reports();
}

void WorkerTasks::on_report(node::launcher::TaskEnded& report) {
    claims_.note_run_time(report.outcome.wall_us);
    idle_deaths_ = 0;
    signalled_ends_.add(std::move(report), now_);
}

void WorkerTasks::on_report(const node::launcher::OrderReturned& report) {
    staged_.give_back({report.task, report.attempt});
}

void WorkerTasks::on_report(const node::launcher::EnvironmentOutput& report) {
    if (report.exit_code == 0 && report.output.err.empty()) return;
    const std::string text = report.output.err.empty() ? report.output.out : report.output.err;
    link_.send_message(
        net::messages::EnvironmentReport{report.position, report.exit_code, text.substr(0, 500)});
}

void WorkerTasks::on_report(const node::launcher::EnvironmentExit& report) {
    leave_("a #! line ended its shell with exit " + std::to_string(report.exit_code), LauncherIs::usable);
}

void WorkerTasks::on_report(const node::launcher::LauncherDied& report) {
    idle_deaths_ = report.started.empty() ? idle_deaths_ + 1 : 0;
    const Status again =
        idle_deaths_ < most_idle_deaths
            ? launcher_.open(options_.launcher)
            : Status(Error{ExitCode::unreachable, "its launcher died at start: " + report.why});
    if (!again) leave_(again.error().message, LauncherIs::broken);
    const std::string why = "its launcher on " + options_.hello.host + " was " + report.why;
    for (const auto& key : report.started) held_.answer_loss(key, why);
    for (const auto& key : report.not_started) held_.give_back(key);
    staged_.lose(why, [this](HeldTasks::Key key) {
        if (coprocesses_ != nullptr) coprocesses_->kill(key.first, key.second);
    });
}

void WorkerTasks::handle_call_reports(Instant now) {
    if (functions_ == nullptr) return;
    for (node::launcher::CallReport& report : functions_->next(now)) {
        if (auto* ended = std::get_if<node::launcher::TaskEnded>(&report)) {
            claims_.note_run_time(ended->outcome.wall_us);
            handle_end(*ended);
        } else if (const auto* returned = std::get_if<node::launcher::OrderReturned>(&report)) {
            on_report(*returned);
        } else {
            auto& progress = std::get<node::launcher::RangeProgress>(report);
            for (node::launcher::TaskEnded& failed : progress.failed) handle_end(failed);
            claims_.on_report(progress);
        }
    }
}

void WorkerTasks::handle_remote_reports() {
    if (coprocesses_ == nullptr) return;
    for (functions::coprocess::RemoteReport& report : coprocesses_->next()) {
        if (auto* ended = std::get_if<node::launcher::TaskEnded>(&report))
            handle_end(*ended);
        else
            on_report(std::get<node::launcher::OrderReturned>(report));
    }
}

void WorkerTasks::handle_end(node::launcher::TaskEnded& end) {
    if (!staged_.handle_end(end)) held_.answer_end(end);
}

std::optional<Instant> WorkerTasks::wakeup() const {
    std::optional<Instant> next = signalled_ends_.wakeup();
    if (functions_ != nullptr) earliest(next, functions_->wakeup());
    earliest(next, staged_.wakeup());
    return next;
}

}  // namespace wq::worker
