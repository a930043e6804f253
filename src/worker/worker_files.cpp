#include "worker/worker_files.h"

#include <algorithm>
#include <utility>

#include "worker/worker_files_task.h"

namespace wq::worker {

namespace {

bool is_full(const files::trees::Trouble& trouble) {
    return trouble && trouble->kind == files::trees::Problem::Kind::full;
}

engine::model::Ending ending_of(const files::trees::Problem& problem) {
    return problem.kind == files::trees::Problem::Kind::full ? engine::model::Ending::disk_full
                                                             : engine::model::Ending::input_missing;
}

}  // namespace

WorkerFiles::WorkerFiles(Background& background, std::string folder, Send send, std::string kept_cache)
    : background_(background), send_(std::move(send)), store_(std::make_shared<Store>()) {
    in_background(
        [folder = std::move(folder), kept_cache = std::move(kept_cache)](Store& store) -> Background::Then {
            store.trouble = store.enter(folder, kept_cache);
            return {};
        });
}
WorkerFiles::~WorkerFiles() {
    store_->closed = true;
}

void WorkerFiles::in_background(std::function<Background::Then(Store&)> job) {
    background_.post(
        [job = std::move(job), store = store_, alive = std::weak_ptr(alive_)]() -> Background::Then {
            if (store->closed) return {};
            Background::Then then = job(*store);
            if (!then) return {};
            return [then = std::move(then), alive] {
                if (alive.lock()) then();
            };
        });
}

WorkerFiles::TaskPointer WorkerFiles::find(TaskId task, Attempt attempt) const {
    const auto found = tasks_.find({task, attempt});
    return found == tasks_.end() ? nullptr : found->second;
}

WorkerFiles::Phase WorkerFiles::phase_of(const Key& key) const {
    const TaskPointer task = find(key.first, key.second);
    if (!task) return Phase::nowhere;
    switch (task->state) {
        case Task::State::staging:
        case Task::State::fetching:
        case Task::State::waiting:
            return Phase::staging;
        case Task::State::making:
            return Phase::making;
        case Task::State::running:
            return Phase::running;
        default:
            return Phase::delivering;
    }
}

engine::model::FileTimes WorkerFiles::times_of(const Key& key) const {
    const TaskPointer task = find(key.first, key.second);
    return task ? task->times : engine::model::FileTimes{};
}

std::vector<WorkerFiles::Key> WorkerFiles::all_last_first() const {
    std::vector<std::pair<std::uint64_t, Key>> found;
    for (const auto& [key, task] : tasks_) found.emplace_back(task->number, key);
    std::sort(found.rbegin(), found.rend());
    std::vector<Key> keys;
    for (const auto& [number, key] : found) keys.push_back(key);
    return keys;
}

std::vector<WorkerFiles::Event> WorkerFiles::next() {
    std::vector<Event> all(std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
    events_.clear();
    return all;
}

// ---- inputs ----

void WorkerFiles::stage(net::messages::Lease lease) {
    const auto task = std::make_shared<Task>(std::move(lease), next_number_++);
    if (task->watched) ++watched_;
    tasks_[task->key()] = task;
    go_on(task);
}

void WorkerFiles::go_on(const TaskPointer& task) {
    struct Staging {
        bool able = true;
        bool gone = false;
        Sandbox::Placed placed;
        std::string sandbox;
    };
    task->state = Task::State::staging;
    in_background(
        task,
        [next = task->next_input](Sandbox& sandbox, Store& store) {
            Staging now{true, false, {next}, {}};
            now.able = !sandbox.path.empty() || sandbox.make(store, now.placed.trouble);
            if (now.able && !now.placed.trouble) now.placed = sandbox.place_what_is_here(store, next);
            now.gone = now.placed.trouble && store.gone();
            now.sandbox = sandbox.path;
            return now;
        },
        [this, task](const Staging& now) {
            task->sandbox = now.sandbox;
            task->next_input = now.placed.next;
            const files::trees::Trouble& trouble = now.placed.trouble;
            if (now.placed.more) return go_on(task);
            if (!now.able || now.gone)
                return unable(task, trouble->what, now.gone ? Folder::gone : Folder::there);
            if (trouble) return fail(task, *trouble);
            if (task->next_input < task->files->inputs.size()) return bring(task);
            task->state = Task::State::running;
            if (!task->files->inputs.empty()) task->times.inputs_there_us = wall_now();
            events_.push_back(Staged{task->lease, task->sandbox});
        });
}

// A cached input is fetched once for all tasks that need it.
void WorkerFiles::bring(const TaskPointer& task) {
    const net::messages::InputFile& input = task->input();
    if (!input.key.empty()) {
        const auto [found, first] = bringing_.try_emplace(input.key, task);
        if (!first && found->second != task) {
            task->state = Task::State::waiting;
            waiting_.push_back(task);
            return;
        }
    }
    if (input.kind != net::messages::InputKind::content) return make(task);
    fetch(task);
}

// Fetches the input from its first byte.
void WorkerFiles::fetch(const TaskPointer& task, Neighbour neighbour) {
    task->state = Task::State::fetching;
    task->consumed = 0;
    ++task->stream;
    want(*task, neighbour);
}

void WorkerFiles::want(const Task& task, Neighbour neighbour) {
    send_(net::messages::WantInput{
        task.lease.task, task.lease.attempt, static_cast<std::uint32_t>(task.next_input),
        task.consumed + net::messages::input_window, task.stream, neighbour == Neighbour::lacks_it});
}

void WorkerFiles::on(net::messages::InputPart message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task || task->state != Task::State::fetching || message.input != task->next_input ||
        message.stream != task->stream)
        return;
    if (message.last) task->state = Task::State::staging;  // the next steps need no link
    struct Taken {
        files::trees::Trouble trouble;
        bool gone = false;
        bool again = false;
    };
    const bool last = message.last;
    const std::uint32_t stream = message.stream;
    const auto bytes = std::make_shared<const std::string>(std::move(message.bytes));
    in_background(
        task,
        [stream, last, bytes, input = task->next_input](Sandbox& sandbox, Store& store) {
            Taken taken{sandbox.take(store, {sandbox.files->inputs[input], stream, *bytes, last})};
            taken.gone = taken.trouble && store.gone();
            taken.again = is_full(taken.trouble) && store.make_room();
            return taken;
        },
        [this, task, stream, last, size = bytes->size()](const Taken& taken) {
            if (task->stream != stream) return;
            if (taken.gone) return unable(task, taken.trouble->what, Folder::gone);
            if (taken.again) return fetch(task);
            if (taken.trouble) return fail(task, *taken.trouble);
            task->consumed += size;
            if (!last) return want(*task);
            if (!task->input().key.empty()) return came(task);
            ++task->next_input;
            go_on(task);
        });
}

// Another worker on this node has it.
void WorkerFiles::on(const net::messages::InputIsAt& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task || task->state != Task::State::fetching || message.input != task->next_input ||
        task->consumed > 0 || task->input().key.empty())
        return;
    task->state = Task::State::staging;
    in_background(task, [path = message.path](Sandbox& sandbox, Store&) {
        sandbox.incoming.reset();
        sandbox.neighbour.emplace(path);
    });
    copy(task);
}

void WorkerFiles::copy(const TaskPointer& task) {
    struct Copied {
        Sandbox::Step step;
        bool hopeless = false;
    };
    in_background(
        task,
        [input = task->next_input](Sandbox& sandbox, Store& store) {
            Copied copied{sandbox.take_from_neighbour(store, sandbox.files->inputs[input])};
            copied.hopeless = is_full(copied.step.trouble) && !store.make_room();
            return copied;
        },
        [this, task](const Copied& copied) {
            const auto& [done, trouble] = copied.step;
            if (!done) return copy(task);
            if (!trouble) return came(task);
            // Otherwise the manager would name the same place again, and there would again be no room.
            if (copied.hopeless) return fail(task, *trouble);
            fetch(task, is_full(trouble) ? Neighbour::may_have_it : Neighbour::lacks_it);
        });
}

// The input has arrived; a cached input is in the cache.
void WorkerFiles::came(const TaskPointer& task) {
    send_(net::messages::HaveInput{task->lease.task, task->lease.attempt,
                                   static_cast<std::uint32_t>(task->next_input), store_->cache_folder});
    brought(task);
    go_on(task);
}

void WorkerFiles::on(const net::messages::NoInput& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (task && task->state == Task::State::fetching && message.input == task->next_input)
        fail(task, {files::trees::Problem::Kind::missing, message.why});
}

// Tasks that waited for the input check again: it may be in the cache now, or have failed.
void WorkerFiles::brought(const TaskPointer& task) {
    if (std::erase_if(bringing_, [&](const auto& each) { return each.second == task; }) == 0) return;
    for (const TaskPointer& other : std::exchange(waiting_, {}))
        if (!other->dropped) go_on(other);
}

void WorkerFiles::unable(const TaskPointer& task, const std::string& why, Folder folder) {
    events_.push_back(Unable{task->key(), why, folder == Folder::gone});
    forget(task);
}

void WorkerFiles::fail(const TaskPointer& task, const files::trees::Problem& problem, int exit_code) {
    node::launcher::TaskEnded end{task->lease.task, task->lease.attempt, {}, {}};
    end.outcome.ending = ending_of(problem);
    end.outcome.exit_code = exit_code;
    end.outcome.reason = problem.what;
    fail(task, std::move(end));
}

void WorkerFiles::fail(const TaskPointer& task, node::launcher::TaskEnded end) {
    events_.push_back(std::move(end));
    forget(task);
}

// ---- ends ----

void WorkerFiles::drop(const Key& key) {
    if (const TaskPointer task = find(key.first, key.second)) forget(task);
}

void WorkerFiles::forget(const TaskPointer& task) {
    task->dropped = true;
    if (task->watched) --watched_;
    tasks_.erase(task->key());
    in_background(task, [](Sandbox& sandbox, Store& store) { sandbox.clean_up(store); });
    more_to_remove_ = true;
    if (!std::exchange(removes_, true)) remove_some();
    brought(task);
}

// Removes a few files per job, so that other tasks' files are handled in between.
void WorkerFiles::remove_some() {
    more_to_remove_ = false;
    in_background([this](Store& store) -> Background::Then {
        return [this, more = store.remove_some()] {
            removes_ = more || more_to_remove_;
            if (removes_) remove_some();
        };
    });
}

void WorkerFiles::begin_streams_anew() {
    for (const auto& [key, task] : tasks_) {
        ++task->link;
        if (task->state == Task::State::running && std::exchange(task->watch_busy, false))
            in_background(task, [](Sandbox& sandbox, Store&) {
                for (auto& [output, watch] : sandbox.watches) watch.sent = watch.taken;
                sandbox.watch_last.reset();
            });
        if (task->state == Task::State::fetching) {
            fetch(task);
        } else if (task->state == Task::State::sending || task->state == Task::State::sent) {
            in_background(task, [](Sandbox& sandbox, Store&) { sandbox.read_anew(); });
            task->state = Task::State::sending;
            task->sent = 0;
            task->upto = net::messages::first_output_bytes;
            task->busy = false;
            send_more(task);
        }
    }
}

}  // namespace wq::worker
