// The source of a run whose tasks are the lines of shared lists. The dispatcher works on a thread of its own,
// since a list may be locked by others for minutes; this object passes on to it what happens, and to the
// manager what it orders.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/background.h"
#include "manager/manager.h"
#include "manager/run/source.h"
#include "manager/task_table.h"
#include "records/journal/records.h"
#include "shared_list/source/dispatcher.h"
#include "shared_list/source/dispatcher_reports.h"

namespace wq::shared_list::source {

class SharedSource final : public manager::run::Source {
  public:
    // `say` is called on the manager's thread. `shape`: of each line's task.
    SharedSource(DispatcherOptions options, engine::model::Shape shape, manager::TaskTable& tasks,
                 std::function<void(const std::string&)> say);
    ~SharedSource() override;

    int descriptor() const override { return thread_->descriptor(); }
    bool has_more() override;
    bool paced() const override { return false; }
    // Its workers give signs of life as long as their lines run.
    bool works_while_stopping() const override { return true; }
    std::optional<Instant> wakeup() const override;
    Status read(manager::Manager& manager, engine::model::Now now) override;
    bool ended() const override { return ended_; }
    std::string name() const override { return name_; }

    // A worker of the run joined: it has a seat if it has room for a line.
    void joined(const records::journal::WorkerRecord& record);
    void left(WorkerId seat) { events_.emplace_back(SeatLeft{seat}); }
    // A task has ended; `end` makes its event of its ticket and whether it is a probe. No task of this
    // source: it is not asked.
    void ended(TaskId task, const std::function<LineEnded(std::uint64_t ticket, bool probe)>& end);

    // After the run: marks what still ran. Returns whether a line has failed or was left. It may wait for the
    // list's lock, or for a master: if `gives_up` says so, it ends with the error `interrupted`.
    Result<bool> close(const std::function<bool()>& gives_up);

  private:
    struct Ticket {
        TaskId task;
        WorkerId seat;
        bool probe = false;
    };
    void begin_turn(bool gives);
    void end_turn(Turn turn);
    void carry_out(const Order& order, manager::Manager& manager, engine::model::Now now);
    void begin(const RunLine& line, manager::Manager& manager, engine::model::Now now);
    void forget(std::uint64_t ticket, manager::Manager& manager, engine::model::Now now);

    void end_lapsed(manager::Manager& manager, engine::model::Now now);
    void note_lapse(WorkerId seat);
    void say_all();

    engine::model::Shape shape_;
    Duration lease_;
    manager::TaskTable& tasks_;
    std::function<void(const std::string&)> say_;
    std::string name_;
    std::shared_ptr<UserLines> said_ = std::make_shared<UserLines>();
    std::shared_ptr<SeatBeats> beats_ = std::make_shared<SeatBeats>();
    std::shared_ptr<Dispatcher> dispatcher_;
    std::vector<Event> events_;
    std::vector<Order> orders_;
    std::unordered_map<TaskId, std::uint64_t> tickets_;
    std::map<std::uint64_t, Ticket> running_;        // by ticket
    std::optional<Instant> lapses_;                  // no seat that runs a line lapses before
    std::map<WorkerId, std::uint64_t> environment_;  // position of each worker's last line
    std::uint64_t positions_ = 0;
    bool busy_ = false;  // a turn is under way
    bool over_ = false;
    bool ended_ = false;
    Instant next_{};
    std::optional<Error> problem_;
    std::unique_ptr<BackgroundThread> thread_;  // last: ends before what its jobs use
};

}  // namespace wq::shared_list::source
