// From the manager's thread to the program's: tasks that have ended, in the order of their ends, and how many
// are still to come. Also what only the program's side knows of time: how long it was outside wait().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/waiting_results.h"
#include "base/time.h"

namespace wq::api {

class Results {
  public:
    explicit Results(Instant started) : outside_since_(started) {}

    // ---- the program's threads ----

    // A task is about to be submitted: that many more ends are to come.
    void expect(const TaskData& task);
    // One of this tag was not submitted after all, or is given back by other ways.
    void forget(const std::string& tag);

    // The next one, until `limit` (nothing: for ever); at once nothing when none is to come. `tag`: of this
    // tag only; "": of tasks without one. One whose summary is wanted comes once that is written.
    std::unique_ptr<TaskData> wait(std::optional<Instant> limit, const std::string* tag = nullptr);
    // One that has ended and was not returned: it is taken out, as cancelled.
    std::unique_ptr<TaskData> take(std::int64_t id);
    std::unique_ptr<TaskData> take_tagged(const std::string& tag);
    std::vector<std::unique_ptr<TaskData>> take_category(const std::string* category);  // null: of all

    bool empty() const;
    bool holds(std::int64_t id) const;

    struct Figures {
        std::int64_t waiting = 0;   // for wait()
        std::int64_t returned = 0;  // tasks and calls
        std::int64_t failed = 0;    // of these, with another result than success
        std::int64_t outside_us = 0;
    };
    Figures figures() const;
    // Calls of wait() that found nothing yet.
    std::size_t waiters() const;

    // ---- the manager's thread ----

    // Then the next put() needs no memory, unless it is `extra`.
    void make_room();
    // Ended; a further one than was expected where `extra` (a failed call of a range).
    void put(std::unique_ptr<TaskData> ended, bool extra);
    // Progress of a range: joined with what waits of it already. The range itself is over where it is
    // complete.
    void progress(const TaskData& range, const RangeProgress& news);
    // wait() finds results only after this call.
    void publish();
    // Nothing more will come: who waits is told. What memory ran out for is made ready when it is asked for.
    void end() noexcept;
    // A cancelled task is handed back by other ways. Of a range: what it had to report and nobody has heard.
    RangeProgress cancelled(const TaskData& task);

    // ---- any thread ----

    // The task's summary is: it can be waited for.
    void written(std::int64_t id);

  private:
    using Place = WaitingResults::Place;
    struct Fresh {
        std::unique_ptr<TaskData> task;
        bool last = true;
    };
    std::unique_lock<std::mutex> look();
    void make_all_ready();
    std::unique_ptr<TaskData> pop(WaitingResults& from, Place place);
    std::unique_ptr<TaskData> pop_returned(Place place);
    std::unique_ptr<TaskData> pop_ended(WaitingResults& from, Place place);
    Place find(const std::string* tag);
    bool none_to_come(const std::string* tag) const;
    void merge(Fresh& fresh);
    void merge_fresh();
    void uncount(const std::string& tag);

    mutable std::mutex mutex_;
    std::condition_variable there_is_one_;
    WaitingResults ready_;
    WaitingResults unwritten_;                               // but for their summaries they were ready
    std::unordered_map<std::string, std::uint64_t> tagged_;  // to come or ready, by tag
    std::uint64_t to_come_ = 0;                              // or ready
    std::size_t waiters_ = 0;
    bool ended_ = false;
    Figures figures_;
    std::size_t inside_ = 0;  // threads in wait()
    Instant outside_since_;

    std::vector<Fresh> fresh_;  // the manager's thread, until the end: not yet published
};

}  // namespace wq::api
