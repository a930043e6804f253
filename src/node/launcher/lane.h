// Threads that start and reap commands. Each is bound to one core.
//
// With one thread for all cores, a core that becomes free waits for that thread, which the kernel wakes on
// the core where it ran last: with commands of 0.7 ms on two cores, 8 % of the time. A thread that is bound
// to the core is woken there, at once. All of them work on the same state, one at a time; the launcher's loop
// is one more that does so.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "node/launcher/accounts.h"
#include "node/machine/cpu_mask.h"
#include "node/process/capture.h"
#include "node/process/poller.h"
#include "node/process/spawn.h"
#include "node/process/task_environment.h"
#include "node/usage/running_tasks.h"

namespace wq::node::launcher {

class Starters {
  public:
    using Index = std::size_t;                        // of its core in the slice
    static constexpr Index loop = ~std::size_t{0};    // the launcher's loop, which can start anything
    static constexpr std::size_t most_starters = 64;  // cores beyond have none

    class Work {
      public:
        // Called with the lock held. `child_ended`: a child of this thread has ended and is not reaped.
        // False: no starter has anything more to do.
        virtual bool run_turn(Index starter, bool child_ended) = 0;

      protected:
        ~Work() = default;
    };

    // `cores`: what each is bound to; an empty mask: to nothing. A thread is created when it is first asked.
    // It runs until the process ends, as its children would be killed when it ends: so this object, `work`
    // and what that uses must stay until then.
    Starters(std::vector<machine::CpuMask> cores, Work& work);

    // What the caller holds while it works on the common state.
    std::mutex& lock() { return lock_; }

    // The one for tasks on this core; `loop` if there is none.
    Index of_core(std::size_t core) const { return core < starters_.size() ? core : loop; }

    // With the lock held. Gives `starter` a turn, so that it does what `by` found. False if `by` must do it,
    // because
    //   the starter waits for a child and cannot be told,
    //   or it cannot be created,
    //   or it was asked before and has not come (another program may have its core); only the loop can wait.
    bool leave_to(Index starter, Index by);
    void ask_loop();
    // Becomes readable when the loop was asked, until taken.
    int descriptor() const { return loop_asked_.descriptor(); }
    void take();

  private:
    struct Starter {
        Starter(Starters& all, Index core, machine::CpuMask mask_of_core)
            : owner(all), index(core), mask(std::move(mask_of_core)) {}
        Starters& owner;
        Index index;
        machine::CpuMask mask;
        std::condition_variable asked;
        bool there = false;  // the thread exists
        bool idle = true;    // it waits to be asked
        bool wanted = false;
    };
    bool ask(Index starter);
    bool create(Index starter);
    static void* run_starter(void* starter);
    void run(Starter& self);

    Work& work_;
    std::mutex lock_;
    std::deque<Starter> starters_;
    Wake loop_asked_;
};

// A lane runs one task after the other, so that pipes, environment and temporary directory are created once
// per lane, not once per task.

// What a task's process starts with. The process reads this memory until it has executed the file.
struct Execution {
    process::ChildStack stack;
    std::string file;
    std::vector<char*> argv;
    char* const* envp = nullptr;
    machine::CpuMask mask;
    enum class Try : std::uint8_t { first, searched_again, by_shell } attempt = Try::first;
};

struct Lane : usage::RunningTask {
    Lane(std::size_t number, const process::BaseEnvironment& base, const std::string& temporary,
         const std::string& gpu_variable, process::HostFiles& hosts)
        : usage::RunningTask(temporary), index(number), environment(base, temporary, gpu_variable, hosts) {}

    std::size_t index;
    process::Capture out;
    process::Capture err;
    process::TaskEnvironment environment;

    // Tells a subshell of the worker's shell to continue. It belongs to the lane, not the shell, because a
    // task that is killed before it reads its line would leave that line to the next task.
    Descriptor go_read;
    Descriptor go_write;

    // State of the running task.
    Execution execution;
    Starters::Index starter = Starters::loop;  // whose child it is
    bool executed = false;                     // its process is known to run its own program
    Holding holding;
    std::string cores_list;
    std::string visible_gpus;
    Descriptor result;               // memory that a call's process writes to
    std::uint64_t ended_before = 0;  // number of ended tasks when its start began
    bool announced = false;          // TaskStarted was reported
    bool watched = false;            // its pipes are in the epoll set
};

// All lanes of a launcher, used last in first out so that few stay warm.
class Lanes {
  public:
    Lanes(const process::BaseEnvironment& base, std::string scratch, std::string gpu_variable)
        : base_(base),
          scratch_(std::move(scratch)),
          gpu_variable_(std::move(gpu_variable)),
          hosts_(scratch_) {}

    Lane* acquire();           // nullptr, with errno set: no memory or descriptors
    void retire(Lane& lane);   // its task no longer runs
    void release(Lane& lane);  // ready for the next task
    Lane& at(std::size_t index) { return *all_[index]; }

    const usage::RunningTasks& running() const { return running_; }
    Lane* by_pid(pid_t pid) const { return static_cast<Lane*>(running_.by_pid(pid)); }
    Lane* by_task(TaskId task, Attempt attempt) const {
        return static_cast<Lane*>(running_.by_task(task, attempt));
    }
    static Lane& lane_of(usage::RunningTask& task) {
        return static_cast<Lane&>(task);
    }  // `task`: from running()

  private:
    const process::BaseEnvironment& base_;
    std::string scratch_;
    std::string gpu_variable_;
    process::HostFiles hosts_;
    std::vector<std::unique_ptr<Lane>> all_;
    std::vector<Lane*> idle_;
    usage::RunningTasks running_;
};

// Reads what tasks and the worker's shell write while they run, so that a full pipe does not stop them.
class OutputWatch {
  public:
    explicit OutputWatch(process::Poller& poller) : poller_(poller) {}

    void started() { ++unwatched_; }
    void ended(Lane& lane);  // for each started() task
    bool owed() const { return unwatched_ > 0; }
    Instant next(Instant now) const;                 // when to look for tasks that are due; max: never
    static bool due(const Lane& lane, Instant now);  // it has run long enough, and is not watched yet
    void watch(Lane& lane);

    // Watches for one event only, so it is called again after each. The pipe stays in the poller, disarmed.
    void watch_stream(process::Capture& capture, process::PollSource source, std::size_t number);
    void drain(process::Capture& capture, process::PollSource source, std::size_t number);

  private:
    process::Poller& poller_;
    // Running tasks whose output is not watched yet. Most tasks end before it is: to be woken by what they
    // write, and again by their end, would cost a good part of a short task.
    std::size_t unwatched_ = 0;
};

}  // namespace wq::node::launcher
