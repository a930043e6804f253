// The source of a run whose tasks are the lines of shared lists. The dispatcher works on a thread of its own,
// since a list may be locked by others for minutes; this object passes on to it what happens, and to the
// manager what it orders.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/background_thread.h"
#include "manager/manager.h"
#include "manager/task_table.h"
#include "run/source.h"
#include "shared_run/dispatcher.h"

namespace wq::shared_run {

class SharedSource final : public run::Source {
  public:
    // `say` is called on the manager's thread. `shape`: of each line's task.
    SharedSource(DispatcherOptions options, core::Shape shape, manager::TaskTable& tasks,
                 std::function<void(const std::string&)> say);
    ~SharedSource() override;

    int descriptor() const override { return thread_->descriptor(); }
    bool has_more() override;
    bool paced() const override { return false; }
    std::optional<Instant> wakeup() const override;
    Status read(manager::Manager& manager, core::Now now) override;
    bool ended() const override { return ended_; }
    std::string name() const override { return name_; }

    // Something happened to a worker or a task of the run.
    template <class One>
    void happened(One event) {
        events_.emplace_back(std::move(event));
    }
    // Whether the output of a task that ends is needed with its LineEnded.
    bool wants_output(TaskId task) const;
    // The ticket of a task of this source, which has ended.
    std::optional<std::uint64_t> take_ticket(TaskId task);

    // After the run: marks what still ran. Returns whether a line has failed or waits for one that has.
    Result<bool> close();

  private:
    void begin_turn();
    void end_turn(Turn turn);
    void carry_out(const Order& order, manager::Manager& manager, core::Now now);
    void end_lapsed(manager::Manager& manager, core::Now now);
    void forget(std::uint64_t ticket, manager::Manager& manager, core::Now now);

    core::Shape shape_;
    manager::TaskTable& tasks_;
    std::function<void(const std::string&)> say_;
    std::string name_;
    // Lines for the user, from the dispatcher's thread.
    class Said {
      public:
        void add(const std::string& line);
        bool any();
        std::vector<std::string> take();

      private:
        std::mutex mutex_;
        std::vector<std::string> lines_;
    };
    std::shared_ptr<Said> said_ = std::make_shared<Said>();
    std::shared_ptr<Dispatcher> dispatcher_;
    std::vector<Event> events_;
    std::vector<Order> orders_;
    std::unordered_map<TaskId, std::uint64_t> tickets_;
    struct Place {
        TaskId task;
        WorkerId seat;
    };
    std::map<std::uint64_t, Place> tasks_of_tickets_;
    std::set<std::uint64_t> probes_;
    std::map<WorkerId, Instant> lapses_;             // see Turn::lapses
    std::map<WorkerId, std::uint64_t> environment_;  // position of each worker's last line
    std::uint64_t positions_ = 0;
    bool busy_ = false;  // a turn is under way
    bool over_ = false;
    bool ended_ = false;
    Instant next_{};
    std::optional<Error> problem_;
    std::unique_ptr<BackgroundThread> thread_;  // last: ends before what its jobs use
};

}  // namespace wq::shared_run
