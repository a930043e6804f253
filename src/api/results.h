// Carries ended tasks from the manager's thread to the program, in the order of their ends, and counts those
// still to come. Also measures the program's time outside wait().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/task_data.h"
#include "base/time.h"

namespace wq::api {

// Results that wait for the program, in the order of their ends. Finding the first of all, the first of a
// tag, or one by id takes the same time however many wait.
class WaitingResults {
  public:
    struct Entry {
        std::unique_ptr<TaskData> task;
        bool last = true;  // no other end of this id will come
        std::list<std::list<Entry>::iterator>::iterator of_tag{};
    };
    using Position = std::list<Entry>::iterator;

    std::size_t size() const { return all_.size() + by_tag_only_.size(); }
    // Without those that only their tag returns.
    std::size_t untagged() const { return all_.size(); }
    Position begin() { return all_.begin(); }
    Position end() { return all_.end(); }
    // Any of all, of which there must be one.
    Position any() { return all_.empty() ? by_tag_only_.begin() : all_.begin(); }

    // If it throws std::bad_alloc, nothing has changed.
    void add_ended(std::unique_ptr<TaskData>&& task, bool last);
    std::unique_ptr<TaskData> take(Position place);
    // Throws like add_ended().
    void move_to(WaitingResults& other, Position place);

    // end(): none.
    Position first_of(const std::string& tag);
    Position of(std::int64_t id);
    Position report_of_range(std::int64_t id);
    bool has(std::int64_t id) const { return by_id_.contains(id); }

  private:
    void remove(Position place, const TaskData& task);
    template <class Wanted>
    Position find(std::int64_t id, Wanted&& wanted);

    std::list<Entry>& list_of(const TaskData& task) { return task.by_tag_only ? by_tag_only_ : all_; }

    std::list<Entry> all_;
    std::list<Entry> by_tag_only_;
    std::unordered_map<std::string, std::list<Position>> by_tag_;
    // A range has the same id as its first call, which may also wait.
    std::unordered_multimap<std::int64_t, Position> by_id_;
};

class Results {
  public:
    explicit Results(Instant started) : outside_since_(started) {}

    // ---- the program's threads ----

    // A task is about to be submitted: expects all its ends.
    void expect(const TaskData& task);
    // A task with this tag was not submitted after all, or is returned by another call.
    void forget(const std::string& tag, bool by_tag_only);

    // Returns the next ended task; waits until `limit` (nothing: no limit), but returns nothing at once if
    // none is to come. `tag`: only tasks with this tag; "": tasks without one; null: all but those that only
    // their tag returns. A task with a summary is returned once the summary is written.
    std::unique_ptr<TaskData> wait(std::optional<Instant> limit, const std::string* tag = nullptr);
    // Waits until all tasks have ended that wait() returns without a tag. False: some have not by `limit`.
    bool gather(Instant limit);
    // Removes an ended task that was not returned yet, because it is cancelled.
    std::unique_ptr<TaskData> take(std::int64_t id);
    std::unique_ptr<TaskData> take_tagged(const std::string& tag);
    std::vector<std::unique_ptr<TaskData>> take_category(const std::string* category);  // null: of all

    bool empty() const;  // but for tasks that only their tag returns
    bool holds(std::int64_t id) const;

    struct Figures {
        std::int64_t waiting = 0;   // for wait()
        std::int64_t returned = 0;  // tasks and calls
        std::int64_t failed = 0;    // of these, with another result than success
        std::int64_t outside_us = 0;
    };
    Figures figures() const;
    // Calls of wait() that are still waiting.
    std::size_t waiters() const;

    // ---- the manager's thread ----

    // Afterwards the next add_ended() needs no memory.
    void make_room();
    // Adds an ended task.
    void add_ended(std::unique_ptr<TaskData> ended);
    void add_unexpected(std::unique_ptr<TaskData> ended);  // a failed call of a range
    // Merges the progress of a range with its waiting report. The range ends once `complete`.
    void progress(const TaskData& range, const RangeProgress& news);
    // Makes results visible to wait().
    void publish();
    // Nothing more will come: wakes all waiters. Results that ran out of memory are completed when requested.
    void end() noexcept;
    // A cancelled task is returned by another call. For a range, returns its unreported progress.
    RangeProgress cancelled(const TaskData& task);

    // ---- any thread ----

    // The task's summary is written: wait() may return it.
    void written(std::int64_t id);

  private:
    using Position = WaitingResults::Position;
    struct Fresh {
        std::unique_ptr<TaskData> task;
        bool last = true;
    };
    std::unique_lock<std::mutex> lock_ended();
    void make_all_ready();
    std::unique_ptr<TaskData> pop(WaitingResults& from, Position place);
    std::unique_ptr<TaskData> pop_returned(Position place);
    std::unique_ptr<TaskData> pop_ended(WaitingResults& from, Position place);
    Position find(const std::string* tag);
    bool none_to_come(const std::string* tag) const;
    void merge(Fresh& fresh);
    void merge_fresh();
    void uncount(const std::string& tag, bool by_tag_only);

    mutable std::mutex mutex_;
    std::condition_variable there_is_one_;
    WaitingResults ready_;
    WaitingResults unwritten_;                               // ready but for their summaries
    std::unordered_map<std::string, std::uint64_t> tagged_;  // to come or ready, by tag
    std::uint64_t to_come_ = 0;                              // or ready, for a wait without a tag
    std::size_t waiters_ = 0;
    bool ended_ = false;
    Figures figures_;
    std::size_t inside_ = 0;  // threads in wait()
    Instant outside_since_;

    std::vector<Fresh> fresh_;  // used by the manager's thread until end(): not yet published
};

}  // namespace wq::api
