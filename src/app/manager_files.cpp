// The manager and the files of tasks: a lease leaves once it is known what its task brings along.
#include <algorithm>

#include "app/manager.h"
#include "stats/transactions.h"

namespace wq::app {

void Manager::on_background(core::Now now) {
    background_now_ = now;
    if (options_.background != nullptr) options_.background->finish();
}

namespace {

using SharedFiles = std::shared_ptr<const files::TaskFiles>;

// With $OS and $ARCH as the worker's host has them.
SharedFiles on_platform(SharedFiles files, const std::string& os, const std::string& arch) {
    const auto named = [&](const files::Input& input) {
        return input.source == files::Source::file ? files::for_platform(input.from, os, arch) : input.from;
    };
    const bool any = std::any_of(files->inputs.begin(), files->inputs.end(),
                                 [&](const files::Input& input) { return named(input) != input.from; });
    if (!any) return files;
    auto own = std::make_shared<files::TaskFiles>(*files);
    for (files::Input& input : own->inputs) input.from = named(input);
    return own;
}

}  // namespace

void Manager::prepare(const Link& link, core::Lease& action, wire::Lease lease,
                      std::shared_ptr<const files::TaskFiles> files) {
    const TaskId task = action.task;
    preparing_[task] = {action.worker, std::move(lease), std::move(action)};
    desk_->prepare(preparing_[task].worker, task, preparing_[task].lease.attempt,
                   on_platform(std::move(files), link.os, link.arch),
                   [this, task](const FileDesk::Prepared& result) { prepared(task, result); });
}

void Manager::prepared(TaskId task, const FileDesk::Prepared& result) {
    Preparing ready = std::move(preparing_.extract(task).mapped());
    if (const auto* problem = std::get_if<files::Problem>(&result)) {
        core::Outcome outcome;
        outcome.ending = core::Ending::input_missing;
        outcome.exit_code = -1;
        outcome.reason = problem->what;
        return react(core::TaskReported{ready.worker, task, ready.lease.attempt, std::move(outcome)},
                     background_now_);
    }
    ready.lease.files = std::get<wire::LeaseFiles>(result);
    Link* const link = link_of(ready.worker);
    if (link != nullptr && !reactor_.stopping())
        return send_lease(*link, ready.action, std::move(ready.lease), background_now_);
    // The worker is cut off, or nothing more is to begin: it does not know of the task.
    desk_->drop(task, ready.lease.attempt);
    react(core::TaskGivenBack{ready.worker, task, ready.lease.attempt}, background_now_);
}

void Manager::note_transfer(const FileDesk::Transfer& transfer) {
    if (!recorder_.wants().transactions) return;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(transfer.took).count();
    recorder_.transaction(background_now_.wall,
                          stats::transfer_text({transfer.task, transfer.input, transfer.cached,
                                                transfer.bytes, took, transfer.name}));
}

void Manager::forget_files(TaskId task, Attempt attempt) {
    if (!desk_) return;
    const auto found = preparing_.find(task);
    if (found != preparing_.end() && found->second.lease.attempt == attempt) preparing_.erase(found);
    desk_->drop(task, attempt);
}

void Manager::forget_files(Interval tasks) {
    if (!desk_) return;
    desk_->drop(tasks);
    const auto first = preparing_.lower_bound(TaskId(tasks.first));
    auto last = first;
    while (last != preparing_.end() && last->first.value() < tasks.end) ++last;
    preparing_.erase(first, last);
}

void Manager::forget_files(WorkerId worker) {
    if (!desk_) return;
    for (const auto& [task, attempt] : desk_->drop(worker)) forget_files(task, attempt);
}

void Manager::on_message(Link& link, const wire::WantInput& message, core::Now now) {
    if (!out_of_turn(link, now) && desk_) desk_->on(link.record->worker, message);
}

void Manager::on_message(Link& link, const wire::SharesFiles&, core::Now now) {
    if (out_of_turn(link, now) || options_.mark_path.empty()) return;
    link.shares_files = true;
    if (reactor_.stopping()) return;  // they go back when they are prepared
    // What it was to be leased meanwhile needs no preparation.
    std::vector<TaskId> ready;
    for (const auto& [task, preparing] : preparing_)
        if (preparing.worker == link.record->worker) ready.push_back(task);
    for (const TaskId task : ready) {
        Preparing lease = std::move(preparing_.extract(task).mapped());
        desk_->drop(task, lease.lease.attempt);
        send_lease(link, lease.action, std::move(lease.lease), now);
    }
}

void Manager::on_message(Link& link, const wire::HaveInput& message, core::Now now) {
    if (!out_of_turn(link, now) && desk_) desk_->on(link.record->worker, message);
}

void Manager::on_message(Link& link, wire::OutputPart& message, core::Now now) {
    if (!out_of_turn(link, now) && desk_ && !desk_->on(link.record->worker, message))
        refuse(link, "it sent more of a file than it was asked for", now);
}

void Manager::on_message(Link& link, wire::WatchedPart& message, core::Now now) {
    if (!out_of_turn(link, now) && desk_ && !desk_->on(link.record->worker, message))
        refuse(link, "it sent of a file what it was not asked for", now);
}

void Manager::on_message(Link& link, const wire::OutputsSent& message, core::Now now) {
    if (!out_of_turn(link, now) && desk_) desk_->on(link.record->worker, message);
}

}  // namespace wq::app
