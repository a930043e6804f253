// The part of WorkerFiles that sends outputs: one after the other when a task has ended, and, of watched
// outputs, what the task appends while it runs.
#include <algorithm>

#include "worker/worker_files_task.h"

namespace wq::worker {

namespace {

constexpr Duration between_looks = std::chrono::seconds(1);
constexpr std::size_t most_named = 5;

std::string what_was_not_made(const std::vector<std::string>& names) {
    std::string text = "it did not make";
    for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
        text += (i == 0 ? " '" : ", '") + names[i] + "'";
    if (names.size() > most_named) text += " and " + std::to_string(names.size() - most_named) + " more";
    return text;
}

}  // namespace

// ---- while they run ----

std::optional<Instant> WorkerFiles::wakeup() const {
    if (watched_ == 0) return std::nullopt;
    return next_look_;
}

void WorkerFiles::send_watched(Instant now) {
    if (watched_ == 0 || now < next_look_) return;
    next_look_ = now + between_looks;
    for (const auto& [key, task] : tasks_) look_at(task);
}

void WorkerFiles::look_at(const TaskPointer& task) {
    if (task->watches.empty() || task->watch_busy || task->state != Task::State::running) return;
    task->watch_busy = true;
    in_background([this, task, link = task->link]() -> Background::Then {
        auto grown = std::make_shared<std::optional<Task::Grown>>(task->look_for_growth());
        return [this, task, grown, link] {
            if (task->dropped || task->link != link) return;
            task->watch_busy = grown->has_value();
            if (!*grown || task->state != Task::State::running) return;
            say_(net::messages::WatchedPart{task->lease.task, task->lease.attempt, (*grown)->output,
                                            (*grown)->offset, std::move((*grown)->bytes)});
        };
    });
}

void WorkerFiles::on(const net::messages::WatchedTaken& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task || !task->watch_busy) return;
    task->watch_busy = false;
    in_background([task]() -> Background::Then {
        for (auto& [output, watch] : task->watches) watch.taken = watch.sent;
        return {};
    });
    look_at(task);  // the rest of this round
}

// ---- when they have ended ----

void WorkerFiles::deliver(node::launcher::TaskEnded end) {
    const TaskPointer task = find(end.task, end.attempt);
    task->end = std::move(end);
    task->streams = std::exchange(task->end.files, {});
    task->state = Task::State::looking;
    in_background([this, task, store = store_, good = task->end.outcome.succeeded()]() -> Background::Then {
        const Task::Made made = task->look_for_outputs(good);
        task->outputs = made.outputs;
        const bool gone = !made.missing.empty() && store->gone();
        return [this, task, made, gone] {
            if (task->dropped) return;
            task->state = Task::State::sending;
            if (gone) return lost(task);
            if (!made.missing.empty())
                task->add_reason(engine::model::Ending::output_missing, what_was_not_made(made.missing));
            if (made.outputs.empty()) return delivered(task);
            send_more(task);
        };
    });
}

void WorkerFiles::send_more(const TaskPointer& task) {
    if (task->busy || task->state != Task::State::sending || task->sent >= task->upto) return;
    task->busy = true;
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(net::messages::part_bytes, task->upto - task->sent));
    in_background([this, task, store = store_, most, link = task->link]() -> Background::Then {
        auto part = std::make_shared<std::optional<Task::Part>>(task->read(most));
        const bool gone = *part && !(*part)->unreadable.empty() && store->gone();
        return [this, task, part, gone, link] {
            if (task->dropped || task->link != link) return;
            if (gone) return lost(task);
            task->busy = false;
            if (!*part) {
                task->state = Task::State::sent;
                return say_(net::messages::OutputsSent{task->lease.task, task->lease.attempt});
            }
            if (!(*part)->unreadable.empty()) {
                task->add_reason(engine::model::Ending::output_missing, (*part)->unreadable);
                return send_more(task);
            }
            task->sent += (*part)->bytes.size();
            say_(net::messages::OutputPart{task->lease.task, task->lease.attempt, (*part)->output,
                                           std::move((*part)->bytes), (*part)->last});
            send_more(task);
        };
    });
}

void WorkerFiles::on(const net::messages::TakeOutput& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task) return;
    task->upto = std::max(task->upto, message.upto);
    send_more(task);
}

void WorkerFiles::on(const net::messages::OutputsKept& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task || (task->state != Task::State::sending && task->state != Task::State::sent)) return;
    if (!message.trouble.empty()) task->add_reason(engine::model::Ending::not_transferred, message.trouble);
    delivered(task);
}

// Its outputs were lost with the workspace.
void WorkerFiles::lost(const TaskPointer& task) {
    task->end.outcome = {};
    task->end.outcome.ending = engine::model::Ending::worker_lost;
    task->end.outcome.reason = "its workspace was removed before its outputs were sent";
    delivered(task);
}

void WorkerFiles::delivered(const TaskPointer& task) {
    events_.push_back(std::move(task->end));
    forget(task);
}

}  // namespace wq::worker
