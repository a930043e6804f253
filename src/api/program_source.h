// The manager's loop reads a program's tasks here: its queue of submissions and requests.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/program_recorder.h"
#include "api/results.h"
#include "api/submitted_tasks.h"
#include "api/task_data.h"
#include "base/descriptor.h"
#include "engine/model/events.h"
#include "manager/manager.h"
#include "manager/run/source.h"

namespace wq::api {

// Category settings of a program, and warnings about them. Used on the manager's thread only.
class ProgramCategories {
  public:
    // `say` must outlive it.
    explicit ProgramCategories(const std::function<void(const std::string&)>& say) : say_(say) {}

    // Returns the category of a submitted task; `measured`: the task itself requests measurement.
    CategoryId of_task(const std::string& name, bool measured, manager::Manager& manager,
                       engine::model::Now now);
    // Whether the category has settings for the resources of its tasks.
    bool has_settings(CategoryId category, const manager::Manager& manager) const;

    void set(const std::string& name, engine::model::CategorySet what, manager::Manager& manager,
             engine::model::Now now);
    // For categories that are not known yet.
    void set_mode_of_others(engine::model::AllocationMode mode) { of_others_.mode = mode; }
    // For all categories, known or not.
    void set_steady_tasks(std::uint32_t tasks, manager::Manager& manager, engine::model::Now now);
    void set_max(const engine::model::Sizes& most, manager::Manager& manager,
                 engine::model::Now now);  // of known categories
    // Whether all tasks are measured.
    void monitor(bool measures) { measures_ = measures; }

  private:
    struct Known {
        CategoryId id;
        bool automatic = false;  // its tasks' allocation is computed
        bool has_tasks = false;  // tasks that are measured only if all are
        bool warned = false;
        bool told_of_none = false;
    };
    Known& known(const std::string& name, manager::Manager& manager, engine::model::Now now);
    void warn(const std::string& name, Known& category);
    void warn_of_none(const std::string& name, Known& category);

    const std::function<void(const std::string&)>& say_;
    std::map<std::string, Known> known_;
    engine::model::CategorySet of_others_{};
    bool measures_ = false;
};

// Carries submissions and requests, in order, from the program's threads to the manager's thread. It wakes
// the manager only if that may sleep, so submitting to a busy manager costs a lock and no system call.

// A request of a program's thread. The thread waits until the request has run or was dropped.
class Asked {
  public:
    explicit Asked(std::function<void()> request) : request_(std::move(request)) {}
    ~Asked() {
        if (!answered_) answer_.set_value(false);
    }
    Asked(const Asked&) = delete;

    std::future<bool> answer() { return answer_.get_future(); }  // whether it has run
    // Throws what the request throws; answer() throws it, too.
    void run();

  private:
    std::function<void()> request_;
    std::promise<bool> answer_;
    bool answered_ = false;
};

class CommandQueue {
  public:
    using Command = std::variant<std::unique_ptr<TaskData>, std::unique_ptr<Asked>>;

    CommandQueue();

    // Returns the first id of the task, from 1; 0: the manager accepts nothing more.
    std::int64_t submit(std::unique_ptr<TaskData> task);
    // Runs `request` on the manager's thread and waits for it. False: the manager accepts nothing more.
    // Throws what the request throws, which also ends the manager.
    bool ask(std::function<void()> request);
    // Tasks submitted so far; each call of a range counts.
    std::int64_t submitted() const;
    // Accepts nothing more; queued items will still be taken.
    void close() noexcept;
    // As close(), because the manager has failed. `why`: one line.
    void fail(std::string_view why) noexcept;
    // One line: the manager has ended, and why if it failed.
    std::string why_closed() const;
    std::string failure() const;  // why_closed() after fail(), else ""

    // ---- the manager's thread ----
    int descriptor() const { return wake_.descriptor(); }
    // Called before a wait: whether the queue has items. If not, a new item makes the descriptor readable.
    bool has_more();
    // Appends all queued items.
    void take(std::vector<Command>& commands);
    // Releases the threads that wait for a request, without running it.
    void drop_requests() noexcept;

    static void drop_requests_of(std::vector<Command>& commands) noexcept {
        for (Command& command : commands)
            if (auto* asked = std::get_if<std::unique_ptr<Asked>>(&command)) asked->reset();
    }

  private:
    void queue_command(Command command);  // with the lock

    mutable std::mutex mutex_;
    std::vector<Command> waiting_;
    std::int64_t next_id_ = 1;
    bool asleep_ = false;
    bool woken_ = false;
    bool closed_ = false;
    bool failed_ = false;
    std::string why_closed_{"the manager has ended"};
    Wake wake_;
};

class ProgramSource : public manager::run::Source {
  public:
    ProgramSource(CommandQueue& queue, SubmittedTasks& tasks, ProgramRecorder& recorder,
                  ProgramCategories& categories)
        : queue_(queue), tasks_(tasks), recorder_(recorder), categories_(categories) {}

    int descriptor() const override { return queue_.descriptor(); }
    bool has_more() override { return queue_.has_more(); }
    bool paced() const override { return false; }  // requests must get through, however many tasks wait
    Status read(manager::Manager& manager, engine::model::Now now) override;
    bool ended() const override { return false; }
    std::string name() const override { return "the program"; }

    // ---- after a failure of the manager ----

    void drop_requests() noexcept;
    // Takes the unread submissions, although no manager will know them.
    void keep_tasks();

  private:
    void submit(std::unique_ptr<TaskData>& task, manager::Manager& manager, engine::model::Now now);
    void flush(manager::Manager& manager, engine::model::Now now);
    bool like_the_last(const TaskData& task) const;

    CommandQueue& queue_;
    SubmittedTasks& tasks_;
    ProgramRecorder& recorder_;
    ProgramCategories& categories_;
    std::vector<CommandQueue::Command> commands_;
    engine::model::TaskRange range_{
        {}, 0, {}, {}};  // adjacent tasks of one shape, not yet passed to the manager
    // The shape of plain tasks follows from these.
    bool plain_ = false;
    std::string category_;
    std::string function_;  // empty: commands
};

// Unfinished tasks of a failed manager. The program gets them back one by one, as forsaken, so that a program
// that waits until its manager is empty ends. Nothing here needs memory before the failure.

// Callable on any thread. Empty until begin().
class UnfinishedTasks {
  public:
    UnfinishedTasks(SubmittedTasks& tasks, ProgramSource& source, const CommandQueue& queue, Results& results)
        : tasks_(tasks), source_(source), queue_(queue), results_(results) {}

    // The manager's thread has failed and no longer uses any of this.
    void begin() noexcept;

    // Null: none. `tag`: only tasks with this tag; "": tasks without one.
    std::unique_ptr<TaskData> next(const std::string* tag = nullptr);
    std::unique_ptr<TaskData> take(std::int64_t id);  // any id of a range finds the range
    std::vector<std::unique_ptr<TaskData>> take_category(const std::string* category);  // null: of all
    bool has(std::int64_t id);

  private:
    bool update_tasks();
    std::unique_ptr<TaskData> give_back(TaskData* task);

    SubmittedTasks& tasks_;
    ProgramSource& source_;
    const CommandQueue& queue_;
    Results& results_;
    std::mutex mutex_;
    bool begun_ = false;
    std::int64_t next_ = 1;  // lower ids were given back, or ended before
};

}  // namespace wq::api
