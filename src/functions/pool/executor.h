// An executor, as the program uses it: jobs are put into its lanes, and results are taken from its queue.
#pragma once

#include <iosfwd>
#include <mutex>
#include <optional>

#include "base/time.h"
#include "functions/pool/collector.h"
#include "functions/pool/executor_state.h"
#include "functions/pool/lane.h"
#include "functions/pool/result_queue.h"
#include "functions/pool/storage.h"
#include "functions/pool/zygote.h"
#include "work_queue/job_executor.h"

namespace wq::functions::pool {

// Threads that wait for results. While there are any, workers wake them for each result.
class WaitingTakers {
  public:
    explicit WaitingTakers(const JobLanes& lanes) : lanes_(lanes) {}
    void enter();
    void leave();

  private:
    const JobLanes& lanes_;
    std::mutex mutex_;
    int count_ = 0;
};

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

    bool is_copy() const { return state_.is_copy(); }

  private:
    void check_some_are_left() const;
    JobLane* lane_with_room() const;
    bool run_here(Batch& batch);
    FinishedJob call(Batch& batch, std::uint64_t session);
    void wake_collector() const;
    void gather();

    JobResult<Batch> taken(FinishedJob result);
    std::optional<FinishedJob> take_gathered(std::optional<Duration> timeout);

    const JobExecutorOptions options_;
    const KeepBlocks keep_blocks_;
    FunctionPlace function_;
    ZygoteLink zygote_;
    LaneLinks links_;
    JobLanes lanes_;  // none: jobs run here
    ExecutorState state_;
    ResultQueue results_;
    std::optional<Collector> collector_;  // none without lanes
    WaitingTakers takers_{lanes_};
    Yields yields_;

    std::mutex put_mutex_;  // for the next two
    std::size_t next_lane_ = 0;
    std::uint64_t next_job_ = 0;
    std::mutex close_mutex_;  // one closes, others wait for that
};

// Throws SetupError.
void check_options(int workers, const JobExecutorOptions& options);

}  // namespace wq::functions::pool
