// The source of a run whose tasks are the lines of shared lists. The dispatcher works on a thread of its own,
// since a list may be locked by others for minutes; this object passes on to it what happens, and to the
// manager what it orders.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/ids.h"
#include "base/time.h"
#include "manager/manager.h"
#include "manager/run/source.h"
#include "manager/task_table.h"
#include "records/journal/records.h"
#include "records/recorder/recorder.h"
#include "shared_list/source/dispatcher.h"

namespace wq::shared_list::source {

// What the manager's thread hears from the dispatcher's while a turn is under way.

// Lines for the user.
class UserLines {
  public:
    void add(const std::string& line) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
    }
    bool any() {
        const std::lock_guard lock(mutex_);
        return !lines_.empty();
    }
    std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(lines_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

// When each seat gave its last sign of life.
class SeatBeats {
  public:
    void record_beat(WorkerId seat, Instant when) {
        const std::lock_guard lock(mutex_);
        last_[seat] = when;
    }
    std::optional<Instant> last(WorkerId seat) {
        const std::lock_guard lock(mutex_);
        const auto found = last_.find(seat);
        return found == last_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    std::mutex mutex_;
    std::map<WorkerId, Instant> last_;
};

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
    void carry_out(const DispatchOrder& order, manager::Manager& manager, engine::model::Now now);
    void begin(const RunLine& line, manager::Manager& manager, engine::model::Now now);
    void forget(std::uint64_t ticket, manager::Manager& manager, engine::model::Now now);

    void end_lapsed(manager::Manager& manager, engine::model::Now now);
    void note_lapse(WorkerId seat);
    void print_lines();

    engine::model::Shape shape_;
    Duration lease_;
    manager::TaskTable& tasks_;
    std::function<void(const std::string&)> say_;
    std::string name_;
    std::shared_ptr<UserLines> said_ = std::make_shared<UserLines>();
    std::shared_ptr<SeatBeats> beats_ = std::make_shared<SeatBeats>();
    std::shared_ptr<Dispatcher> dispatcher_;
    std::vector<Event> events_;
    std::vector<DispatchOrder> orders_;
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

// Passes all records on, and tells the source of shared lists what concerns it: workers that join and leave,
// and ends of its tasks.
class MarkingRecorder final : public records::recorder::Recorder {
  public:
    explicit MarkingRecorder(std::unique_ptr<records::recorder::Recorder> to) : to_(std::move(to)) {}
    // Null, at first: nobody is told.
    void set_source(SharedSource* source) { source_ = source; }

    Wants wants() const override { return to_->wants(); }
    bool wants_beginning(TaskId task) const override { return to_->wants_beginning(task); }
    void task(records::recorder::Recorded ended) override;
    void range(const records::journal::RangeRecord& record) override { to_->range(record); }
    void cancelled(const IntervalSet& tasks, WallMicros when) override { to_->cancelled(tasks, when); }
    void skipped(const IntervalSet& tasks, const std::string& why, WallMicros when) override;
    void worker(const records::journal::WorkerRecord& record) override;
    void sample(const records::journal::Sample& sample) override { to_->sample(sample); }
    void category(CategoryId id, std::string name) override { to_->category(id, std::move(name)); }
    void category_changed(const records::journal::CategoryRecord& record) override {
        to_->category_changed(record);
    }
    void ask(const records::journal::AskRecord& record) override { to_->ask(record); }
    void worker_changed(const records::journal::WorkerChangeRecord& record) override {
        to_->worker_changed(record);
    }
    void waiting(const records::journal::WaitingRecord& record) override { to_->waiting(record); }
    void transaction(WallMicros when, std::string text) override { to_->transaction(when, std::move(text)); }
    void write_at_once() override { to_->write_at_once(); }
    std::uint64_t acknowledged() const override { return to_->acknowledged(); }
    std::uint64_t backlog_bytes() const override { return to_->backlog_bytes(); }
    int descriptor() const override { return to_->descriptor(); }
    void settle() override { to_->settle(); }
    std::optional<std::string> trouble() const override { return to_->trouble(); }
    std::vector<std::string> notices() override { return to_->notices(); }
    Status close() override { return to_->close(); }
    Unrecorded unrecorded() const override { return to_->unrecorded(); }

  private:
    std::unique_ptr<records::recorder::Recorder> to_;
    SharedSource* source_ = nullptr;
};

}  // namespace wq::shared_list::source
