#include "app/worker_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "files/remove_tree.h"
#include "files/task_files.h"

namespace wq::app {

namespace {

core::Ending ending_of(const files::Problem& problem) {
    return problem.kind == files::Problem::Kind::full ? core::Ending::disk_full : core::Ending::input_missing;
}

}  // namespace

struct WorkerFiles::Store {
    std::atomic<bool> closed{false};  // the folder goes: nothing is made in it any more
    std::string folder;
    std::optional<files::Cache> cache;
    files::Trouble trouble;  // with it no task can be staged
    // Who has rights over rights is not stopped by a file's: it gets one of its own.
    files::Sharing sharing = ::geteuid() == 0 ? files::Sharing::copied : files::Sharing::linked;

    // It goes with a launcher that dies.
    bool gone() const {
        struct stat status {};
        return ::stat(folder.c_str(), &status) != 0 && errno == ENOENT;
    }
    files::Trouble enter(const std::string& where) {
        if (where.empty())
            return files::Problem{files::Problem::Kind::unreadable, "the worker has no workspace"};
        folder = where;
        if (gone()) return files::Problem{files::Problem::Kind::unreadable, "the workspace is gone"};
        cache.emplace(folder + "/cache");
        return cache->open();
    }
};

struct WorkerFiles::Task {
    enum class State { staging, fetching, waiting, running, looking, sending, sent };

    wire::Lease lease;
    std::uint64_t number = 0;
    State state = State::staging;
    bool dropped = false;
    std::uint64_t link = 0;  // streams of an earlier link are over

    std::string sandbox;
    std::size_t next_input = 0;
    bool fetched_again = false;
    // Of the input that is fetched; of the background's thread.
    std::optional<files::Cache::Incoming> incoming;
    std::optional<files::TreeWriter> writer;
    std::uint64_t consumed = 0;

    host::TaskEnded end;
    std::vector<std::uint32_t> outputs;  // that are to be sent
    std::size_t next_output = 0;
    std::optional<files::TreeReader> reader;  // of the background's thread
    std::uint64_t sent = 0;
    std::uint64_t upto = wire::first_output_bytes;
    bool busy = false;

    Key key() const { return {lease.task, lease.attempt}; }
    const wire::InputFile& input() const { return lease.files->inputs[next_input]; }
    std::string path_of(const std::string& name) const { return sandbox + "/" + name; }

    // Names and keys that lead out are no manager's.
    files::Trouble check() const {
        const auto wrong = [](const std::string& name) { return files::sandbox_name(name) != name; };
        const auto refused = [](const std::string& what) {
            return files::Problem{files::Problem::Kind::refused, what};
        };
        for (const wire::InputFile& one : lease.files->inputs) {
            if (wrong(one.name)) return refused("no name of an input: " + one.name);
            if (!one.key.empty() && !files::is_key(one.key)) return refused("no content key: " + one.key);
            if (one.kind != wire::InputKind::content) return refused("an input that this worker cannot make");
        }
        for (const wire::OutputFile& one : lease.files->outputs)
            if (wrong(one.name)) return refused("no name of an output: " + one.name);
        return std::nullopt;
    }
    // False: this worker cannot, whatever the task is.
    bool make_sandbox(const Store& store, files::Trouble& trouble) {
        if ((trouble = check())) return true;
        if ((trouble = store.trouble)) return false;
        const std::string path = store.folder + "/t." + std::to_string(lease.task.value() + 1) + "." +
                                 std::to_string(lease.attempt);
        files::remove_tree(AT_FDCWD, path);
        if (::mkdir(path.c_str(), 0700) != 0) {
            trouble = files::problem_of_errno(path, errno);
            return trouble->kind == files::Problem::Kind::full;
        }
        sandbox = path;
        return true;
    }
    void make_folder_of(const std::string& name) const {
        std::error_code error;  // what cannot be made is missed by whoever writes there
        std::filesystem::create_directories(std::filesystem::path(path_of(name)).parent_path(), error);
    }

    // The inputs from next_input on, up to one that is to be fetched.
    files::Trouble place_what_is_here(Store& store) {
        for (; next_input < lease.files->inputs.size(); ++next_input) {
            if (store.closed) return std::nullopt;
            wire::InputFile& next = lease.files->inputs[next_input];
            make_folder_of(next.name);
            if (next.content) {
                files::TreeWriter content(path_of(next.name), files::TreeWriter::Purpose::sandbox);
                if (auto trouble = content.write(*next.content)) return trouble;
                if (auto trouble = content.finish()) return trouble;
                next.content.reset();
                continue;
            }
            if (next.key.empty() || !store.cache->has(next.key)) return std::nullopt;
            const auto trouble = store.cache->place(next.key, path_of(next.name), store.sharing);
            if (!trouble) continue;
            // Somebody has been at the cache: once it is fetched again.
            if (trouble->kind != files::Problem::Kind::missing || std::exchange(fetched_again, true))
                return trouble;
            store.cache->drop(next.key);
            return std::nullopt;
        }
        for (const wire::OutputFile& output : lease.files->outputs) make_folder_of(output.name);
        return std::nullopt;
    }

    files::Trouble take(Store& store, const wire::InputFile& next, const std::string& bytes, bool last) {
        if (!next.key.empty()) {
            if (!incoming) incoming.emplace(*store.cache, next.key);
            auto trouble = incoming->write(bytes);
            if (!trouble && last) trouble = incoming->finish();
            if (trouble && trouble->kind == files::Problem::Kind::refused)  // other bytes than were announced
                trouble = files::Problem{files::Problem::Kind::changed,
                                         next.name + ": it was written to while it was sent"};
            if (trouble || last) incoming.reset();
            return trouble;
        }
        if (!writer) writer.emplace(path_of(next.name), files::TreeWriter::Purpose::sandbox);
        auto trouble = writer->write(bytes);
        if (!trouble && last) trouble = writer->finish();
        if (trouble || last) writer.reset();
        return trouble;
    }

    // What it made of what is wanted.
    struct Made {
        std::vector<std::uint32_t> outputs;
        std::string missing;  // the first
    };
    Made look_for_outputs(bool good) const {
        Made made;
        for (std::uint32_t n = 0; n < lease.files->outputs.size(); ++n) {
            const wire::OutputFile& output = lease.files->outputs[n];
            if (good ? !output.on_success : !output.on_failure) continue;
            struct stat status {};
            if (::stat(path_of(output.name).c_str(), &status) == 0)
                made.outputs.push_back(n);
            else if (made.missing.empty())
                made.missing = output.name;
        }
        return made;
    }

    // The next part of its outputs, at most `most` bytes; of one that cannot be read, why.
    struct Part {
        std::uint32_t output = 0;
        std::string bytes;
        bool last = false;
        std::string unreadable;
    };
    std::optional<Part> read(std::size_t most) {
        if (next_output == outputs.size()) return std::nullopt;
        Part part{outputs[next_output], {}, false, {}};
        if (!reader) reader.emplace(path_of(lease.files->outputs[part.output].name));
        const auto trouble = reader->read(part.bytes, most);
        if (trouble) part.unreadable = trouble->what;
        part.last = reader->done();
        if (trouble || part.last) {
            reader.reset();
            ++next_output;
        }
        return part;
    }

    void note(core::Ending ending, const std::string& why) {
        if (end.outcome.ending != core::Ending::exited) return;  // else it says more
        end.outcome.ending = ending;
        end.outcome.reason = why;
    }

    // Linked inputs that it wrote to all the same are in no cache any more.
    void clean_up(Store& store) {
        incoming.reset();
        writer.reset();
        reader.reset();
        if (sandbox.empty()) return;
        files::remove_tree(AT_FDCWD, sandbox);
        if (store.cache && store.sharing == files::Sharing::linked)
            for (const wire::InputFile& one : lease.files->inputs)
                if (!one.key.empty()) store.cache->fresh(one.key);
    }
};

WorkerFiles::WorkerFiles(Background& background, std::string folder, Say say)
    : background_(background), say_(std::move(say)), store_(std::make_shared<Store>()) {
    in_background([store = store_, folder = std::move(folder)]() -> Background::Then {
        store->trouble = store->enter(folder);
        return {};
    });
}
WorkerFiles::~WorkerFiles() {
    store_->closed = true;
}

void WorkerFiles::in_background(Background::Job job) {
    background_.post(
        [job = std::move(job), store = store_, alive = std::weak_ptr(alive_)]() -> Background::Then {
            if (store->closed) return {};
            Background::Then then = job();
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

WorkerFiles::Place WorkerFiles::place_of(const Key& key) const {
    const TaskPointer task = find(key.first, key.second);
    if (!task) return Place::nowhere;
    switch (task->state) {
        case Task::State::staging:
        case Task::State::fetching:
        case Task::State::waiting:
            return Place::staging;
        case Task::State::running:
            return Place::running;
        default:
            return Place::delivering;
    }
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

void WorkerFiles::stage(wire::Lease lease) {
    auto task = std::make_shared<Task>();
    task->lease = std::move(lease);
    task->number = next_number_++;
    tasks_[task->key()] = task;
    go_on(task);
}

void WorkerFiles::go_on(const TaskPointer& task) {
    task->state = Task::State::staging;
    in_background([this, task, store = store_]() -> Background::Then {
        files::Trouble trouble;
        const bool able = !task->sandbox.empty() || task->make_sandbox(*store, trouble);
        if (able && !trouble) trouble = task->place_what_is_here(*store);
        const bool gone = trouble && store->gone();
        return [this, task, trouble, able, gone] {
            if (task->dropped) return;
            if (!able || gone) return unable(task, trouble->what, gone);
            if (trouble) return fail(task, ending_of(*trouble), trouble->what);
            if (task->next_input < task->lease.files->inputs.size()) return fetch(task);
            task->state = Task::State::running;
            events_.push_back(Staged{task->lease, task->sandbox});
        };
    });
}

void WorkerFiles::fetch(const TaskPointer& task) {
    const std::string& key = task->input().key;
    if (!key.empty()) {
        const auto [found, first] = fetching_.try_emplace(key, task);
        if (!first && found->second != task) {
            task->state = Task::State::waiting;
            waiting_.push_back(task);
            return;
        }
    }
    task->state = Task::State::fetching;
    task->consumed = 0;
    want(*task, 0);
}

void WorkerFiles::want(const Task& task, std::uint64_t consumed) {
    say_(wire::WantInput{task.lease.task, task.lease.attempt, static_cast<std::uint32_t>(task.next_input),
                         consumed + wire::input_window});
}

void WorkerFiles::on(const wire::InputPart& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task || task->state != Task::State::fetching || message.input != task->next_input) return;
    if (message.last) task->state = Task::State::staging;  // no link is needed for what follows
    in_background([this, task, store = store_, link = task->link, last = message.last,
                   input = task->next_input,
                   bytes = std::make_shared<std::string>(message.bytes)]() -> Background::Then {
        const wire::InputFile& file = task->lease.files->inputs[input];
        const files::Trouble trouble = task->take(*store, file, *bytes, last);
        const bool gone = trouble && store->gone();
        return [this, task, trouble, gone, link, last, keyed = !file.key.empty(), size = bytes->size()] {
            if (task->dropped || (task->link != link && !last)) return;
            if (gone) return unable(task, trouble->what, true);
            if (trouble) return fail(task, ending_of(*trouble), trouble->what);
            task->consumed += size;
            if (!last) return want(*task, task->consumed);
            if (!keyed) ++task->next_input;
            fetched(task);
            go_on(task);
        };
    });
}

void WorkerFiles::on(const wire::NoInput& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (task && task->state == Task::State::fetching) fail(task, core::Ending::input_missing, message.why);
}

// Whoever waited looks again: it may be in the cache now, or have come to nothing.
void WorkerFiles::fetched(const TaskPointer& task) {
    if (std::erase_if(fetching_, [&](const auto& each) { return each.second == task; }) == 0) return;
    for (const TaskPointer& other : std::exchange(waiting_, {}))
        if (!other->dropped) go_on(other);
}

void WorkerFiles::unable(const TaskPointer& task, const std::string& why, bool folder_gone) {
    events_.push_back(Unable{task->key(), why, folder_gone});
    forget(task);
}

void WorkerFiles::fail(const TaskPointer& task, core::Ending ending, const std::string& why) {
    host::TaskEnded end{task->lease.task, task->lease.attempt, {}, {}};
    end.outcome.ending = ending;
    end.outcome.exit_code = -1;
    end.outcome.reason = why;
    events_.push_back(std::move(end));
    forget(task);
}

// ---- outputs ----

void WorkerFiles::deliver(host::TaskEnded end) {
    const TaskPointer task = find(end.task, end.attempt);
    task->end = std::move(end);
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
                task->note(core::Ending::output_missing, "it made no '" + made.missing + "'");
            if (made.outputs.empty()) return delivered(task);
            send_more(task);
        };
    });
}

void WorkerFiles::send_more(const TaskPointer& task) {
    if (task->busy || task->state != Task::State::sending || task->sent >= task->upto) return;
    task->busy = true;
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(wire::part_bytes, task->upto - task->sent));
    in_background([this, task, store = store_, most, link = task->link]() -> Background::Then {
        auto part = std::make_shared<std::optional<Task::Part>>(task->read(most));
        const bool gone = *part && !(*part)->unreadable.empty() && store->gone();
        return [this, task, part, gone, link] {
            if (task->dropped || task->link != link) return;
            if (gone) return lost(task);
            task->busy = false;
            if (!*part) {
                task->state = Task::State::sent;
                return say_(wire::OutputsSent{task->lease.task, task->lease.attempt});
            }
            if (!(*part)->unreadable.empty()) {
                task->note(core::Ending::output_missing, (*part)->unreadable);
                return send_more(task);
            }
            task->sent += (*part)->bytes.size();
            say_(wire::OutputPart{task->lease.task, task->lease.attempt, (*part)->output,
                                  std::move((*part)->bytes), (*part)->last});
            send_more(task);
        };
    });
}

void WorkerFiles::on(const wire::TakeOutput& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task) return;
    task->upto = std::max(task->upto, message.upto);
    send_more(task);
}

void WorkerFiles::on(const wire::OutputsKept& message) {
    const TaskPointer task = find(message.task, message.attempt);
    if (!task || (task->state != Task::State::sending && task->state != Task::State::sent)) return;
    if (!message.trouble.empty()) task->note(core::Ending::not_transferred, message.trouble);
    delivered(task);
}

// What it made went with the workspace.
void WorkerFiles::lost(const TaskPointer& task) {
    task->end.outcome = {};
    task->end.outcome.ending = core::Ending::worker_lost;
    task->end.outcome.reason = "its workspace was removed before its outputs had left";
    delivered(task);
}

void WorkerFiles::delivered(const TaskPointer& task) {
    events_.push_back(std::move(task->end));
    forget(task);
}

// ---- ends ----

void WorkerFiles::drop(const Key& key) {
    if (const TaskPointer task = find(key.first, key.second)) forget(task);
}

void WorkerFiles::forget(const TaskPointer& task) {
    task->dropped = true;
    tasks_.erase(task->key());
    in_background([task, store = store_]() -> Background::Then {
        task->clean_up(*store);
        return {};
    });
    fetched(task);
}

void WorkerFiles::begin_streams_anew() {
    for (const auto& [key, task] : tasks_) {
        ++task->link;
        if (task->state == Task::State::fetching) {
            in_background([task]() -> Background::Then {
                task->incoming.reset();
                task->writer.reset();
                return {};
            });
            task->consumed = 0;
            want(*task, 0);
        } else if (task->state == Task::State::sending || task->state == Task::State::sent) {
            in_background([task]() -> Background::Then {
                task->reader.reset();
                task->next_output = 0;
                return {};
            });
            task->state = Task::State::sending;
            task->sent = 0;
            task->upto = wire::first_output_bytes;
            task->busy = false;
            send_more(task);
        }
    }
}

}  // namespace wq::app
