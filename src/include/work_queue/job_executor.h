// Runs a function over batches in worker processes, with bounded queues. After trw's JobExecutor2.
//
//   wq::Batch decode(wq::Batch batch);
//
//   int main() {
//       wq::JobExecutor executor(decode, 4);  // before any thread
//       executor.start();
//       for (wq::Batch& batch : batches)
//           while (!executor.put(std::move(batch)))
//               if (auto result = executor.take()) use(*result);
//       while (auto result = executor.take()) use(*result);
//   }
//
// A worker that dies is started again; the job that it was at is a result with an error. Each job that put()
// took gives exactly one result, until reset(), abort() or close().
//
// The constructor forks a process that later forks the workers, so they see the memory of the program as it
// was then. In a program that has threads or MPI already, make the executor from its MpiSession. Workers
// have no descriptors of the program but stdout and stderr, handle no signals, run no exit handlers, and end
// with the program.
//
// All functions may be called by several threads at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "work_queue/batch.h"
#include "work_queue/error.h"

namespace [[gnu::visibility("default")]] wq {

class MpiSession;

struct JobExecutorOptions {
    std::size_t max_queue_size_per_worker = 2;  // jobs that wait at a worker; results that wait there
    std::size_t max_queue_size_pin_thread_per_worker = 3;  // results here, times the number of workers
    std::optional<std::size_t> max_queue_size_pin{};       // results here, in all; none: the line above
    // For programs written for the original, whose loops look at their queues as often as this; here nothing
    // polls, and it has no effect.
    std::chrono::nanoseconds wait_time = std::chrono::milliseconds(1);
    bool wait_until_processes_start = true;  // start() returns when all workers are ready
    bool restart_crashed_worker = true;      // false: the jobs of a worker that died are errors
    std::uint32_t retries = 0;               // how often a job is tried again if its worker died
    std::uint64_t seed = 0;                  // worker i gets seed + i
};

// Times of a job on one clock, which all processes of this machine share. `begun`, `processed` and `queued`
// are zero in the result of a job whose worker died.
struct JobMetadata {
    using Time = std::chrono::steady_clock::time_point;
    Time created{};             // put() took it
    Time begun{};               // its worker began the function
    Time processed{};           // the function ended
    Time queued{};              // the result was in the worker's queue
    Time collected{};           // the result was in the program's queue
    std::uint64_t job = 0;      // counted by put(), from 0
    std::uint64_t session = 0;  // number of reset() before it
    int worker = 0;
    std::uint32_t attempt = 1;  // above 1: workers died of it before
};

template <class Out = Batch>
struct JobResult {
    JobMetadata metadata;
    std::optional<Out> value;  // none: the job failed
    std::string error;         // why; what an exception says, or how the worker died
    explicit operator bool() const { return value.has_value(); }
};

// What a function may ask about where it runs: Batch f(Batch, const JobContext&).
struct JobContext {
    int worker = 0;
    std::uint64_t seed = 0;  // of the worker
    std::uint32_t attempt = 1;
    std::uint64_t session = 0;
    std::function<bool()> stopping;  // whether nobody wants the result any more: reset(), close() or abort()
};

// put() throws it when there is nobody to take a job: before start(), after close() or abort(), or when all
// workers are gone for good.
class ExecutorClosed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// How values other than Batch travel: specialise it with these two functions for your types.
template <class T>
struct BatchConversion {
    static Batch to_batch(const T& value) {
        Batch batch;
        batch.set("value", value);
        return batch;
    }
    static T from_batch(Batch&& batch) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(batch.integer("value"));
        else if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(batch.number("value"));
        else if constexpr (std::is_same_v<T, Array>)
            return std::move(batch.array("value"));
        else
            return batch.text("value");
    }
};
template <>
struct BatchConversion<Batch> {
    static Batch to_batch(Batch value) { return value; }
    static Batch from_batch(Batch&& batch) { return std::move(batch); }
};

namespace detail {

// A function that is the same in all processes forked from this program.
struct JobFunction {
    Batch (*run)(void* callable, Batch&& in, const JobContext& context) = nullptr;
    void* callable = nullptr;
    std::size_t bytes = 0;  // that workers are sent of it; 0: it is where workers have it, too
};
inline constexpr std::size_t most_callable_bytes = 256;

template <class In, class Out, class F>
Batch run_job(void* callable, Batch&& batch, const JobContext& context) {
    F& function = *static_cast<F*>(callable);
    const auto call = [&](In&& in) -> decltype(auto) {
        if constexpr (std::is_invocable_v<F&, In, const JobContext&>)
            return function(std::move(in), context);
        else
            return function(std::move(in));
    };
    using Returned = decltype(call(std::declval<In>()));
    if constexpr (std::is_void_v<Returned>) {
        call(BatchConversion<In>::from_batch(std::move(batch)));
        return {};
    } else {
        return BatchConversion<Out>::to_batch(Out(call(BatchConversion<In>::from_batch(std::move(batch)))));
    }
}

class JobExecutorCore {
  public:
    JobExecutorCore(JobFunction function, int nb_workers, const JobExecutorOptions& options);
    JobExecutorCore(MpiSession& session, JobFunction function, int nb_workers,
                    const JobExecutorOptions& options);
    ~JobExecutorCore();
    JobExecutorCore(const JobExecutorCore&) = delete;
    JobExecutorCore& operator=(const JobExecutorCore&) = delete;

    void start(std::chrono::nanoseconds timeout);
    void close(std::chrono::nanoseconds timeout);
    void abort();
    static void abort_all();
    bool is_full() const;
    bool is_idle() const;
    bool put(Batch& batch);  // true: the batch was taken, and is empty
    std::optional<JobResult<Batch>> take(std::optional<std::chrono::nanoseconds> timeout);
    void reset();
    void job_report(std::ostream& to) const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace detail

template <class In = Batch, class Out = Batch>
class JobExecutor {
  public:
    using Duration = std::chrono::nanoseconds;

    // `function`: takes an In, or an In and a const JobContext&, and returns an Out, or nothing (an empty
    // Batch). Workers have copies. 0 workers: put() runs it here, on a copy. Call it while the program has
    // one thread and no MPI. Throws SetupError: it has more, a wrong size, or no process can be made.
    template <class F>
    explicit JobExecutor(F function, int nb_workers, const JobExecutorOptions& options = {})
        : function_(std::make_shared<F>(std::move(function))),
          core_({detail::run_job<In, Out, F>, function_.get(), 0}, nb_workers, options) {}

    // In a program whose MpiSession started MPI, at any time. Workers see the memory of the program as it was
    // at the start of the session: `function` is a function, or has at most 256 bytes that are right there,
    // such as numbers and pointers to what was there already. The session must outlive the executor. Throws
    // SetupError also if the program started MPI itself.
    template <class F>
    JobExecutor(MpiSession& session, F function, int nb_workers, const JobExecutorOptions& options = {})
        : function_(std::make_shared<F>(std::move(function))),
          core_(session, {detail::run_job<In, Out, F>, function_.get(), sizeof(F)}, nb_workers, options) {
        static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= detail::most_callable_bytes,
                      "with an MpiSession the function must be trivially copyable, with at most 256 bytes");
    }

    // Starts the workers, and a thread that collects results. Throws SetupError if they have not begun in
    // time. Does nothing if it has been started.
    void start(Duration timeout = std::chrono::seconds(10)) { core_.start(timeout); }
    // Ends the workers, and waits for them: for the functions that run until shortly before the time is up,
    // then they are killed. Jobs that have not ended are dropped; results that are here stay.
    void close(Duration timeout = std::chrono::seconds(10)) { core_.close(timeout); }
    // The destructor is close() with its default.

    // Kills the workers at once, without waiting. Results that are here stay.
    void abort() { core_.abort(); }
    // The same for all executors of this process. Not for a signal handler.
    static void abort_all() { detail::JobExecutorCore::abort_all(); }

    // Whether put() would say no.
    bool is_full() const { return core_.is_full(); }
    // No job waits or runs: all results are here (or dropped by reset).
    bool is_idle() const { return core_.is_idle(); }

    // Never blocks. False: all queues of living workers are full (or there are no workers, and a function
    // runs in another thread), and the job is not taken (an rvalue keeps its content). Throws ExecutorClosed,
    // and BatchError as Array's constructor does.
    bool put(const In& in) {
        Batch batch = BatchConversion<In>::to_batch(in);
        return core_.put(batch);
    }
    bool put(In&& in) {
        if constexpr (std::is_same_v<In, Batch>)
            return core_.put(in);
        else
            return put(static_cast<const In&>(in));
    }

    // The next result; nullopt: none is here.
    std::optional<JobResult<Out>> try_take() { return converted(core_.take(Duration(0))); }
    // Waits for one as long as a job is unfinished. nullopt: none is, or the executor is not started, closed
    // or aborted.
    std::optional<JobResult<Out>> take() { return converted(core_.take(std::nullopt)); }
    // Waits for one, also of a job that another thread has still to put. nullopt: none came in time, or the
    // executor is not started, closed or aborted.
    std::optional<JobResult<Out>> take(Duration timeout) { return converted(core_.take(timeout)); }

    // Drops all results, and those of all jobs of before: none of them ever appears. Functions that run are
    // not interrupted, jobs that wait are not run. Never blocks.
    void reset() { core_.reset(); }

    // Workers, queues and counts, for people.
    void job_report(std::ostream& to) const { core_.job_report(to); }

  private:
    // A value that cannot be converted is an error of its job.
    static std::optional<JobResult<Out>> converted(std::optional<JobResult<Batch>> result) {
        if constexpr (std::is_same_v<Out, Batch>) {
            return result;
        } else {
            if (!result) return std::nullopt;
            JobResult<Out> out{result->metadata, std::nullopt, std::move(result->error)};
            if (!result->value) return out;
            try {
                out.value = BatchConversion<Out>::from_batch(std::move(*result->value));
            } catch (const std::exception& error) {
                out.error = error.what();
            }
            return out;
        }
    }

    std::shared_ptr<void> function_;
    detail::JobExecutorCore core_;
};

template <class F>
JobExecutor(F, int) -> JobExecutor<Batch, Batch>;
template <class F>
JobExecutor(F, int, JobExecutorOptions) -> JobExecutor<Batch, Batch>;
template <class F>
JobExecutor(MpiSession&, F, int) -> JobExecutor<Batch, Batch>;
template <class F>
JobExecutor(MpiSession&, F, int, JobExecutorOptions) -> JobExecutor<Batch, Batch>;

}  // namespace gnu::visibility("default")]]wq
