// Results in the program, until somebody takes them.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "functions/pool/channel.h"
#include "functions/pool/page.h"
#include "work_queue/job_executor.h"

namespace wq::functions::pool {

// A result as it came: it is decoded by the thread that takes it.
struct FinishedJob {
    JobMetadata metadata;
    Outcome outcome = Outcome::value;
    std::string bytes;
    std::size_t start = 0;  // of the payload in them
    Blocks blocks;

    JobResult<Batch> decoded() &&;
    void drop();
};

// Users say "for ever" by times that no clock can count.
inline Duration at_most_a_year(Duration time) {
    return std::min<Duration>(time, std::chrono::hours(24 * 365));
}

inline JobMetadata::Time time_of(Nanos nanos) {
    return JobMetadata::Time(std::chrono::nanoseconds(nanos));
}

class ResultQueue {
  public:
    explicit ResultQueue(std::size_t most) : most_(most) {}
    ~ResultQueue() { clear(); }

    // A job begins, of this session; or it does not after all.
    std::uint64_t expect();
    void unexpect();
    std::size_t expected() const;

    bool has_room() const;
    // Of a job that was expected. Drops it if it was not run, or is of an older session. Only one thread
    // adds, so that has_room() stays true for it.
    void add(FinishedJob result);
    // nullopt: none came in time, or none can come. Without a time: also if none is expected.
    std::optional<FinishedJob> take(std::optional<std::chrono::nanoseconds> timeout);
    // The first of a job that failed, before others. nullopt: there is none.
    std::optional<FinishedJob> take_failure();
    // Whether a thread that waits for room should be woken.
    bool has_room_again() const;
    std::uint64_t begin_session();
    std::uint64_t session() const;
    void close();  // nothing will be added
    bool is_over() const;
    std::size_t size() const;
    std::size_t most() const { return most_; }

  private:
    void clear();

    const std::size_t most_;
    mutable std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<FinishedJob> results_;
    std::uint64_t session_ = 0;
    std::size_t expected_ = 0;
    bool closed_ = false;
};

}  // namespace wq::functions::pool
