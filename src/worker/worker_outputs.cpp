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
    if (!task->watched || task->watch_busy || task->state != Task::State::running) return;
    task->watch_busy = true;
    in_background(
        task, [](Sandbox& sandbox, Store&) { return sandbox.look_for_growth(); },
        [this, task, link = task->link](std::optional<Sandbox::Grown>& grown) {
            if (task->link != link) return;
            task->watch_busy = grown.has_value();
            if (!grown || task->state != Task::State::running) return;
            send_(net::messages::WatchedPart{task->lease.task, task->lease.attempt, grown->output,
                                             grown->offset, std::move(grown->bytes)});
        });
}

void WorkerFiles::on(const net::messages::WatchedTaken& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task || !task->watch_busy) return;
    task->watch_busy = false;
    in_background(task, [](Sandbox& sandbox, Store&) {
        for (auto& [output, watch] : sandbox.watches) watch.taken = watch.sent;
    });
    look_at(task);  // the rest of this round
}

// ---- when they have ended ----

void WorkerFiles::deliver(node::launcher::TaskEnded end) {
    const TaskPointer task = find(end.task, end.attempt);
    task->end = std::move(end);
    task->state = Task::State::looking;
    const bool good = task->end.outcome.succeeded();
    const std::array<std::string, 2> streams = std::exchange(task->end.files, {});
    struct Made {
        std::vector<std::string> missing;
        bool any = false;
        bool gone = false;
    };
    in_background(
        task,
        [streams, good](Sandbox& sandbox, Store& store) {
            sandbox.streams = streams;
            Made made{sandbox.look_for_outputs(good)};
            made.any = !sandbox.outputs.empty();
            made.gone = !made.missing.empty() && store.gone();
            return made;
        },
        [this, task](const Made& made) {
            task->state = Task::State::sending;
            if (made.gone) return lost(task);
            if (!made.missing.empty())
                task->add_reason(engine::model::Ending::output_missing, what_was_not_made(made.missing));
            if (!made.any) return delivered(task);
            send_more(task);
        });
}

void WorkerFiles::send_more(const TaskPointer& task) {
    if (task->busy || task->state != Task::State::sending || task->sent >= task->upto) return;
    task->busy = true;
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(net::messages::part_bytes, task->upto - task->sent));
    struct Read {
        std::optional<Sandbox::Part> part;
        bool gone = false;
    };
    in_background(
        task,
        [most](Sandbox& sandbox, Store& store) {
            Read read{sandbox.read(most)};
            read.gone = read.part && !read.part->unreadable.empty() && store.gone();
            return read;
        },
        [this, task, link = task->link](Read& read) {
            auto& [part, gone] = read;
            if (task->link != link) return;
            if (gone) return lost(task);
            task->busy = false;
            if (!part) {
                task->state = Task::State::sent;
                return send_(net::messages::OutputsSent{task->lease.task, task->lease.attempt});
            }
            if (!part->unreadable.empty()) {
                task->add_reason(engine::model::Ending::output_missing, part->unreadable);
                return send_more(task);
            }
            task->sent += part->bytes.size();
            send_(net::messages::OutputPart{task->lease.task, task->lease.attempt, part->output,
                                            std::move(part->bytes), part->last});
            send_more(task);
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
    if (message.trouble.empty())
        task->times.outputs_there_us = wall_now();
    else
        task->add_reason(engine::model::Ending::not_transferred, message.trouble);
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
    task->end.outcome.files = task->times;
    events_.push_back(std::move(task->end));
    forget(task);
}

}  // namespace wq::worker
