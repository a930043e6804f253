#include "manager/lease_sender.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace wq::manager {

namespace {

using SharedFiles = std::shared_ptr<const files::trees::TaskFiles>;

// Replaces $OS and $ARCH by those of the worker's host.
SharedFiles on_platform(SharedFiles files, const std::string& os, const std::string& arch) {
    const auto named = [&](const files::trees::InputFile& input) {
        return input.source == files::trees::InputSource::file
                   ? files::trees::for_platform(input.from, os, arch)
                   : input.from;
    };
    const bool any =
        std::any_of(files->inputs.begin(), files->inputs.end(),
                    [&](const files::trees::InputFile& input) { return named(input) != input.from; });
    if (!any) return files;
    auto own = std::make_shared<files::trees::TaskFiles>(*files);
    for (files::trees::InputFile& input : own->inputs) input.from = named(input);
    return own;
}

// A frame has at most 1 GiB, with all else of the lease.
constexpr std::uint64_t most_argument_bytes = std::uint64_t{960} << 20;

// In the form of node/calls/python_call.h.
std::string rest_of_arguments(const MemoryFile& memory, bool shared) {
    if (!shared) return "\n" + memory.copy();
    return memory.path() + " " + std::to_string(memory.serial()) + "\n";
}

}  // namespace

LeaseSender::LeaseSender(TaskTexts& tasks, Links& links, RunRecords& records, Router& router,
                         Background* background)
    : tasks_(tasks), links_(links), records_(records), router_(router), background_(background) {
    if (background_ != nullptr)
        transfers_.emplace(
            *background_,
            [this](WorkerId worker, const net::messages::Message& message) {
                links_.send_message(worker, message);
            },
            [this](const files::transfers::Transfer& transfer) {
                records_.transferred(transfer, background_now_);
            });
}

void LeaseSender::send(engine::model::Lease& action, engine::model::Now now) {
    Link* const link = links_.of(action.worker);
    if (link == nullptr) return;
    TaskText text = tasks_.text(action.task);
    net::messages::Lease lease;
    lease.task = action.task;
    lease.attempt = action.attempt;
    lease.give = action.give;
    lease.timeout = action.timeout;
    lease.watch = action.watch;
    lease.environment_position = text.environment_position;
    lease.text = std::move(text.command);
    lease.variables = std::move(text.variables);
    lease.call = std::move(text.call);
    if (text.files && transfers_ && !link->shares_files)
        return prepare(*link, action, std::move(lease), text);
    send(*link, action, std::move(lease), text.memory, now);
}

void LeaseSender::send(Link& link, const engine::model::Lease& action, net::messages::Lease lease,
                       const SharedMemory& memory, engine::model::Now now) {
    if (lease.call) {
        const std::uint64_t sent = memory && !link.shares_memory ? memory->size() : 0;
        const std::uint64_t bytes = lease.call->arguments.size() + sent;
        if (bytes > most_argument_bytes) {
            if (transfers_) transfers_->drop(action.task, action.attempt);
            return fail(action.worker, action.task, action.attempt,
                        "its arguments have " + std::to_string(bytes) + " bytes, and may have " +
                            std::to_string(most_argument_bytes) +
                            (memory ? " for a worker that does not share the manager's memory" : "") +
                            ": give them in an input file",
                        now);
        }
        if (memory) lease.call->arguments += rest_of_arguments(*memory, link.shares_memory);
    }
    links_.send_message(link, std::move(lease));
    records_.dispatched({action.task, action.attempt, action.category, action.give, action.submitted_us,
                         now.wall, records_.try_of(action.task)},
                        link.address);
}

void LeaseSender::fail(WorkerId worker, TaskId task, Attempt attempt, std::string reason,
                       engine::model::Now now) {
    engine::model::Outcome outcome;
    outcome.ending = engine::model::Ending::input_missing;
    outcome.exit_code = -1;
    outcome.reason = std::move(reason);
    router_.react(engine::model::TaskReported{worker, task, attempt, std::move(outcome)}, now);
}

// ---- leases with files ----

void LeaseSender::prepare(const Link& link, engine::model::Lease& action, net::messages::Lease lease,
                          TaskText& text) {
    const TaskId task = action.task;
    const WorkerId worker = action.worker;
    const Attempt attempt = action.attempt;
    held_[task] = {worker, std::move(lease), action, std::move(text.memory)};
    transfers_->prepare(
        worker, task, attempt, on_platform(std::move(text.files), link.record->os, link.record->arch),
        [this, task](const files::transfers::FileTransfers::Prepared& result) { prepared(task, result); });
}

void LeaseSender::prepared(TaskId task, const files::transfers::FileTransfers::Prepared& result) {
    Held held = std::move(held_.extract(task).mapped());
    const Attempt attempt = held.lease.attempt;
    if (const auto* problem = std::get_if<files::trees::Problem>(&result))
        return fail(held.worker, task, attempt, problem->what, background_now_);
    held.lease.files = std::get<net::messages::LeaseFiles>(result);
    Link* const link = links_.of(held.worker);
    if (link != nullptr && !router_.reactor().stopping())
        return send(*link, held.action, std::move(held.lease), held.memory, background_now_);
    // The worker is disconnected, or the run stops: the worker has not seen the task.
    transfers_->drop(task, attempt);
    router_.react(engine::model::TaskGivenBack{held.worker, task, attempt}, background_now_);
}

void LeaseSender::send_without_files(Link& link, engine::model::Now now) {
    link.shares_files = true;
    if (router_.reactor().stopping()) return;  // leases are given back when they are prepared
    std::vector<TaskId> of_worker;
    for (const auto& [task, held] : held_)
        if (held.worker == link.record->worker) of_worker.push_back(task);
    for (const TaskId task : of_worker) {
        Held held = std::move(held_.extract(task).mapped());
        transfers_->drop(task, held.lease.attempt);
        send(link, held.action, std::move(held.lease), held.memory, now);
    }
}

void LeaseSender::on_background(engine::model::Now now) {
    background_now_ = now;
    if (background_ != nullptr) background_->finish();
}

void LeaseSender::forget(TaskId task, Attempt attempt) {
    if (!transfers_) return;
    const auto found = held_.find(task);
    if (found != held_.end() && found->second.lease.attempt == attempt) held_.erase(found);
    transfers_->drop(task, attempt);
}

void LeaseSender::forget(Interval tasks) {
    if (!transfers_) return;
    transfers_->drop(tasks);
    const auto first = held_.lower_bound(TaskId(tasks.first));
    auto last = first;
    while (last != held_.end() && last->first.value() < tasks.end) ++last;
    held_.erase(first, last);
}

void LeaseSender::forget(WorkerId worker) {
    if (!transfers_) return;
    for (const auto& [task, attempt] : transfers_->drop(worker)) forget(task, attempt);
}

}  // namespace wq::manager
