// An executor: its lanes, the thread that collects their results, and the queue where these are taken from.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "functions/pool/lane.h"
#include "functions/pool/result_queue.h"
#include "functions/pool/zygote.h"
#include "work_queue/job_executor.h"

namespace wq::functions::pool {

class Executor {
  public:
    // Of options that check_options() has accepted.
    Executor(detail::JobFunction function, int workers, const JobExecutorOptions& options, ZygoteLink zygote);
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    void start(Duration timeout);
    void close(Duration timeout);
    void abort();
    bool is_full() const;
    bool has_room() const;  // throws as put()
    bool is_idle();
    bool put(Batch& batch);
    std::optional<JobResult<Batch>> take(std::optional<Duration> timeout);
    // One of a job that failed, if it is here; before others.
    std::optional<JobResult<Batch>> take_failure();
    void reset();
    void report(std::ostream& to);
    std::size_t results_here() const { return results_.size(); }
    std::size_t most_results() const { return lanes_.empty() ? 0 : results_.most(); }  // 0: no limit

    // In a child that the program has forked: neither the thread nor the workers are its own.
    bool is_copy() const { return owner_ != getpid(); }

  private:
    enum class State : std::uint8_t { made, running, closing, closed };

    void check_open() const;
    void check_some_are_left() const;
    Lane* lane_with_room() const;
    bool run_here(Batch& batch);
    bool is_running() const;
    void ring() const;

    JobResult<Batch> taken(Finished result);
    std::optional<Finished> take_gathered(std::optional<Duration> timeout);
    void note_taker(bool waits);

    void collect();
    bool gather();
    bool move_results();
    bool must_move() const;
    void wait();
    std::optional<Instant> wakes_at() const;
    void take_reports();
    void look_at_lanes();
    bool close_lanes();
    void kill_lanes();
    void end_zygote(Instant until);
    void kill_zygote() const;

    const std::size_t memory_to_keep_;
    const KeepBlocks keep_blocks_;
    const JobExecutorOptions options_;
    const pid_t owner_ = getpid();
    FunctionPlace function_;
    ZygoteLink zygote_;
    LaneLinks links_;
    std::optional<Wake> doorbell_;              // none without lanes
    std::vector<std::unique_ptr<Lane>> lanes_;  // none: jobs run here
    ResultQueue results_;
    std::mutex gather_mutex_;  // one at a time adds to results_
    Yields yields_;
    std::mutex takers_mutex_;
    int takers_ = 0;  // that wait
    std::thread collector_;

    std::mutex put_mutex_;
    std::size_t next_lane_ = 0;
    std::uint64_t next_job_ = 0;
    std::atomic<bool> waits_for_room_{false};
    std::atomic<bool> abort_{false};
    std::atomic<bool> runs_here_{false};  // a function; false again by state_mutex_

    mutable std::mutex state_mutex_;
    std::condition_variable state_changed_;
    State state_ = State::made;
    bool all_up_ = false;
    std::string why_none_;    // why there are no workers; empty: there are
    std::string why_not_up_;  // why one is gone before all were up
    Instant close_at_{};
    Instant kill_at_{};
    bool zygote_gone_ = false;

    std::mutex close_mutex_;  // one closes, others wait for that
    bool killed_ = false;     // the collector's
    bool stopped_ = false;    // the collector's
};

// For poll(): milliseconds, rounded up, and a minute at most.
int poll_limit(Instant until);

// Throws SetupError.
void check_options(int workers, const JobExecutorOptions& options);

}  // namespace wq::functions::pool
