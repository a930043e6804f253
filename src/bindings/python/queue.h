// Memories for the large arguments of a queue's calls. To touch new memory takes several times as long as to
// copy into it, so the last memories are used again once their tasks have ended.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "api/deferred_manager.h"
#include "api/translation.h"
#include "base/memory_file.h"
#include "bindings/python/callback.h"
#include "bindings/python/py_task.h"
#include "bindings/python/text.h"
#include "bindings/python/waits.h"
#include "work_queue/mpi.h"
#include "work_queue/task.h"

namespace wq::bindings::python {

class CallMemories {
  public:
    using Shared = std::shared_ptr<const MemoryFile>;

    // With Python's lock, which it releases meanwhile. Null: there is no memory or no descriptor to spare.
    Shared with(const std::vector<std::string_view>& parts);
    void clear() { last_.clear(); }

  private:
    Shared keep(std::shared_ptr<MemoryFile> memory);

    std::vector<std::shared_ptr<MemoryFile>> last_;
};

// Amounts of resources between Python and the manager: (cores, memory, disk, gpus), -1: not specified.
using Amounts = std::tuple<double, std::int64_t, std::int64_t, double>;

// Throws ValueError for what no machine has.
inline TaskResources resources_of(const Amounts& amounts) {
    TaskResources said;
    std::tie(said.cores, said.memory, said.disk, said.gpus) = amounts;
    if (const Status sound = api::check_amounts(said); !sound)
        throw pybind11::value_error(sound.error().message);
    return said;
}

// A queue of a Python program: its manager, and the program's objects of the tasks that are in it.
class PyQueue {
  public:
    // `session`: its ranks are workers; null: none.
    PyQueue(ManagerOptions options, api::HeldPort held, std::shared_ptr<MpiSession> session);
    ~PyQueue();
    PyQueue(const PyQueue&) = delete;

    // Returns the manager, and starts it if needed. Throws RuntimeError with the reason why there is none.
    Manager& serving();
    api::DeferredManager& deferred() { return *deferred_; }
    // Lines to the user go to this function. Before the manager starts.
    void set_say(pybind11::function say);
    // It could not start, or has ended.
    bool is_over() const { return deferred_->begun() && !deferred_->shared(); }

    std::int64_t submit(const pybind11::object& task);
    CallMemories& memories() { return memories_; }
    // Without a limit if `seconds` is below 0. Returns None if no task has ended by then, and at once if none
    // is left. Raises what a signal's handler raises, KeyboardInterrupt above all.
    pybind11::object wait(double seconds, const std::optional<Text>& tag);
    pybind11::object take_back(std::optional<Task> ended);
    pybind11::list cancel_by_category(const std::string& category);
    std::vector<pybind11::object> tasks() const;  // by their ids
    // `request`: as of status_of(); throws ValueError for others.
    std::string status(const std::string& request);

    // Ids of tasks, which a program may start higher. Returns the next one.
    std::int64_t begin_ids(int least);
    // The manager's id, which no other call takes or returns; 0, which no task has: nor has it this one.
    std::int64_t of_manager(std::int64_t id) const;
    // Without tasks that only their tag returns.
    std::size_t size() const { return tasks_.size() - by_tag_only_; }
    // Ends the manager; tasks that are in it are returned by no wait() any more. No effect the second time.
    void end();
    // Called by the main thread when the interpreter ends. Other threads that then call a queue without a
    // manager are daemons: they get SystemExit, which ends them without a word. A traceback that one of them
    // is writing while the interpreter flushes stderr makes Python 3.13 abort ("_enter_buffered_busy").
    void interpreter_ends();

  private:
    // Throws: there is no manager.
    [[noreturn]] void refuse() const;

    // A thread is in the manager for a part of a wait, and the manager ends when none is. Waits own it.
    struct Waits {
        std::shared_mutex in_manager;
        std::atomic<bool> ended{false};
    };

    std::optional<std::thread::id> thread_of_the_end_;  // the interpreter's
    std::shared_ptr<MpiSession> session_;
    std::unique_ptr<api::DeferredManager> deferred_;
    std::shared_ptr<HeldLines> lines_;  // until the manager has started
    const std::shared_ptr<Waits> waits_ = std::make_shared<Waits>();
    std::unordered_map<std::int64_t, pybind11::object> tasks_;  // by the manager's ids
    std::size_t by_tag_only_ = 0;
    api::Numbering ids_;
    CallMemories memories_;
};

void bind_queue(pybind11::module_& module);
void bind_statistics(pybind11::module_& module);

// The ranks of an MPI job, which are workers of a Python program's queue.
class PyRanks {
  public:
    explicit PyRanks(std::shared_ptr<MpiSession> session) : session_(std::move(session)) {}
    ~PyRanks() { end(); }
    PyRanks(const PyRanks&) = delete;

    bool usable() const { return process_.is() && session_; }
    // Throws RuntimeError's exception after end(), and in a process that was forked from theirs.
    const std::shared_ptr<MpiSession>& session() const {
        process_.check("this object of ranks", "use it there");
        if (!session_) throw std::runtime_error("these ranks have ended");
        return session_;
    }
    // They end when their queue has ended, too.
    void end() {
        if (!process_.is()) {
            [[maybe_unused]] const auto* const left_behind =
                new std::shared_ptr<MpiSession>(std::move(session_));
            return;
        }
        without_lock([held = std::move(session_)]() mutable {
            held.reset();
            return true;
        });
    }

  private:
    OfThisProcess process_;
    std::shared_ptr<MpiSession> session_;
};

}  // namespace wq::bindings::python
